"""What a cell's rounds say by each test: of the sides' values, and of the changes in turns.

Both answer the same questions in the same form, so that the rule need not know which it is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from blockmark.runs.estimate import lower_quartile

from . import rank_test, signed_rank

Direction = Literal["regressed", "improved"]
Source = Literal["rounds", "turns"]


class Evidence(Protocol):
    """One test of a cell. `ratio` is after over before as this test sees it, None for none."""

    @property
    def source(self) -> Source:
        """Which test it is."""

    @property
    def ratio(self) -> float | None:
        """After over before."""

    @property
    def least_p(self) -> float:
        """The smallest p that so many rounds can give."""

    def p(self, direction: Direction, factor: float = 1.0) -> float:
        """The p of a change in this direction, if after were `factor` times what it is."""


@dataclass(frozen=True, slots=True)
class OfRounds:
    """Ranks of the sides' values, and the ratio of their lower quartiles."""

    before: Sequence[float]
    after: Sequence[float]

    @property
    def source(self) -> Source:
        """`rounds`."""
        return "rounds"

    @property
    def ratio(self) -> float | None:
        """Lower quartile after over lower quartile before; None where that is no number."""
        bottom = lower_quartile(self.before)
        return lower_quartile(self.after) / bottom if bottom > 0 else None

    @property
    def least_p(self) -> float:
        """All of one side above all of the other."""
        return rank_test.least_p(len(self.after), len(self.before))

    def p(self, direction: Direction, factor: float = 1.0) -> float:
        """Exact one-sided Mann-Whitney."""
        after = [value * factor for value in self.after]
        if direction == "regressed":
            return rank_test.p_greater(after, self.before)
        return rank_test.p_greater(self.before, after)


@dataclass(frozen=True, slots=True)
class OfTurns:
    """Signed ranks of the changes within rounds, as logarithms, and their median."""

    shifts: Sequence[float]

    @property
    def source(self) -> Source:
        """`turns`."""
        return "turns"

    @property
    def ratio(self) -> float | None:
        """The median change."""
        return math.exp(statistics.median(self.shifts))

    @property
    def least_p(self) -> float:
        """Every round changed in the same direction."""
        return signed_rank.least_p(len(self.shifts))

    def p(self, direction: Direction, factor: float = 1.0) -> float:
        """Exact one-sided Wilcoxon signed rank."""
        moved = [shift + math.log(factor) for shift in self.shifts]
        if direction == "regressed":
            return signed_rank.p_positive(moved)
        return signed_rank.p_positive([-shift for shift in moved])


def passes_margin(test: Evidence, margin: float, direction: Direction) -> bool:
    """Whether this test's ratio lies beyond the margin in a direction."""
    ratio, limit = test.ratio, 1.0 + margin
    if ratio is None:
        return False
    return ratio > limit if direction == "regressed" else ratio < 1.0 / limit
