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
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Below this number of rounds a percentile interval is too narrow to be exact.
ROUNDS_FOR_INTERVAL = 11
RESAMPLES = 2_000
CONFIDENCE = 0.95
_QUARTER = 0.25


@dataclass(frozen=True, slots=True)
class Estimate:
    """One value over rounds, in the unit of the rounds.

    `low` and `high` are None where there is no interval. `approximate` says that
    the interval rests on fewer than `ROUNDS_FOR_INTERVAL` rounds.
    """

    value: float
    low: float | None
    high: float | None
    rounds: int
    approximate: bool


def lower_quartile(values: Sequence[float]) -> float:
    """The 0.25-quantile with linear interpolation (Hyndman and Fan 1996, type 7).

    The default of numpy, R and spreadsheets. Raises ValueError if there is no
    value or one is not finite.
    """
    _check(values)
    ordered = sorted(values)
    below, fraction = _position(len(ordered), _QUARTER)
    if not fraction:
        return ordered[below]
    return ordered[below] + fraction * (ordered[below + 1] - ordered[below])


class Resampler:
    """Bootstrap replicates of a lower quartile or a median, the same for the same seed.

    Efron and Tibshirani 1993, "An Introduction to the Bootstrap": draw n of the n
    rounds with replacement, take the statistic, `resamples` times; the percentile
    interval (chapter 13) is the middle `confidence` of what comes out.

    Only the two order statistics next to the quantile are drawn, not whole samples:
    the k-th smallest of n uniform variables has a Beta(k, n - k + 1) distribution,
    and the distance to the next one, as a share of what is left, Beta(1, n - k)
    (David and Nagaraja 2003, "Order Statistics", 2.1 and 2.2). The result has
    exactly the distribution of the plain bootstrap, in time and memory that do not
    grow with n, and the draws are shared by all metrics of the same n.
    """

    def __init__(
        self, seed: int, *, resamples: int = RESAMPLES, confidence: float = CONFIDENCE
    ) -> None:
        """`seed` >= 0. Raises ValueError for a negative one."""
        if seed < 0:
            raise ValueError(f"a seed is not negative, as {seed} is")
        self._seed = seed
        self._resamples = resamples
        self._tails = ((1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0)
        self._draws: dict[tuple[int, float, int], tuple[NDArray[np.intp], NDArray[np.intp]]] = {}

    def lower_quartiles(self, values: Sequence[float], stream: int = 0) -> NDArray[np.float64]:
        """The replicates, shape [resamples], in the unit of `values`.

        Two samples that are set against each other need different `stream`s: their
        draws must not depend on each other.
        """
        return self._quantiles(values, _QUARTER, stream)

    def medians(self, values: Sequence[float], stream: int = 0) -> NDArray[np.float64]:
        """The replicates of the median instead; else as `lower_quartiles`."""
        return self._quantiles(values, 0.5, stream)

    def _quantiles(self, values: Sequence[float], share: float, stream: int) -> NDArray[np.float64]:
        import numpy as np

        _check(values)
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        _, fraction = _position(len(ordered), share)
        below, above = self._indices(len(ordered), share, stream)
        lower = ordered[below]
        replicates: NDArray[np.float64] = lower + fraction * (ordered[above] - lower)
        return replicates

    def interval(self, replicates: NDArray[np.float64]) -> tuple[float, float]:
        """The percentile interval of replicates; an end next to infinite ones is not finite."""
        import numpy as np

        low, high = np.quantile(replicates, self._tails)
        return float(low), float(high)

    def _indices(
        self, n: int, share: float, stream: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which of the n sorted values stand next to the quantile, for each resample."""
        import numpy as np

        key = n, share, stream
        if key not in self._draws:
            random = np.random.default_rng([self._seed, n, stream])
            position, _ = _position(n, share)
            k = position + 1
            lower = random.beta(k, n - k + 1, self._resamples)
            upper = lower
            if k < n:
                upper = lower + (1.0 - lower) * random.beta(1, n - k, self._resamples)
            # A draw may round up to 1.0, which would be the value behind the last.
            below, above = (
                np.minimum((n * part).astype(np.intp), n - 1) for part in (lower, upper)
            )
            self._draws[key] = (below, above)
        return self._draws[key]


def estimate_cost(values: Sequence[float], resampler: Resampler) -> Estimate:
    """The lower quartile over rounds with its bootstrap interval; of one round no interval.

    Raises ValueError if there is no value or one is not finite.
    """
    value = lower_quartile(values)
    if len(values) == 1:
        return Estimate(value, None, None, 1, True)
    if min(values) == max(values):
        low = high = value
    else:
        low, high = resampler.interval(resampler.lower_quartiles(values))
    return Estimate(value, low, high, len(values), len(values) < ROUNDS_FOR_INTERVAL)


def estimate_rate(values: Sequence[float], resampler: Resampler) -> Estimate:
    """The upper quartile over rounds with its interval: the mirror image of a cost's.

    Disturbance makes a rate smaller as it makes a cost larger. Raises as estimate_cost.
    """
    mirrored = estimate_cost([-value for value in values], resampler)
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


def _position(n: int, share: float) -> tuple[int, float]:
    """Index of the sorted value below the quantile, and the way from it to the next."""
    position = share * (n - 1)
    below = math.floor(position)
    return below, position - below


def _check(values: Sequence[float]) -> None:
    if not values:
        raise ValueError("no value to estimate from")
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a measured value")
