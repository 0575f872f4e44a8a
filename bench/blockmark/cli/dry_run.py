"""What a plan is going to measure, in words, with a guess of how long it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lines import say
from .progress import about

if TYPE_CHECKING:
    from blockmark.measure.run.plan import Plan
    from blockmark.sessions.check_request import CheckRequest


def print_plan(plan: Plan) -> None:
    """Cells, implementations, processes, counters, and the time, on standard output."""
    from blockmark.measure.run.programs import too_large
    from blockmark.measure.run.time_left import TimeLeft
    from blockmark.report.facts.numbers import counted

    processes = sum(pair.rounds(plan.rounds) for pair in plan.pairs())
    say(
        f"{counted(len(plan.cells), 'cell')}, {counted(len(plan.subjects), 'implementation')}, "
        f"{counted(plan.rounds, 'round')}: {processes} measured processes, seed {plan.seed}"
    )
    say(f"time: {about(TimeLeft(plan).seconds())}, a guess for an idle machine")
    facts = ", ".join(f"{name} {fact}" for name, fact in plan.counters.facts.items())
    say(f"counters {plan.counters.source}" + (f"  {facts}" if facts else ""), hanging="  ")
    for cell in plan.cells:
        varied = {k: v for k, v in cell.values.items() if k not in ("models", "workload")}
        values = " ".join(f"{key}={value}" for key, value in varied.items())
        say(f"cell {cell.key}  {cell.scenario}  {values}", hanging="  ")
        if reason := too_large(cell):
            say(f"unavailable: {reason}", indent="  ")
    for subject in plan.subjects:
        missing = f"  unavailable: {subject.unavailable}" if subject.unavailable else ""
        say(f"implementation {subject.name}  {subject.summary}{missing}", hanging="  ")


def print_planned_check(request: CheckRequest) -> None:
    """The cells that a check judges, and the most time that it takes. Raises ConfigError."""
    from blockmark.report.facts.numbers import counted
    from blockmark.sessions.check_plan import Asked
    from blockmark.workload.builtin import find_scenario
    from blockmark.workload.scenario import parse_setting

    if request.candidate is not None:
        say("judges two stored runs and measures nothing")
        return
    settings = dict(parse_setting(text) for text in request.setting)
    found = [find_scenario(name).override(settings) for name in request.scenarios or ("decode",)]
    asked = Asked.of(found, request.impl, request.metrics, request.seed, request.quantiles)
    for name, cells in asked.cells.items():
        targets = asked.targets[name]
        say(
            f"{name}: {counted(len(cells), 'setting')}, {counted(len(targets), 'implementation')} "
            f"({', '.join(targets)}), each side in turns",
            hanging="  ",
        )
    say(f"judges {', '.join((*asked.metrics, *asked.quantiles))}", hanging="  ")
    if request.deterministic:
        say("time: as long as the counting takes; no budget ends it")
    else:
        say(
            f"time: {about(request.budget_s)} of measuring (--budget), or until all is decided; "
            "building and proving come on top",
            hanging="  ",
        )
