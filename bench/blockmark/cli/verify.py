"""`blockmark verify`: correctness alone, no clock."""

from __future__ import annotations

from typing import Annotated

import typer

from .errors import EXIT_NOTHING, EXIT_WRONG
from .options import Seed, Settings, Targets, Timeout


def command(
    impl: Targets = None,
    setting: Settings = None,
    programs: Annotated[
        int, typer.Option(min=1, max=100_000, help="Random programs per implementation.")
    ] = 100,
    seed: Seed = None,
    timeout: Timeout = 120.0,
) -> int:
    """Hold implementations against the oracle; no clock.

    Each replays random programs and the decode program. Exit code 4 if one is wrong;
    the first step and operation that differ are printed.
    """
    from blockmark.measure.verification import verify_all
    from blockmark.workload.builtin import find_scenario
    from blockmark.workload.scenario import parse_setting

    settings = dict(parse_setting(text) for text in setting or [])
    states = set()
    found = verify_all(
        find_scenario("decode").override(settings),
        impl or [],
        random_programs=programs,
        seed=seed,
        timeout_s=timeout,
    )
    for result in found:
        states.add(result.status)
        typer.echo(result.line)
    if "wrong" in states:
        return EXIT_WRONG
    return EXIT_NOTHING if states & {"failed", "timeout"} or "ok" not in states else 0
