"""`blockmark contention`: one pool of blocks under several threads or coroutines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    DryRun,
    Json,
    Name,
    Output,
    Quick,
    Report,
    Seed,
    Settings,
    Tags,
    Targets,
    Timeout,
)

# Each has many cells; three rounds of both stay below a minute and a half on two idle cores.
_ROUNDS = 3


def command(
    threads: Annotated[
        str | None, typer.Option(metavar="N[,N...]", help="Threads that share the pool.")
    ] = None,
    think_ns: Annotated[
        str | None,
        typer.Option(
            "--think-ns",
            metavar="NS[,NS...]",
            help="Time that a thread is busy between taking blocks and giving them back.",
        ),
    ] = None,
    coroutines: Annotated[
        str | None,
        typer.Option(
            metavar="N[,N...]",
            help="Coroutines of one event loop instead (scenario contention-asyncio).",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="R[,R...]",
            help="Requests a second instead of as fast as can be (scenario contention-rate).",
        ),
    ] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="N[,N...]", help="Blocks taken at once.")
    ] = None,
    impl: Targets = None,
    setting: Settings = None,
    rounds: Annotated[
        int,
        typer.Option("--rounds", "-r", min=1, max=1000, help="Fresh processes per implementation."),
    ] = _ROUNDS,
    quick: Quick = False,
    output: Output = Path("results"),
    report: Report = None,
    name: Name = "",
    tag: Tags = None,
    seed: Seed = None,
    timeout: Timeout = 60.0,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Measure what threads or coroutines that share one pool cost each other.

    Without options: locks, a lock-free stack and magazines under threads, then a published
    engine's asyncio.Lock under coroutines. Only times count in which all threads ran at once.
    """
    from blockmark.workload.builtin import find_scenario

    from .measuring import Asked, carry_out, plan_of

    named = {
        "threads": threads,
        "think_ns": think_ns,
        "coroutines": coroutines,
        "request_rate": rate,
        "batch": batch,
    }
    given = [f"{key}={value}" for key, value in named.items() if value is not None]
    scenarios = ["contention"]
    if coroutines is not None:
        scenarios = ["contention-asyncio"]
    elif rate is not None:
        scenarios = ["contention-rate"]
    elif not (given or impl or setting or quick):
        scenarios.append("contention-asyncio")
    words, chosen = [*given, *(setting or [])], 1 if quick else rounds
    asked = Asked(impl or (), words, chosen, quick, seed, timeout, None, name, tag or ())
    plan = plan_of([find_scenario(each) for each in scenarios], asked)
    return carry_out(plan, output, report, dry_run=dry_run, json=json)
