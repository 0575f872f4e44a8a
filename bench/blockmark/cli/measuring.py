"""What commands that measure have in common: from words to a plan, and a run's end."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from .errors import EXIT_INTERRUPTED, exit_code_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from blockmark.measure.run.counting import CounterPlan
    from blockmark.measure.run.plan import Plan
    from blockmark.measure.run.session import Outcome
    from blockmark.workload.scenario import Scenario

REPORT_FOLDER = "report"


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that say what is measured and how."""

    impl: Sequence[str] = ()
    setting: Sequence[str] = ()
    rounds: int | None = None
    quick: bool = False
    seed: int | None = None
    timeout: float = 60.0
    counters: CounterPlan | None = None
    name: str = ""
    tags: Sequence[str] = field(default=())


def plan_of(scenarios: Sequence[Scenario], asked: Asked) -> Plan:
    """What is going to be measured. Raises ConfigError, TargetError."""
    from blockmark.measure.run.plan import make_plan
    from blockmark.workload.scenario import parse_setting

    from .building import announce_builds

    announce_builds(asked.impl)
    settings = dict(parse_setting(text) for text in asked.setting)
    found = [scenario.override(settings) for scenario in scenarios]
    plan = make_plan(
        [scenario.shortened() for scenario in found] if asked.quick else found,
        list(asked.impl),
        command=shlex.join(["blockmark", *sys.argv[1:]]),
        seed=asked.seed,
        rounds=asked.rounds,
        quick=asked.quick,
        timeout_s=asked.timeout,
        counters=asked.counters,
        name=asked.name,
        tags=asked.tags,
    )
    if plan.left_out:
        typer.echo(
            f"quick: measures {', '.join(subject.name for subject in plan.subjects)}; left out "
            f"are {', '.join(plan.left_out)} (name them with --impl)",
            err=True,
        )
    return plan


def carry_out(
    plan: Plan,
    output: Path,
    report: Path | None,
    *,
    dry_run: bool,
    json: bool,
) -> int:
    """Measure a plan and tell what came of it, or only say what it is; the exit code.

    Raises ConfigError, StoreError.
    """
    from blockmark.measure.run import session

    from .dry_run import print_plan
    from .progress import progress_on_stderr

    if dry_run:
        print_plan(plan)
        return 0
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
        typer.echo(f"pyperf suite: {pyperf} ({export.summary})", err=True)
    folder = report
    if folder is None and not (run.quick or json or outcome.interrupted):
        folder = outcome.folder / REPORT_FOLDER
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
