"""`blockmark trace`: what a serving trace holds, before one spends time on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace, plain or gzip.")],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="azure, burstgpt, mooncake, bailian, vidur or lengths "
            "[default: what the first line shows].",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the first N requests.")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="START:END",
            help="Only requests of this time, in seconds since the first row; "
            "either may be left out.",
        ),
    ] = None,
    speedup: Annotated[
        float, typer.Option(metavar="X", help="Let requests arrive X times as fast.")
    ] = 1.0,
    block_size: Annotated[
        int, typer.Option(metavar="N", min=1, max=65536, help="Tokens in a block.")
    ] = 16,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> int:
    """Say what a trace holds: requests, rate, lengths, blocks, waste and prefix sharing."""
    from blockmark.workload.errors import ConfigError
    from blockmark.workload.traces import open_trace, summarise, time_window

    from .progress import progress_on_stderr

    span = None if window is None else time_window("--window", window)
    with progress_on_stderr() as progress:
        trace = open_trace(
            file, format=format, limit=limit, window=span, speedup=speedup, progress=progress
        )
        facts = summarise(trace, block_size)
    if json:
        from blockmark.runs.store import render_json

        typer.echo(render_json(facts), nl=False)
    else:
        from blockmark.report.tables.trace import print_trace

        print_trace(facts)
    if facts["stopped"]:
        raise ConfigError(facts["stopped"])
    return 0
