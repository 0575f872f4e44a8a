"""Quantiles of whole numbers out of counts, in memory that has a bound."""

from __future__ import annotations

import math

# Token counts of real traces have a few ten thousand distinct values.
_MOST_VALUES = 1 << 17
_BITS = 11  # 0.05 %


class Distribution:
    """Counts of each value, so that quantiles are exact.

    Past 131,072 distinct values (about 15 MB) values are rounded down to 11 significant
    bits, and quantiles are within 0.05 %; mean and maximum stay exact.
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._exact = True
        self.count = 0
        self.total = 0
        self.maximum = 0

    @property
    def exact(self) -> bool:
        """Whether quantiles are exact."""
        return self._exact

    def add(self, value: int) -> None:
        """Count one value, 0 or more."""
        self.count += 1
        self.total += value
        if value > self.maximum:
            self.maximum = value
        if not self._exact:
            value = _rounded(value)
        self._counts[value] = self._counts.get(value, 0) + 1
        if len(self._counts) > _MOST_VALUES and self._exact:
            self._coarsen()

    def _coarsen(self) -> None:
        counts, self._counts, self._exact = self._counts, {}, False
        for value, count in counts.items():
            kept = _rounded(value)
            self._counts[kept] = self._counts.get(kept, 0) + count

    def quantiles(self, *shares: float) -> list[int]:
        """The least value that at least this share of all values does not exceed, for each."""
        values = sorted(self._counts)
        found = []
        for share in shares:
            rank, passed = max(1, math.ceil(share * self.count)), 0
            for value in values:
                passed += self._counts[value]
                if passed >= rank:
                    break
            found.append(value)
        return found

    def summary(self) -> dict[str, float | int]:
        """mean, p50, p90, p99, max; of at least one value."""
        p50, p90, p99 = self.quantiles(0.50, 0.90, 0.99)
        mean = self.total / self.count
        return {"mean": mean, "p50": p50, "p90": p90, "p99": p99, "max": self.maximum}


def _rounded(value: int) -> int:
    shift = max(0, value.bit_length() - _BITS)
    return value >> shift << shift
