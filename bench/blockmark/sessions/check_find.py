"""`blockmark check --find GOOD..BAD`: which commit made it slower, by bisection.

Each commit that is asked is held against GOOD by the gate as any candidate is, so a slowdown
in many small steps is found where their sum first passes the margin. Only cells that BAD made
slower count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from blockmark.measure.sides.repository import Repository, Revision
from blockmark.report.facts.numbers import counted
from blockmark.verdict.check import CheckResult
from blockmark.workload.errors import ConfigError

Judge = Callable[[Revision], CheckResult]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Span:
    """The commits after `good` up to the last one, oldest first, along first parents."""

    good: Revision
    commits: tuple[Revision, ...]


def span_of(repository: Repository, text: str) -> Span:
    """What `GOOD..BAD` names. Raises ConfigError unless GOOD is an ancestor of BAD."""
    good, dots, bad = text.partition("..")
    if not good or not dots or not bad or bad.startswith("."):
        raise ConfigError(f"--find {text} must be GOOD..BAD, two revisions with two dots between")
    first, last = repository.revision(good), repository.revision(bad)
    commits = repository.between(first, last)
    if not commits:
        raise ConfigError(
            f"--find {text}: {bad} is no descendant of {good} along first parents, so there is "
            "no commit between them to find"
        )
    return Span(first, commits)


def find_slower(span: Span, judge: Judge, say: Say) -> CheckResult:
    """The check of the first commit that is slower than GOOD, with a note that names it.

    If BAD itself is not, the check of BAD. A commit that can't be judged is left out, and
    told beside the one that was found if it may be the first.
    """
    commits = span.commits
    found = judge(commits[-1])
    slower = {cell.name for cell in found.cells if cell.fails}
    if found.exit_code() != 1 or not slower:
        note = f"{commits[-1].called} was not found slower than {span.good.called}"
        return replace(found, notes=(f"{note}: nothing to look for", *found.notes))
    low, high = -1, len(commits) - 1
    skipped: set[int] = set()
    while open_ones := [i for i in range(low + 1, high) if i not in skipped]:
        middle = min(open_ones, key=lambda i: (abs(i - (low + high) / 2), i))
        told = judge(commits[middle])
        if told.interrupted:
            return told
        word = _word(told, slower)
        say(f"{commits[middle].called}: {word}; {_left(low, high, middle, word)} left")
        if word == "slower":
            high, found = middle, told
        elif word == "not slower":
            low = middle
        else:
            skipped.add(middle)
    doubtful = [commits[i].called for i in range(low + 1, high)]
    note = f"the first slower commit is {commits[high].called}"
    if doubtful:
        note += f", unless it is one that could not be judged: {', '.join(doubtful)}"
    return replace(found, notes=(note, *found.notes))


def _word(told: CheckResult, slower: set[str]) -> str:
    cells = [cell for cell in told.cells if cell.name in slower]
    if any(cell.verdict == "regressed" for cell in cells):
        return "slower"
    if cells and not told.wrong and all(cell.is_decided for cell in cells):
        return "not slower"
    return "can't be judged"


def _left(low: int, high: int, middle: int, word: str) -> str:
    left = {"slower": middle - low - 1, "not slower": high - middle - 1}.get(word, high - low - 2)
    return counted(left, "commit")
