"""A log-linear histogram of nanoseconds: small, mergeable, wrong by less than 1 %.

Each power of two is divided into 128 buckets of equal width (7 bits below the
leading one), as HdrHistogram does (G. Tene, https://hdrhistogram.github.io).
Values below 256 have a bucket of their own; above, a bucket is at most 1/128 of
its values wide, and its middle is off by at most half of that, 0.4 %. The native
core counts in the same buckets, so the counts of both tiers can be merged.
"""

from __future__ import annotations

from collections.abc import Iterable

SUB_BITS = 7
_SUB_BUCKETS = 1 << SUB_BITS
_LARGEST = (1 << 63) - 1

# A quantile is given only if this many samples lie beyond it: with fewer, the
# next run's value is anyone's guess.
SAMPLES_BEYOND = 10

# In thousandths, so that the condition above is exact arithmetic.
PERMILLE = {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999}


def bucket_index(value: int) -> int:
    """The bucket of a value in nanoseconds, 0 <= value < 2^63."""
    exponent = value.bit_length() - 1 - SUB_BITS
    if exponent <= 0:
        return value
    return (exponent << SUB_BITS) + (value >> exponent)


def bucket_range(index: int) -> tuple[int, int]:
    """The smallest and the largest value of a bucket."""
    exponent = (index >> SUB_BITS) - 1
    if exponent <= 0:
        return index, index
    smallest = ((index & (_SUB_BUCKETS - 1)) + _SUB_BUCKETS) << exponent
    return smallest, smallest + (1 << exponent) - 1


def bucket_value(index: int) -> float:
    """The value that stands for a bucket: its middle."""
    smallest, largest = bucket_range(index)
    return (smallest + largest) / 2


LARGEST_INDEX = bucket_index(_LARGEST)


class Histogram:
    """Counts of values in nanoseconds; the pure Python twin of the native one.

    `samples` is the number of values, `max_value` the exact largest one (0 if there
    are none).
    """

    __slots__ = ("_counts", "max_value", "samples")

    def __init__(self) -> None:
        self._counts = [0] * (LARGEST_INDEX + 1)
        self.max_value = 0
        self.samples = 0

    def record(self, ns: int) -> None:
        """Count one value. Raises ValueError unless 0 <= ns < 2^63."""
        exponent = ns.bit_length() - 1 - SUB_BITS
        if ns < 0 or ns > _LARGEST:
            raise ValueError(f"{ns} ns cannot be a duration")
        self._counts[ns if exponent <= 0 else (exponent << SUB_BITS) + (ns >> exponent)] += 1
        self.samples += 1
        if ns > self.max_value:
            self.max_value = ns

    def counts(self) -> list[tuple[int, int]]:
        """The buckets that are not empty, as (index, count) in ascending order."""
        return [(index, count) for index, count in enumerate(self._counts) if count]

    def merge(self, counts: Iterable[tuple[int, int]], max_value: int) -> None:
        """Add the counts of another histogram, native or not.

        Raises ValueError, with nothing added, for a bucket that does not exist, a
        negative count, or a largest value outside the last bucket counted.
        """
        added = list(counts)
        last = -1
        for index, count in added:
            if not 0 <= index <= LARGEST_INDEX or count < 0:
                raise ValueError(f"({index}, {count}) is not a bucket and its count")
            if count:
                last = max(last, index)
        if max_value != 0 if last < 0 else bucket_index(max_value) != last:
            raise ValueError(f"a largest value of {max_value} does not fit the counts")
        for index, count in added:
            self._counts[index] += count
            self.samples += count
        self.max_value = max(self.max_value, max_value)

    def quantile(self, label: str) -> float | None:
        """The quantile `p50`, `p90`, `p99` or `p99.9`, or `max`; None if unavailable."""
        return quantile(self.counts(), self.samples, self.max_value, label)


def quantile(
    counts: Iterable[tuple[int, int]], samples: int, max_value: int, label: str
) -> float | None:
    """A quantile of counted values in nanoseconds, or None with too few samples.

    The q-quantile is the smallest value that at least the fraction q of the samples
    does not exceed (Hyndman and Fan 1996, definition 1), read as the middle of its
    bucket and never above the largest value; `max` is exact. Raises KeyError for an
    unknown label.
    """
    if label == "max":
        return float(max_value) if samples else None
    permille = PERMILLE[label]
    if samples < samples_needed(label):
        return None
    rank = -(-permille * samples // 1000)
    seen = 0
    for index, count in counts:
        seen += count
        if seen >= rank:
            return min(bucket_value(index), float(max_value))
    raise ValueError(f"the counts hold {seen} samples, not {samples}")


def samples_needed(label: str) -> int:
    """The number of samples from which on a quantile is given: 1,000 for `p99`."""
    if label == "max":
        return 1
    return SAMPLES_BEYOND * 1000 // (1000 - PERMILLE[label])
