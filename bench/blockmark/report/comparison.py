"""Comparisons on the screen."""

from __future__ import annotations

from typing import IO

from blockmark.report.console import print_sheet
from blockmark.report.tables.comparison import implementations_sheet, runs_sheet
from blockmark.verdict.compare import ImplementationComparison, RunComparison


def print_implementations(
    comparison: ImplementationComparison, *, stream: IO[str] | None = None, width: int | None = None
) -> None:
    """Print the implementations of one run; `stream` and `width` as for `print_run`."""
    print_sheet(implementations_sheet(comparison), stream=stream, width=width)


def print_runs(
    comparison: RunComparison, *, stream: IO[str] | None = None, width: int | None = None
) -> None:
    """Print the same cells in two runs; `stream` and `width` as for `print_run`."""
    print_sheet(runs_sheet(comparison), stream=stream, width=width)
