"""`blockmark report`: a run on disk as a report, or in a form that other tools read."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .completion import among, complete_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from blockmark.runs.model import Run

MAIN_TABLE, BRIEF, LADDER = "main table", "brief", "ladder"
_FORMATS = ("md", "html", "csv", "junit", "github", "openmetrics")


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN [RUN]",
            help="A run's folder, run.json or name; two are compared.",
            autocompletion=complete_run,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="md: folder of the report [default: `report` in the run's folder]; other "
            "formats: a file [default: standard output].",
        ),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="|".join(_FORMATS),
            help="What to write.",
            autocompletion=among(*_FORMATS),
        ),
    ] = "md",
    splice: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=f"Also put the {MAIN_TABLE} between this file's markers."
        ),
    ] = None,
    ladder: Annotated[
        bool,
        typer.Option(
            "--ladder", help="With --splice: the ladder of an engine's pool or table instead."
        ),
    ] = False,
    brief: Annotated[
        bool,
        typer.Option("--brief", help="With --splice: the answer and a short table instead."),
    ] = False,
) -> int:
    """Write report.md and its pictures for a run, or what another tool reads.

    With two RUNs the report sets the second against the first. html: one page with all values,
    for a browser; csv: a line for each value; junit: test results of the cells; github:
    annotations, and the table in the step summary; openmetrics: a text file for Prometheus,
    replaced as a whole. It needs neither a compiler nor an implementation.
    """
    from blockmark.runs.store import folder_of, load_run

    from .measuring import REPORT_FOLDER

    if format not in _FORMATS:
        raise typer.BadParameter(f"--format {format}: this version writes {', '.join(_FORMATS)}")
    most = 2 if format == "md" and splice is None else 1
    if len(runs) > most:
        what = f"--format {format}" if format != "md" else "--splice" if splice else "report"
        other = "; blockmark history shows more" if most == 2 else ""
        few = "one RUN, or two to compare" if most == 2 else "one RUN"
        raise typer.BadParameter(f"{what} takes {few}{other}")
    if ladder and splice is None:
        raise typer.BadParameter("--ladder goes with --splice FILE; a report has it anyway")
    if brief and (splice is None or ladder):
        raise typer.BadParameter("--brief goes with --splice FILE, and without --ladder")
    if splice is not None and format != "md":
        raise typer.BadParameter("--splice goes with --format md")
    loaded = [load_run(path) for path in runs]
    place = folder_of(runs[-1])
    if format != "md":
        _for_tools(loaded[0], format, output)
    elif len(loaded) == 2:
        beside = place / f"{REPORT_FOLDER}-against-{loaded[0].run_id}"
        _compared(loaded[0], loaded[1], output or beside)
    else:
        part = LADDER if ladder else BRIEF if brief else MAIN_TABLE
        _report(loaded[0], output or place / REPORT_FOLDER, splice, part)
    return 0


def _report(run: Run, folder: Path, splice: Path | None, part: str) -> None:
    from blockmark.report.folder import write_report
    from blockmark.report.markdown import render_brief, render_ladder, render_main_table
    from blockmark.report.splice import splice as splice_into

    typer.echo(write_report(run, folder))
    if splice is not None:
        said = shlex.join(["blockmark", *sys.argv[1:]])
        render = {LADDER: render_ladder, BRIEF: render_brief, MAIN_TABLE: render_main_table}[part]
        splice_into(splice, part, render(run), said)
        typer.echo(splice)


def _compared(before: Run, now: Run, folder: Path) -> None:
    from blockmark.report.folder import write_comparison
    from blockmark.report.tables.comparison import short_metrics
    from blockmark.verdict.compare import compare_runs

    comparison = compare_runs(before, now, metrics=short_metrics([before, now]))
    typer.echo(write_comparison(comparison, folder))


def _for_tools(run: Run, format: str, output: Path | None) -> None:
    from blockmark.report.files import append_file, write_file

    if format == "github":
        from blockmark.report.github import run_annotations, run_summary

        for line in run_annotations(run):
            typer.echo(line)
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if output is not None:
            write_file(output, run_summary(run).encode(), "the summary")
        elif summary:
            append_file(Path(summary), run_summary(run).encode(), "the step summary")
        return
    text = _renderer(format)(run)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_file(output, text.encode(), f"the {format} file")
        typer.echo(output)


def _renderer(format: str) -> Callable[[Run], str]:
    if format == "html":
        from blockmark.report.page import render_page as render
    elif format == "csv":
        from blockmark.report.long_table import render_csv as render
    elif format == "junit":
        from blockmark.report.junit import render_run_junit as render
    else:
        from blockmark.report.openmetrics import render_openmetrics as render
    return render
