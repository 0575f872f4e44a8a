"""How rounds become one value with an interval.

A *round* is a fresh process, the unit of replication: samples inside one process
are not independent, and intervals drawn from them are far too narrow. A round's
value of a cost is its *least block*; over rounds it is the lower quartile.

Measured for this design on a loaded two-core machine, for three structures (229
rounds of identical pairs, blocks of 0.9 ms): with the least of 50 blocks, nine
rounds in ten of the same program agreed within 8.3, 2.4 and 17 %; with the median
block within 51, 37 and 37 %, with the mean within 55, 65 and 59 %. Blocks longer
than a scheduler's time slice (4.5 ms) hardly ever ran undisturbed, and the least
of them was no better than a mean. Over 5 rounds the lower quartile of identical
pairs agreed within 2.3, 0.8 and 0.9 % (95 % of them), the median within 2.8, 1.6
and 1.1 %; the minimum over rounds is as quiet but is fooled by one lucky process.

Around it stands the range of the rounds, the widest interval that the rounds can give, with
the share of cases in which such a range holds the quartile: `level` where rounds are
independent, `level_in_a_row` where they follow one another on a machine that drifts. No
method gets more out of few rounds: what lies within [least, greatest] of 5 independent
rounds holds a lower quartile in 76 % of the cases at most, and a bootstrap only hides that.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

# From so many independent rounds on their range holds the lower quartile in 95 %.
ROUNDS_FOR_INTERVAL = 11
# n rounds in a row hold what n ** IN_A_ROW independent ones do. A machine's state lasts for
# minutes, so that neighbours are alike over many lags (long-range dependence, Beran 1994,
# "Statistics for Long-Memory Processes"); measured by tests/simulation/interval_simulation.py.
IN_A_ROW = 0.66
_QUARTER = 0.25


@dataclass(frozen=True, slots=True)
class Estimate:
    """One value over rounds, in the unit of the rounds.

    `low` and `high` are the least and the greatest round, None where there is only one.
    `approximate` says that such a range holds the value in less than 95 % of the cases even
    if rounds are independent: `level(rounds)` says in how many.
    """

    value: float
    low: float | None
    high: float | None
    rounds: int
    approximate: bool


def level(rounds: float) -> float:
    """The share of cases in which the range of independent rounds holds the lower quartile.

    Exact for any continuous distribution: the quartile lies below the least of n rounds with
    probability .75^n, above the greatest with .25^n (David and Nagaraja 2003, "Order
    Statistics", 7.1). 0.5625 for 3 rounds, 0.762 for 5, 0.958 for 11. Raises ValueError for
    less than one round.
    """
    if rounds < 1:
        raise ValueError(f"{rounds} rounds are none")
    return float(1.0 - (1.0 - _QUARTER) ** rounds - _QUARTER**rounds)


def level_in_a_row(rounds: int) -> float:
    """The same for rounds that follow one another, counted as `rounds ** IN_A_ROW`.

    About the quartile of a longer time than the rounds took. Raises ValueError as `level`.
    """
    return level(rounds**IN_A_ROW)


def lower_quartile(values: Sequence[float]) -> float:
    """The 0.25-quantile with linear interpolation (Hyndman and Fan 1996, type 7).

    The default of numpy, R and spreadsheets. Raises ValueError if there is no
    value or one is not finite.
    """
    _check(values)
    ordered = sorted(values)
    position = _QUARTER * (len(ordered) - 1)
    below = math.floor(position)
    if position == below:
        return ordered[below]
    return ordered[below] + (position - below) * (ordered[below + 1] - ordered[below])


def spread(values: Sequence[float]) -> float | None:
    """The distance between the quartiles over rounds, in their unit; None for one round.

    The middle half, because one disturbed process can be off by any amount (linear
    interpolation, Hyndman and Fan 1996, type 7). Raises ValueError if there is no
    value or one is not finite.
    """
    low = lower_quartile(values)
    if len(values) == 1:
        return None
    # The upper quartile is the lower one of the mirrored values.
    return -lower_quartile([-value for value in values]) - low


def estimate_cost(values: Sequence[float]) -> Estimate:
    """The lower quartile over rounds with their range; of one round no range.

    Raises ValueError if there is no value or one is not finite.
    """
    value = lower_quartile(values)
    if len(values) == 1:
        return Estimate(value, None, None, 1, True)
    few = len(values) < ROUNDS_FOR_INTERVAL
    return Estimate(value, min(values), max(values), len(values), few)


def estimate_rate(values: Sequence[float]) -> Estimate:
    """The upper quartile over rounds with their range: the mirror image of a cost's.

    Disturbance makes a rate smaller as it makes a cost larger. Raises as estimate_cost.
    """
    mirrored = estimate_cost([-value for value in values])
    low, high = mirrored.low, mirrored.high
    if low is None or high is None:
        return replace(mirrored, value=-mirrored.value)
    return replace(mirrored, value=-mirrored.value, low=-high, high=-low)


def estimate_exact(values: Sequence[float]) -> Estimate:
    """A count over rounds: the (lower) median, with the range of the rounds.

    A count is exact, so where all rounds agree low = high = value; where they do
    not, the value is one that was counted, and the range is no interval but all
    there was. Raises ValueError if there is no value or one is not finite.
    """
    _check(values)
    return Estimate(
        statistics.median_low(values), min(values), max(values), len(values), approximate=False
    )


def _check(values: Sequence[float]) -> None:
    if not values:
        raise ValueError("no value to estimate from")
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a measured value")
