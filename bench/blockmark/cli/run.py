"""`blockmark run`: verify, measure, save, and print the comparison."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import EXIT_NOTHING, EXIT_REGRESSION, worst
from .measuring import conclude
from .options import (
    AssertZeroAlloc,
    Caches,
    Counters,
    Json,
    Output,
    Report,
    Seed,
    Settings,
    Targets,
    Timeout,
)

if TYPE_CHECKING:
    from blockmark.measure.counting import CounterPlan
    from blockmark.measure.plan import Plan
    from blockmark.runs.model import Run


def command(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO]...", help="Built-in names or TOML files."),
    ] = None,
    impl: Targets = None,
    setting: Settings = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Fresh processes per implementation.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A short look: one round, the first cell only. Not for decisions."
        ),
    ] = False,
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
    seed: Seed = None,
    timeout: Timeout = 60.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be measured, and stop.")
    ] = False,
    json: Json = False,
    pyperf: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Export the timings as a pyperf suite.")
    ] = None,
) -> int:
    """Verify, measure, save the run, and print the comparison.

    Without a SCENARIO it runs `decode`: hash map, vector and flat stack in every tier.
    """
    from blockmark.measure import session

    from .progress import progress_on_stderr

    asserted = assert_zero_alloc or []
    if resume is not None:
        planned = scenarios or impl or setting or rounds or quick or dry_run or counters or cache
        if planned or program or seed is not None:
            raise typer.BadParameter("--resume goes on with the run as planned; name nothing else")
        with progress_on_stderr() as progress:
            outcome = session.resume(resume, progress, lambda plan: _check_names(plan, asserted))
    else:
        if program is not None and scenarios:
            raise typer.BadParameter("--program replays a recording; name no SCENARIO with it")
        plan = _plan(
            scenarios,
            program,
            impl,
            setting,
            rounds,
            quick,
            _choose(counters, cache),
            seed,
            timeout,
        )
        _check_names(plan, asserted)
        if dry_run:
            _print_plan(plan)
            return 0
        with progress_on_stderr() as progress:
            outcome = session.start(plan, output, progress)
    code = conclude(outcome, report, json=json, pyperf=pyperf)
    # Of an interrupted run too little is known; going on with it can assert the same.
    return code if outcome.interrupted else worst(code, _assert_zero_alloc(outcome.run, asserted))


def _choose(counters: str | None, cache: list[str] | None) -> CounterPlan:
    from blockmark.measure.counting import choose_counters

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


def _plan(
    scenarios: list[str] | None,
    program: Path | None,
    impl: list[str] | None,
    setting: list[str] | None,
    rounds: int | None,
    quick: bool,
    counters: CounterPlan,
    seed: int | None,
    timeout: float,
) -> Plan:
    from blockmark.measure.plan import make_plan
    from blockmark.workload.builtin import find_scenario
    from blockmark.workload.scenario import parse_setting

    from .building import announce_builds

    announce_builds(impl or [])
    settings = dict(parse_setting(text) for text in setting or [])
    if program is None:
        named = [find_scenario(name) for name in scenarios or ["decode"]]
    else:
        from blockmark.workload.recorded import recorded_scenario

        named = [recorded_scenario(program)]
    found = [scenario.override(settings) for scenario in named]
    return make_plan(
        [scenario.shortened() for scenario in found] if quick else found,
        impl or [],
        command=shlex.join(["blockmark", *sys.argv[1:]]),
        seed=seed,
        rounds=rounds,
        quick=quick,
        timeout_s=timeout,
        counters=counters,
    )


def _print_plan(plan: Plan) -> None:
    from blockmark.measure.programs import too_large

    typer.echo(
        f"{len(plan.cells)} cells, {len(plan.subjects)} implementations, {plan.rounds} rounds: "
        f"{len(plan.pairs()) * plan.rounds} measured processes, seed {plan.seed}"
    )
    facts = ", ".join(f"{name} {fact}" for name, fact in plan.counters.facts.items())
    typer.echo(f"counters {plan.counters.source}" + (f"  {facts}" if facts else ""))
    for cell in plan.cells:
        varied = {k: v for k, v in cell.values.items() if k not in ("models", "workload")}
        values = " ".join(f"{key}={value}" for key, value in varied.items())
        typer.echo(f"cell {cell.key}  {cell.scenario}  {values}")
        if reason := too_large(cell):
            typer.echo(f"  unavailable: {reason}")
    for subject in plan.subjects:
        missing = f"  unavailable: {subject.unavailable}" if subject.unavailable else ""
        typer.echo(f"implementation {subject.name}  {subject.summary}{missing}")
