"""`blockmark record`: what a recorded program holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Json


def command(
    program: Annotated[
        Path, typer.Argument(metavar="PROGRAM", help="A file that blockmark.recorder wrote.")
    ],
    json: Json = False,
) -> int:
    """Say what a recording holds: operations by kind, steps, blocks, sequences, lengths.

    A recording is made in the engine's own process, by `blockmark.recorder`; it is replayed
    by `blockmark run --program PROGRAM`.
    """
    from blockmark.workload.errors import ConfigError
    from blockmark.workload.program import ProgramError
    from blockmark.workload.recorded import describe
    from blockmark.workload.recording import load_recording

    try:
        loaded, config = load_recording(program)
    except ProgramError as error:
        raise ConfigError(str(error)) from None
    facts = {"file": program.name, "config": loaded.config, **describe(loaded, config)}
    if json:
        from blockmark.runs.store import render_json

        typer.echo(render_json(facts), nl=False)
    else:
        from blockmark.report.facts.recording import recording_lines

        for line in recording_lines(facts):
            typer.echo(line)
    return 0
