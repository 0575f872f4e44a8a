"""A stored run as the baseline: against another stored run, or against what is measured now."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from blockmark import __version__
from blockmark.measure.machine import OtherWork
from blockmark.measure.probes.timing import Budget
from blockmark.measure.process.task import timed_for
from blockmark.measure.run.assemble import assemble_run
from blockmark.measure.run.plan import make_plan
from blockmark.measure.run.programs import prepare
from blockmark.measure.run.runner import Progress, Runner
from blockmark.runs.store import RunWriter
from blockmark.verdict.stored import StoredOptions, judge_runs, judged_of

from .check_plan import timed_metrics

if TYPE_CHECKING:
    from blockmark.runs.model import Run
    from blockmark.verdict.check import CheckResult
    from blockmark.workload.scenario import Scenario

# With fewer a side a stored baseline gives false alarms in every sixth suite, not in every
# fifteenth.
ROUNDS = 30
# As in a run, so that the least of as many blocks is set against it; without single steps.
_BUDGET = Budget(latency_ns=0, least_steps=0)


class _TimeIsOver(Exception):  # noqa: N818 - no error
    """Raised between two measurements to end them."""


def check_against_run(
    stored: Run,
    scenarios: Sequence[Scenario],
    targets: Sequence[str],
    options: StoredOptions,
    *,
    name: str,
    seed: int | None,
    rounds: int | None,
    budget_s: float,
    timeout_s: float,
    command: str,
    progress: Progress,
) -> CheckResult:
    """Measure what is installed here, and judge it against a stored run.

    `name` is what the baseline is called; `options` lacks the names, which are those of what
    was measured. Raises as `make_plan` and `judge_runs` do.
    """
    plan = make_plan(
        list(scenarios),
        list(targets),
        command=command,
        seed=seed,
        rounds=rounds or ROUNDS,
        timeout_s=timeout_s,
    )
    plan = replace(plan, budget=_BUDGET)
    started = time.monotonic()
    interrupted = False

    def until_over(done: int, total: int, text: str, left_s: float | None = None) -> None:
        progress(done, total, text, left_s)
        if time.monotonic() - started > budget_s:
            raise _TimeIsOver

    created = datetime.now().astimezone().isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        prepared = prepare(plan.cells, Path(folder) / "programs")
        for saved in prepared.programs.values():
            told = [timed_metrics(saved.models, each.models) for each in plan.subjects]
            wanted = {name for timed in told if timed for name in judged_of(timed, options.metrics)}
            saved.models = timed_for(saved.models, wanted)
        with RunWriter.create(Path(folder) / "runs", {"created": created}) as writer:
            runner = Runner(plan, prepared, writer, until_over)
            others = OtherWork()
            try:
                runner.run()
            except _TimeIsOver:
                pass
            except KeyboardInterrupt:
                interrupted = True
            now = assemble_run(
                plan,
                runner.journal,
                prepared.facts,
                run_id="now",
                created=created,
                duration_s=runner.elapsed_s,
                version=__version__,
                machine_after=others.facts(),
            )
    chosen = replace(
        options,
        scenarios=tuple(info.name for info in now.scenarios),
        impls=tuple(info.name for info in now.implementations),
    )
    result = judge_runs(stored, now, chosen, names=(name, "installed here"), kind="stored")
    return replace(result, interrupted=interrupted, duration_s=time.monotonic() - started)
