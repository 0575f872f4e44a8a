"""Where a series of runs changes its level: pure functions of rounds."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from blockmark.runs.estimate import lower_quartile
from blockmark.verdict.rank_test import p_greater

MARGIN = 0.03
ALPHA = 0.01
# Up to here the exact distribution is quick; beyond, the normal one errs on the side of no
# change, because its tail is longer.
_MOST_PAIRS, _MOST_ROUNDS = 900, 200


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The series changed at run `index`: from there on it is another level.

    `ratio` is the level from there to the next change over the level since the last one; `p`
    the chance of such ranks, two-sided and times the number of places, if rounds of all runs
    were independent. They are not, since a machine differs from hour to hour: `p` orders the
    places where to look, and is told to nobody. An exact count that changed has p 0.
    """

    index: int
    ratio: float
    p: float


def change_points(
    rounds: Sequence[Sequence[float]], *, margin: float = MARGIN, alpha: float = ALPHA
) -> tuple[ChangePoint, ...]:
    """Where the level of a series changes; `rounds` are the round values of each run.

    Bottom-up segmentation (Keogh, Chu, Hart and Pazzani 2001, "An online algorithm for
    segmenting time series"): at first each run is a level of its own, then the two
    neighbours that are hardest to tell apart become one, until all that are left differ.
    Neighbours whose lower quartiles differ by less than `margin` (a share of one) go first,
    the nearest before others; then those with the largest p of the exact Mann-Whitney test
    of all their rounds. That p, two-sided and times the number of places (Bonferroni), is at
    most `alpha` in the end. From the bottom, and not by halving from the top, because a
    series that goes up and comes back has no half that differs from the other.

    The levels are chosen by what is then tested, so alpha is not exact: simulated with 5 to
    40 runs of 5 to 20 rounds of heavy-tailed noise, 0.6 to 1.5 % of the series had a change
    without a margin, and up to 0.4 % with 3 % (tests/test_verdict_history.py draws some).

    Values are costs and not negative. With few rounds nothing can be found: two runs need
    5 rounds each. Raises ValueError for a run without rounds, and as the rank test does.
    """
    if any(not each for each in rounds):
        raise ValueError("a run has no rounds")
    levels = [_Level(index, sorted(each)) for index, each in enumerate(rounds)]
    places = max(1, len(rounds) - 1)
    gaps = [_gap(one, other, margin) for one, other in pairwise(levels)]
    while gaps:
        nearest = min(range(len(gaps)), key=lambda place: gaps[place].order)
        if gaps[nearest].differs and gaps[nearest].p * places <= alpha:
            break
        left, right = levels[nearest], levels.pop(nearest + 1)
        levels[nearest] = _Level(left.start, sorted([*left.values, *right.values]))
        del gaps[nearest]
        for place in (nearest - 1, nearest):
            if 0 <= place < len(gaps):
                gaps[place] = _gap(levels[place], levels[place + 1], margin)
    return tuple(
        ChangePoint(level.start, gap.ratio, gap.p * places)
        for level, gap in zip(levels[1:], gaps, strict=True)
    )


def exact_changes(rounds: Sequence[Sequence[float]]) -> tuple[ChangePoint, ...]:
    """Where an exact count changes: no round of a run reaches the run before."""
    found = []
    for index in range(1, len(rounds)):
        before, after = rounds[index - 1], rounds[index]
        if max(after) < min(before) or min(after) > max(before):
            bottom = min(before)
            ratio = min(after) / bottom if bottom else math.inf
            found.append(ChangePoint(index, ratio, 0.0))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Level:
    """Neighbouring runs taken together: the first one's index, and their rounds, ascending."""

    start: int
    values: list[float]


@dataclass(frozen=True, slots=True)
class _Gap:
    """What lies between two neighbouring levels."""

    ratio: float
    p: float
    differs: bool

    @property
    def order(self) -> tuple[bool, float]:
        """The smallest is the one to close next."""
        return self.differs, -self.p if self.differs else abs(math.log(self.ratio))


def _gap(before: _Level, after: _Level, margin: float) -> _Gap:
    top, bottom = lower_quartile(after.values), lower_quartile(before.values)
    if top == bottom:
        return _Gap(1.0, 1.0, False)
    ratio = top / bottom if bottom else math.inf
    differs = ratio > 1.0 + margin or ratio < 1.0 / (1.0 + margin)
    return _Gap(ratio, _two_sided(before.values, after.values) if differs else 1.0, differs)


def _two_sided(before: Sequence[float], after: Sequence[float]) -> float:
    """The chance of ranks like these; both sides are ascending."""
    first, second = len(before), len(after)
    if first * second <= _MOST_PAIRS and first + second <= _MOST_ROUNDS:
        return min(1.0, 2.0 * min(p_greater(after, before), p_greater(before, after)))
    # Mann and Whitney 1947: U is nearly normal. Ties count half.
    wins = sum(bisect_left(before, value) + bisect_right(before, value) for value in after) / 2.0
    spread = math.sqrt(first * second * (first + second + 1) / 12.0)
    return math.erfc(abs(wins - first * second / 2.0) / spread / math.sqrt(2.0))
