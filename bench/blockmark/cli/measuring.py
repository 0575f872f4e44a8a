"""What commands that measure have in common: a study's plan carried out, and a run's end."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import typer

from .errors import EXIT_INTERRUPTED, exit_code_of
from .report import report_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from blockmark.measure.session import Outcome
    from blockmark.workload.keys import Value


def measure_study(
    names: Sequence[str],
    settings: Mapping[str, list[Value]],
    *,
    impl: Sequence[str],
    rounds: int | None,
    quick: bool,
    output: Path,
    report: Path | None,
    seed: int | None,
    timeout: float,
    json: bool,
) -> int:
    """Carry out the built-in scenarios of a study with keys set; the exit code.

    Raises ConfigError, TargetError, StoreError.
    """
    from blockmark.measure import session
    from blockmark.measure.plan import make_plan
    from blockmark.workload.builtin import find_scenario

    from .progress import progress_on_stderr

    scenarios = [find_scenario(name).override(dict(settings)) for name in names]
    plan = make_plan(
        [scenario.shortened() for scenario in scenarios] if quick else scenarios,
        list(impl),
        command=shlex.join(["blockmark", *sys.argv[1:]]),
        seed=seed,
        rounds=rounds,
        quick=quick,
        timeout_s=timeout,
    )
    with progress_on_stderr() as progress:
        outcome = session.start(plan, output, progress)
    return conclude(outcome, report, json=json)


def conclude(
    outcome: Outcome, report: Path | None, *, json: bool, pyperf: Path | None = None
) -> int:
    """Write the report, print the run, and say by the exit code what came of it."""
    from blockmark.runs.codec import dump_run
    from blockmark.runs.store import render_json

    run = outcome.run
    if pyperf is not None:
        from blockmark.runs.pyperf_export import export_pyperf

        export = export_pyperf(run, pyperf)
        said = f"{export.benchmarks} timings; {export.left_out} metrics are none and were left out"
        typer.echo(f"pyperf suite: {pyperf} ({said})", err=True)
    folder = report
    if folder is None and not (run.quick or json or outcome.interrupted):
        folder = report_folder([info.name for info in run.scenarios])
    written = None
    if folder is not None:
        from blockmark.report.folder import write_report

        written = write_report(run, folder)
    if json:
        typer.echo(render_json(dump_run(run)), nl=False)
    else:
        from blockmark.report.console import print_run

        print_run(run, saved=str(outcome.folder), report=str(written) if written else None)
    if outcome.interrupted:
        typer.echo(
            f"interrupted: what is finished is kept; go on with "
            f"blockmark run --resume {outcome.folder}",
            err=True,
        )
        return EXIT_INTERRUPTED
    return exit_code_of(run)
