"""`blockmark report`: the report of a run on disk, again or somewhere else."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

MAIN_TABLE = "main table"


def command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders or run.json files.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the report [default: reports/SCENARIO]."),
    ] = None,
    format: Annotated[str, typer.Option("--format", metavar="md", help="What to write.")] = "md",
    splice: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=f"Also put the {MAIN_TABLE} between this file's markers."
        ),
    ] = None,
) -> int:
    """Write report.md and its pictures for a run.

    It needs neither a compiler nor an implementation, only the RUN.
    """
    from blockmark.report.folder import write_report
    from blockmark.report.markdown import render_main_table
    from blockmark.report.splice import splice as splice_into
    from blockmark.runs.store import load_run

    if format != "md":
        raise typer.BadParameter(f"--format {format}: this version writes md")
    if output is not None and len(runs) > 1:
        raise typer.BadParameter("--output takes the report of one RUN; name one")
    if splice is not None and len(runs) > 1:
        raise typer.BadParameter("--splice takes the table of one RUN; name one")
    for path in runs:
        run = load_run(path)
        folder = output or report_folder([info.name for info in run.scenarios])
        typer.echo(write_report(run, folder))
        if splice is not None:
            said = shlex.join(["blockmark", *sys.argv[1:]])
            splice_into(splice, MAIN_TABLE, render_main_table(run), said)
            typer.echo(splice)
    return 0


def report_folder(scenarios: list[str]) -> Path:
    """Where a run's report goes unless the user says otherwise."""
    return Path("reports") / "-".join(scenarios)
