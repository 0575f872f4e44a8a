"""Plain lines for a terminal of any width, and whole ones for a pipe, where tools read them.

Tables have `report/console.py`; this is for commands that must start at once and so import
no rich.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import typer

from blockmark.report.tables.layout import wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEAST_TEXT = 28  # characters for a text beside its name, before it goes below it


def terminal_width() -> int | None:
    """Characters in a line of the terminal; None in a pipe, where no line is wrapped.

    COLUMNS says otherwise in both, if it is a number above zero.
    """
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(text: str, *, indent: str = "", hanging: str = "") -> None:
    """A line, wrapped at blanks behind `indent`; the lines that follow have `hanging` too."""
    width = terminal_width()
    if width is None:
        typer.echo(indent + text)
        return
    room = max(1, width - len(indent) - len(hanging))
    for place, line in enumerate(wrap(text, room)):
        typer.echo(indent + (hanging if place else "") + line)


def say_pairs(rows: Iterable[tuple[str, str]], *, least: int = 0) -> None:
    """Names in a column, each with its text beside it, or below where that is too narrow.

    `least` is how wide the column of names is at least.
    """
    known = list(rows)
    column = max([least, *(len(name) for name, _ in known if len(name) <= max(least, 34))])
    width = terminal_width()
    for name, text in known:
        if width is None:
            typer.echo(f"{name:{column}}  {text}".rstrip())
        elif width - column - 2 < _LEAST_TEXT or len(name) > column:
            say(name)
            say(text, indent="  ")
        else:
            lines = wrap(text, width - column - 2) or [""]
            for place, line in enumerate(lines):
                typer.echo(f"{name if place == 0 else '':{column}}  {line}".rstrip())
