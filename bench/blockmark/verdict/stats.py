"""Ratios of rounds: pure functions of numbers, each with its source.

The unit of replication is the round, a fresh process. Samples inside one process
share its luck (memory layout, neighbours, clock) and must never be counted as
though they were independent.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist

from blockmark.runs.estimate import lower_quartile
from blockmark.runs.estimate import spread as spread

from .rank_test import chance_of_at_most

# Of two implementations one is called better only where an exact test that is wrong once in
# a hundred says so: 5 rounds a side can, 4 can't. A run has many such pairs.
CONFIDENCE = 0.99
ROUNDS_A_SIDE = 5
# Up to here the exact distribution is quick; beyond, the normal one is as good.
_MOST_PAIRS = 900


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two costs over rounds, without a unit; above one the first is dearer.

    `value` is None where there is no ratio, and `reason` says why. `low` and `high` are
    None if an estimated side has only one round, or if the interval has no end because the
    second side's rounds touch zero. `level` is the share of cases in which such an interval
    holds the ratio, 1 for counts, None without an interval; `wanted` what is asked of it.
    """

    value: float | None
    low: float | None
    high: float | None
    rounds: tuple[int, int]
    level: float | None = None
    wanted: float = CONFIDENCE
    reason: str | None = None

    @property
    def approximate(self) -> bool:
        """Whether there are too few rounds for an interval of the level that is wanted."""
        return self.level is None or self.level < self.wanted

    @property
    def leaves_out_one(self) -> bool | None:
        """Whether the interval lies on one side of 1; None without one of the level wanted."""
        if self.approximate or self.low is None:
            return None
        return self.low > 1.0 or (self.high is not None and self.high < 1.0)


def ratio_of_quartiles(
    numerator: Sequence[float],
    denominator: Sequence[float],
    *,
    confidence: float = CONFIDENCE,
) -> Ratio:
    """lower_quartile(numerator) / lower_quartile(denominator) with an interval.

    Values are per round, not negative, in any one unit. The interval is that of the exact
    Mann-Whitney test (Lehmann 1963, "Nonparametric confidence intervals for a shift
    parameter", in logarithms): of the ratios of every round of one side to every round of
    the other, all but the outermost ones, as few as `confidence` asks for. So it leaves out
    1 exactly where the test, two-sided, tells the sides apart at 1 - confidence. With too
    few rounds it is all of the ratios, and `level` is what it has: 0.90 for 3 rounds a side,
    0.971 for 4, 0.992 for 5. It is widened where it would not hold the ratio itself.

    The level is that of independent rounds. Where both sides were measured in the same
    rounds it is higher, since what disturbs one disturbs the other; where they were measured
    at two times it is far lower, since the machine itself has changed.

    Without a division by zero: two zeros are equal (ratio 1); a zero denominator
    has no ratio; a zero numerator has ratio 0. Raises ValueError if a side is empty
    or holds a negative or infinite value or NaN.
    """
    _check(numerator, denominator)
    rounds = (len(numerator), len(denominator))
    value = _quotient(lower_quartile(numerator), lower_quartile(denominator))
    if value is None:
        return Ratio(None, None, None, rounds, reason="the reference is zero")
    if min(rounds) == 1:
        return Ratio(value, None, None, rounds, wanted=confidence)
    outermost, level = _outermost(*rounds, 1.0 - confidence)
    least, greatest = _ratios_at(numerator, denominator, outermost)
    low, high = min(value, least), max(value, greatest)
    return Ratio(
        value, low, high if math.isfinite(high) else None, rounds, level, wanted=confidence
    )


def ratio_of_shifts(shifts: Sequence[float], *, confidence: float = 0.95) -> Ratio:
    """exp(median) of changes that were measured within rounds, with an interval.

    `shifts` are logarithms of after over before, one a round. The interval is between two of
    the rounds, by order statistics of the median: its level is exact for independent rounds
    of any distribution (David and Nagaraja 2003, "Order Statistics", 7.1). 6 rounds are
    enough for 95 %. Raises ValueError if there is none or one is not finite.
    """
    if not shifts:
        raise ValueError("there is no round")
    if not all(map(math.isfinite, shifts)):
        raise ValueError("a shift is not a finite number")
    n = len(shifts)
    value = math.exp(statistics.median(shifts))
    if n == 1:
        return Ratio(value, None, None, (n, n), wanted=confidence)
    tails = [count / 2**n for count in accumulate(math.comb(n, k) for k in range(n // 2 + 1))]
    place = max(0, bisect_right(tails, (1.0 - confidence) / 2.0) - 1)
    level = 1.0 - 2.0 * tails[place]
    ordered = sorted(shifts)
    low, high = math.exp(ordered[place]), math.exp(ordered[-1 - place])
    return Ratio(value, low, high, (n, n), level, wanted=confidence)


def ratio_of_counts(numerator: Sequence[float], denominator: Sequence[float]) -> Ratio:
    """The ratio of two exact counts: of their lower medians over rounds.

    Nothing is estimated, so `low` and `high` are the range of the ratios that the
    rounds allow, and equal if each side's rounds agree. Zeros and errors are as in
    `ratio_of_quartiles`.
    """
    _check(numerator, denominator)
    top, bottom = statistics.median_low(numerator), statistics.median_low(denominator)
    rounds = (len(numerator), len(denominator))
    value = _quotient(top, bottom)
    if value is None:
        return Ratio(None, None, None, rounds, reason="the reference is zero")
    low = _quotient(min(numerator), max(denominator))
    high = _quotient(max(numerator), min(denominator))
    return Ratio(value, low, high, rounds, level=1.0)


def _check(*sides: Sequence[float]) -> None:
    for side in sides:
        if not side:
            raise ValueError("a side has no rounds")
        for value in side:
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{value} is not a cost")


def _quotient(top: float, bottom: float) -> float | None:
    """The ratio, 1 for equal values (zeros too), None if there is no finite one."""
    value = _divided(top, bottom)
    return value if math.isfinite(value) else None


def _divided(top: float, bottom: float) -> float:
    if top == bottom:
        return 1.0
    return top / bottom if bottom else math.inf


def _ratios_at(top: Sequence[float], bottom: Sequence[float], place: int) -> tuple[float, float]:
    """Of all ratios of two rounds, ascending, that at `place` and that as far from the end."""
    if len(top) * len(bottom) <= _MOST_PAIRS:
        every = sorted(_divided(one, other) for one in top for other in bottom)
        return every[place], every[-1 - place]
    import numpy as np

    above, below = np.asarray(top, dtype=float)[:, None], np.asarray(bottom, dtype=float)[None, :]
    ratios = np.where(above == below, 1.0, math.inf)
    with np.errstate(over="ignore"):
        np.divide(above, below, out=ratios, where=(below > 0) & (above != below))
    flat = ratios.ravel()
    last = flat.size - 1 - place
    ends = np.partition(flat, (place, last))
    return float(ends[place]), float(ends[last])


def _outermost(first: int, second: int, error: float) -> tuple[int, float]:
    """How many ratios at each end lie outside the interval, and the level that is left."""
    pairs = first * second
    if pairs > _MOST_PAIRS:
        # Mann and Whitney 1947: U is nearly normal.
        deviation = math.sqrt(pairs * (first + second + 1) / 12.0)
        z = NormalDist().inv_cdf(1.0 - error / 2.0)
        return max(0, math.floor(pairs / 2.0 - z * deviation - 0.5)), 1.0 - error
    tails = chance_of_at_most(first, second)
    place = max(0, bisect_right(tails, error / 2.0) - 1)
    return place, 1.0 - 2.0 * tails[place]
