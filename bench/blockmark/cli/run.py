"""`blockmark run`: verify, measure, save, and print the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import EXIT_NOTHING, EXIT_REGRESSION, worst
from .measuring import Asked, conclude, plan_of
from .options import (
    AssertZeroAlloc,
    Caches,
    Counters,
    DryRun,
    Json,
    Name,
    Output,
    Quick,
    Report,
    Scenarios,
    Seed,
    Settings,
    Tags,
    Targets,
    Timeout,
)

if TYPE_CHECKING:
    from blockmark.measure.run.counting import CounterPlan
    from blockmark.measure.run.plan import Plan
    from blockmark.runs.model import Run
    from blockmark.workload.scenario import Scenario


def command(
    scenarios: Scenarios = None,
    impl: Targets = None,
    setting: Settings = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", "-r", min=1, max=1000, help="Fresh processes per implementation."),
    ] = None,
    quick: Quick = False,
    counters: Counters = None,
    cache: Caches = None,
    assert_zero_alloc: AssertZeroAlloc = None,
    program: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Replay a recording instead of a scenario; see blockmark.recorder."
        ),
    ] = None,
    output: Output = Path("results"),
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Go on with an unfinished run.")
    ] = None,
    report: Report = None,
    name: Name = "",
    tag: Tags = None,
    seed: Seed = None,
    timeout: Timeout = 60.0,
    dry_run: DryRun = False,
    json: Json = False,
    pyperf: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Export the timings as a pyperf suite.")
    ] = None,
) -> int:
    """Verify, measure, save the run, and print the comparison.

    Without a SCENARIO it runs `decode`: hash map, vector and flat stack in every tier.
    """
    from blockmark.measure.run import session

    from .dry_run import print_plan
    from .progress import progress_on_stderr

    asserted = assert_zero_alloc or []
    if resume is not None:
        planned = scenarios or impl or setting or rounds or quick or dry_run or counters or cache
        if planned or program or seed is not None or name or tag:
            raise typer.BadParameter("--resume goes on with the run as planned; name nothing else")
        with progress_on_stderr() as progress:
            outcome = session.resume(resume, progress, lambda plan: _check_names(plan, asserted))
    else:
        if program is not None and scenarios:
            raise typer.BadParameter("--program replays a recording; name no SCENARIO with it")
        chosen = _choose(counters, cache)
        asked = Asked(
            impl or (), setting or (), rounds, quick, seed, timeout, chosen, name, tag or ()
        )
        plan = plan_of(_scenarios(scenarios or ["decode"], program), asked)
        _check_names(plan, asserted)
        if dry_run:
            print_plan(plan)
            return 0
        with progress_on_stderr() as progress:
            outcome = session.start(plan, output, progress)
    code = conclude(outcome, report, json=json, pyperf=pyperf)
    # Of an interrupted run too little is known; going on with it can assert the same.
    return code if outcome.interrupted else worst(code, _assert_zero_alloc(outcome.run, asserted))


def _scenarios(names: list[str], program: Path | None) -> list[Scenario]:
    if program is None:
        from blockmark.workload.builtin import find_scenario

        return [find_scenario(name) for name in names]
    from blockmark.workload.recorded import recorded_scenario

    return [recorded_scenario(program)]


def _choose(counters: str | None, cache: list[str] | None) -> CounterPlan:
    from blockmark.measure.run.counting import choose_counters

    return choose_counters(counters or "software", cache or [])


def _check_names(plan: Plan, asserted: list[str]) -> None:
    """Refuse an assertion on nothing, before any time is spent."""
    from blockmark.verdict.allocations import unmatched
    from blockmark.workload.errors import ConfigError

    names = [subject.name for subject in plan.subjects if subject.kind != "control"]
    for pattern in unmatched(asserted, names):
        raise ConfigError(
            f"--assert-zero-alloc {pattern}: no implementation of this run has such a name; "
            f"it has {', '.join(names)}"
        )


def _assert_zero_alloc(run: Run, asserted: list[str]) -> int:
    from blockmark.verdict.allocations import judge_allocations

    found = judge_allocations(run, asserted)
    for line in (*found.broken, *found.unknown):
        typer.echo(line, err=True)
    return worst(EXIT_REGRESSION if found.broken else 0, EXIT_NOTHING if found.unknown else 0)
