"""Rounds made into the entry of a metric."""

from __future__ import annotations

import pytest

from blockmark.runs.histogram import Histogram
from blockmark.runs.model import HistogramData
from blockmark.runs.summary import summarise, summarise_distribution, unavailable


def test_a_cost_is_the_lower_quartile_with_mean_beside_it() -> None:
    value = summarise("step_ns", [120, 100, 110], means=[200.0, 150.0, 190.0])
    assert value.value == 105.0
    assert value.mean == 170.0
    assert value.values == (120.0, 100.0, 110.0)
    assert (value.unit, value.source, value.rounds) == ("ns", "clock", 3)
    assert (value.low, value.high) == (100.0, 120.0)
    assert value.approximate


def test_a_share_is_estimated_like_the_cost_it_is_made_of() -> None:
    value = summarise("busy_share_estimated", [0.2, 0.1, 0.3])
    assert value.value == pytest.approx(0.15)
    assert (value.unit, value.source) == ("share", "derived")


def test_a_rate_is_the_upper_quartile_since_its_best_is_the_largest() -> None:
    value = summarise("highest_rate", [100, 300, 200])
    assert (value.value, value.unit, value.source) == (250.0, "1/s", "clock")
    assert (value.low, value.high) == (100.0, 300.0)


@pytest.mark.parametrize(
    "name", ["heap_allocations_per_step", "table_bytes", "pool_run_length", "minor_faults"]
)
def test_what_is_counted_is_exact(name: str) -> None:
    same = summarise(name, [7.0, 7.0])
    assert (same.value, same.low, same.high, same.approximate) == (7.0, 7.0, 7.0, False)
    apart = summarise(name, [7.0, 9.0, 8.0])
    assert (apart.value, apart.low, apart.high) == (8.0, 7.0, 9.0)


def test_a_source_other_than_the_tables_is_kept() -> None:
    assert summarise("minor_faults", [1], source="pmu").source == "pmu"
    assert unavailable("minor_faults", "why", source="pmu").source == "pmu"


def test_what_cannot_be_measured_has_its_reason() -> None:
    value = unavailable("fork_per_block_ns", "no fork")
    assert (value.value, value.unit, value.unavailable) == (None, "ns", "no fork")
    assert value.values == ()


def histogram(base: int, samples: int, largest: int) -> Histogram:
    made = Histogram()
    for position in range(samples - 1):
        made.record(base + position % 10)
    made.record(largest)
    return made


def test_a_distribution_has_quantiles_over_rounds() -> None:
    rounds = [histogram(base, 1_000, largest) for base, largest in ((100, 900), (60, 5_000))]
    value = summarise_distribution("step_latency_ns", rounds)
    assert value.quantiles is not None
    p50 = value.quantiles["p50"]
    # Medians by hand: 104 and 64; their lower quartile.
    assert p50.values == (104.0, 64.0)
    assert p50.value == 74.0
    assert (value.value, value.low, value.high) == (74.0, p50.low, p50.high)
    assert value.approximate
    largest = value.quantiles["max"]
    assert (largest.value, largest.low, largest.high) == (5_000.0, 900.0, 5_000.0)
    assert value.quantiles["p99.9"].value is None
    assert value.quantiles["p99.9"].unavailable == "needs 10,000 samples a round, had 1,000"
    assert value.histograms[0] == HistogramData(tuple(rounds[0].counts()), 900, 1_000)


def test_rounds_too_short_for_a_quantile_are_left_out_of_it() -> None:
    rounds = [histogram(100, 1_000, 900), histogram(200, 150, 900)]
    value = summarise_distribution("step_latency_ns", rounds)
    assert value.quantiles is not None
    assert value.quantiles["p99"].rounds == 1
    assert value.quantiles["p90"].rounds == 2


def test_a_distribution_without_a_median_is_unavailable_but_keeps_its_maximum() -> None:
    value = summarise_distribution("step_latency_ns", [histogram(100, 19, 900)])
    assert value.value is None
    assert value.unavailable == "needs 20 samples a round, had 19"
    assert not value.approximate
    assert value.quantiles is not None
    assert value.quantiles["max"].value == 900.0
    assert (value.quantiles["max"].low, value.quantiles["max"].high) == (None, None)
    with pytest.raises(ValueError, match="no histogram"):
        summarise_distribution("step_latency_ns", [])
