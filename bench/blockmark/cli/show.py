"""`blockmark show`: the screen of a stored run, as it was printed when it was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .completion import complete_run


def command(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="[RUN]",
            help="A run's folder, run.json or name; the newest in results/ if none is named.",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = Path("latest"),
    detail: Annotated[
        bool,
        typer.Option("--detail", help="Also single operations and counters."),
    ] = False,
) -> int:
    """Print the tables of a stored run again; nothing is measured or written."""
    from blockmark.report.console import print_run
    from blockmark.runs.store import folder_of, load_run

    from .measuring import REPORT_FOLDER

    loaded, folder = load_run(run), folder_of(run)
    report = folder / REPORT_FOLDER / "report.md"
    written = str(report) if report.is_file() else None
    print_run(loaded, saved=str(folder), report=written, detail=detail)
    return 0
