"""The mark of a cost that is not above its floor: one place to ask, for tables and pictures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from blockmark.runs.floors import SPREADS, Standing, standing
from blockmark.runs.model import Cell, ImplementationInfo

_MARKS: Mapping[Standing, str] = {"above": "", "in its noise": "*", "below": "**"}
_NOTES = {
    "*": f"* below resolution: not above the empty loop by {SPREADS:.0f} times that loop's spread.",
    "**": "** below its floor (the empty loop, or the same work on a plain array): of the cost, "
    "and of a ratio formed with it, nothing is known but that it is small.",
    "~": "~ fell behind a rate that short loops held: pre-empted, or held up by what ran between "
    "the steps. The share is too high, if anything.",
}


def floor_mark(
    cell: Cell,
    metric: str,
    cells: Collection[Cell],
    implementations: Mapping[str, ImplementationInfo],
) -> str:
    """`*` if the cell's cost can't be told from its floor among `cells`, `**` if it is below
    it, else nothing.

    `cells` are those of one setting. Controls are floors and bear no mark. A ratio bears the
    graver mark of its two sides (`joint_mark`).
    """
    found = standing(cell, metric, cells, implementations)
    return "" if found is None else _MARKS[found]


def joint_mark(*marks: str) -> str:
    """The mark of what is formed from values with these marks: the gravest."""
    return max(marks, key=len, default="")


def mark_notes(marks: Iterable[str]) -> list[str]:
    """What the marks of a table mean, each once; some marks are explained elsewhere."""
    return [_NOTES[mark] for mark in sorted(set(marks)) if mark in _NOTES]
