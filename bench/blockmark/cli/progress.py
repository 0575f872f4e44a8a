"""Progress on stderr: one line that moves in a terminal, nothing at all in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from blockmark.measure.run.runner import Progress

_LABEL = 34  # characters of what is being done, before it is cut


@contextmanager
def progress_on_stderr() -> Iterator[Progress]:
    """A function to call with (done, all, what is being done, seconds left if known).

    A text of "" leaves the label as it was.
    """
    if not sys.stderr.isatty():
        yield lambda done, steps, text, left_s=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    console = Console(stderr=True)
    # No thread that redraws: it would run while something is being measured.
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        console=console,
        auto_refresh=False,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None, left="")

        def advance(done: int, steps: int, text: str, left_s: float | None = None) -> None:
            bar.update(task, total=steps, completed=done)
            if text:
                bar.update(task, description=_cut(text))
            if left_s is not None:
                bar.update(task, left=f"{about(left_s)} left")
            bar.refresh()
            if text and console.is_dumb_terminal:
                console.print(Text(text))

        yield advance


def about(seconds: float) -> str:
    """`about 50 s`, `about 4 min`: no finer than an estimate is."""
    if seconds < 10:
        return "under 10 s" if seconds > 0 else "0 s"
    if seconds < 100:
        return f"about {round(seconds, -1):.0f} s"
    minutes = max(2, round(seconds / 60))
    if minutes < 100:
        return f"about {minutes} min"
    return f"about {minutes / 60:.1f} h"


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 3]}..."
