"""`blockmark history`: a metric over runs, and where it changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .completion import complete_metric, complete_run


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Folders, run.json files or names of runs.",
            autocompletion=complete_run,
        ),
    ],
    metric: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Such as step_ns or step_latency_ns.p99.",
            autocompletion=complete_metric,
        ),
    ] = "step_ns",
    impl: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this implementation; may be given several times."),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(
            metavar="PERCENT", min=0.0, max=1000.0, help="The smallest change that counts."
        ),
    ] = 3.0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw it, as PNG, or SVG by its name.")
    ] = None,
) -> int:
    """Show a metric over RUNs in the order of their creation, with changes marked.

    Runs of another machine than the last one's are named and left out. A mark is where to
    look, no verdict: that takes both sides measured side by side.
    """
    from blockmark.report.console import print_sheet
    from blockmark.report.tables.history import history_sheet
    from blockmark.runs.store import load_run
    from blockmark.verdict.history import make_history

    loaded = [load_run(path) for path in runs]
    history = make_history(loaded, metric, impls=impl or (), margin=margin / 100)
    print_sheet(history_sheet(history))
    if plot is not None:
        from blockmark.report.files import write_file
        from blockmark.report.plots.trend import MOST_PANELS, draw_trend

        picture = draw_trend(history)
        data = picture.svg if plot.suffix == ".svg" else picture.png
        write_file(plot, data, "the picture")
        typer.echo(f"Picture: {plot}")
        if len(history.series) > MOST_PANELS:
            rest = len(history.series) - MOST_PANELS
            typer.echo(f"{rest} more have no panel; name some with --impl", err=True)
    return 0
