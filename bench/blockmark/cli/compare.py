"""`blockmark compare`: implementations of one run, or the same cells in several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .completion import complete_metric, complete_run


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN [RUN]...",
            help="Folders, run.json files or names of runs.",
            autocompletion=complete_run,
        ),
    ],
    reference: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With one RUN: what others are set against."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Only this metric; may be repeated.",
            autocompletion=complete_metric,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every metric.")] = False,
) -> int:
    """Set implementations, or several runs, side by side.

    With one RUN its implementations are compared, with more each RUN with the first.
    """
    from blockmark.report.comparison import print_implementations, print_runs
    from blockmark.report.tables.comparison import short_metrics
    from blockmark.runs.store import load_run
    from blockmark.verdict.compare import compare_implementations, compare_runs

    loaded = [load_run(path) for path in runs]
    metrics = metric or (None if every else short_metrics(loaded))
    if len(loaded) == 1:
        print_implementations(
            compare_implementations(loaded[0], reference=reference, metrics=metrics)
        )
        return 0
    if reference is not None:
        raise typer.BadParameter(
            "--reference is for one RUN; with more, the first is the reference"
        )
    for now in loaded[1:]:
        print_runs(compare_runs(loaded[0], now, metrics=metrics))
    return 0
