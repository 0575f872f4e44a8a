"""What the range of a value's rounds is worth, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from blockmark.runs.estimate import level, level_in_a_row
from blockmark.runs.model import MetricValue

TITLE = "range"


def range_note(values: Iterable[MetricValue]) -> str:
    """The sentence about the estimated values of a table; empty without any.

    `range: the least to the greatest of 5 rounds; holds the value in 76 % of cases if rounds
    are independent, in 55 % as rounds in a row are.` Of values with unlike numbers of rounds
    it speaks of the fewest.
    """
    estimated = [value for value in values if value.value is not None]
    rounds = [value.rounds for value in estimated if value.low is not None]
    if not rounds:
        return f"{TITLE}: none of a single round." if estimated else ""
    few = min(rounds)
    how_many = f"{few}" if few == max(rounds) else f"{few} or more"
    return (
        f"{TITLE}: the least to the greatest of {how_many} rounds; holds the value in "
        f"{_percent(level(few))} of cases if rounds are independent, in "
        f"{_percent(level_in_a_row(few))} as rounds in a row are."
    )


def _percent(share: float) -> str:
    # Never rounded up to certainty.
    return f"{min(share * 100, 99.0):.0f} %"
