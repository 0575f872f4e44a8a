"""A check on the screen: plain where the output is no terminal, 80 columns where it can be."""

from __future__ import annotations

from typing import IO

from blockmark.report.console import Screen
from blockmark.report.tables.check import (
    ADVICE,
    cells_to_show,
    check_table,
    headline,
    hidden_words,
    lead,
    remarks,
)
from blockmark.verdict.check import CheckResult


def print_check(
    result: CheckResult,
    *,
    show_all: bool = False,
    strict: bool = False,
    stream: IO[str] | None = None,
    width: int | None = None,
) -> None:
    """Print what a check found; the last line tells the exit code that `strict` gives.

    Unchanged cells are only counted unless `show_all`. `stream` and `width` are as for
    `console.print_run`.
    """
    screen = Screen.of(stream, width)
    first, *others = lead(result)
    screen.say(first, "head")
    for line in others:
        screen.say(line)
    shown, hidden = cells_to_show(result, show_all=show_all)
    if shown:
        screen.table(check_table(shown, exact=result.kind == "deterministic"))
    found = remarks(result)
    if shown or hidden or found:
        screen.blank()
    if hidden:
        screen.say(hidden_words(hidden))
    for remark in found:
        screen.say(remark.text, "message" if remark.stops else "plain")
    if not result.enforced:
        screen.say(ADVICE)
    screen.say(headline(result, strict=strict), "head")
