"""The log-linear histogram against brute force, numpy and HdrHistogram."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmark.runs.histogram import (
    LARGEST_INDEX,
    PERMILLE,
    Histogram,
    bucket_index,
    bucket_range,
    bucket_value,
    quantile,
    samples_needed,
)

LARGEST = 2**63 - 1
durations = st.one_of(
    st.integers(0, 1000),
    st.integers(0, LARGEST),
    st.integers(0, 62).map(lambda e: 1 << e),
    st.integers(1, 62).map(lambda e: (1 << e) - 1),
)


def filled(values: list[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram


def formula(value: int) -> int:
    """The published formula, written with floating-point logarithms and division."""
    if value < 128:
        return value
    exponent = int(math.log2(value)) - 7
    return int((exponent + 1) * 128 + value // 2**exponent - 128)


def test_the_index_follows_the_published_formula() -> None:
    values = [*range(3000), *(3 << exponent for exponent in range(10, 40))]
    assert [bucket_index(value) for value in values] == [formula(value) for value in values]


def test_the_buckets_are_in_order_without_gap_or_overlap() -> None:
    expected = 0
    for index in range(LARGEST_INDEX + 1):
        smallest, largest = bucket_range(index)
        assert smallest == expected
        assert largest >= smallest
        expected = largest + 1
    assert expected == 2**63


@settings(deadline=None)
@given(durations)
def test_a_value_lies_in_its_bucket_and_is_read_back_within_one_percent(value: int) -> None:
    smallest, largest = bucket_range(bucket_index(value))
    assert smallest <= value <= largest
    assert abs(bucket_value(bucket_index(value)) - value) <= 0.004 * value


def test_small_values_are_exact() -> None:
    assert [bucket_value(bucket_index(value)) for value in range(256)] == list(range(256))


@settings(deadline=None)
@given(st.lists(durations, min_size=1, max_size=50))
def test_recording_counts_every_value_and_keeps_the_exact_maximum(values: list[int]) -> None:
    histogram = filled(values)
    by_hand: dict[int, int] = {}
    for value in values:
        by_hand[bucket_index(value)] = by_hand.get(bucket_index(value), 0) + 1
    assert histogram.counts() == sorted(by_hand.items())
    assert histogram.samples == len(values)
    assert histogram.max_value == max(values)
    assert histogram.quantile("max") == float(max(values))


@pytest.mark.parametrize("value", [-1, -300, 2**63, 2**70])
def test_what_is_no_duration_is_refused_and_not_counted(value: int) -> None:
    histogram = Histogram()
    with pytest.raises(ValueError, match="cannot be a duration"):
        histogram.record(value)
    assert histogram.samples == 0
    assert histogram.counts() == []


@settings(deadline=None)
@given(st.lists(durations, max_size=30), st.lists(durations, max_size=30))
def test_merging_is_the_same_as_recording_all(first: list[int], second: list[int]) -> None:
    merged, other, whole = filled(first), filled(second), filled(first + second)
    merged.merge(other.counts(), other.max_value)
    assert merged.counts() == whole.counts()
    assert (merged.samples, merged.max_value) == (whole.samples, whole.max_value)


@pytest.mark.parametrize(
    ("counts", "largest"),
    [
        ([(-1, 1)], 1),
        ([(LARGEST_INDEX + 1, 1)], 1),
        ([(5, -1)], 5),
        ([(5, 1)], 6),
        ([(300, 1), (5, 2)], 5),
        ([], 7),
    ],
)
def test_impossible_counts_are_refused_with_nothing_added(
    counts: list[tuple[int, int]], largest: int
) -> None:
    histogram = filled([3])
    with pytest.raises(ValueError, match=r"is not a bucket|does not fit"):
        histogram.merge(counts, largest)
    assert histogram.counts() == [(3, 1)]
    assert histogram.samples == 1


@pytest.mark.parametrize("label", PERMILLE)
@pytest.mark.parametrize("seed", range(5))
def test_quantiles_are_within_one_percent_of_the_sorted_samples(label: str, seed: int) -> None:
    source = random.Random(seed)
    values = [int(source.lognormvariate(7, 1.5)) for _ in range(20_000)]
    exact = np.quantile(values, PERMILLE[label] / 1000, method="inverted_cdf")
    assert filled(values).quantile(label) == pytest.approx(exact, rel=0.004)


def test_quantiles_agree_with_hdrhistogram() -> None:
    from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

    source = random.Random(7)
    values = [int(source.paretovariate(1.2) * 1000) for _ in range(20_000)]
    oracle = HdrHistogram(1, 10**12, 3)
    for value in values:
        assert oracle.record_value(value)
    histogram = filled(values)
    for label, permille in PERMILLE.items():
        expected = oracle.get_value_at_percentile(permille / 10)
        assert histogram.quantile(label) == pytest.approx(expected, rel=0.006)


@pytest.mark.parametrize(("label", "needed"), [("p50", 20), ("p90", 100), ("p99", 1000)])
def test_a_quantile_needs_ten_samples_beyond_it(label: str, needed: int) -> None:
    assert samples_needed(label) == needed
    assert filled([9] * (needed - 1)).quantile(label) is None
    assert filled([9] * needed).quantile(label) == 9.0


def test_p99_9_needs_ten_thousand_samples_and_the_maximum_one() -> None:
    assert samples_needed("p99.9") == 10_000
    assert quantile([(9, 9_999)], 9_999, 9, "p99.9") is None
    assert quantile([(9, 10_000)], 10_000, 9, "p99.9") == 9.0
    assert samples_needed("max") == 1
    assert Histogram().quantile("max") is None
    assert filled([5]).quantile("max") == 5.0


def test_a_quantile_never_exceeds_the_maximum() -> None:
    # 1,000,000 is the least value of its bucket, whose middle lies above it.
    smallest, _ = bucket_range(bucket_index(1_000_000))
    assert filled([smallest] * 20).quantile("p50") == smallest


def test_a_count_that_does_not_add_up_is_an_error() -> None:
    with pytest.raises(ValueError, match="hold 5 samples, not 30"):
        quantile([(1, 5)], 30, 1, "p50")
    with pytest.raises(KeyError):
        quantile([(1, 30)], 30, 1, "p75")
