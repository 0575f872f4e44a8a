"""Progress on stderr: one line that moves in a terminal, nothing at all in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress_on_stderr() -> Iterator[Callable[[int, int, str], None]]:
    """A function to call with (done, all, what was just done)."""
    if not sys.stderr.isatty():
        yield lambda done, steps, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
    from rich.text import Text

    console = Console(stderr=True)
    # No thread that redraws: it would run while something is being measured.
    with Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        auto_refresh=False,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)

        def advance(done: int, steps: int, text: str) -> None:
            bar.update(task, total=steps, completed=done)
            bar.refresh()
            if text and console.is_dumb_terminal:
                console.print(Text(text))

        yield advance
