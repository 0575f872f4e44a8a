"""Lower quartiles and their the range of rounds against numpy, scipy and hand arithmetic."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from blockmark.runs.estimate import (
    ROUNDS_FOR_INTERVAL,
    Estimate,
    estimate_cost,
    estimate_exact,
    estimate_rate,
    level,
    level_in_a_row,
    lower_quartile,
    spread,
)

costs = st.lists(st.floats(0, 1e9), min_size=1, max_size=40)


@settings(deadline=None)
@given(costs)
def test_the_lower_quartile_is_numpys(values: list[float]) -> None:
    assert lower_quartile(values) == pytest.approx(np.quantile(values, 0.25), rel=1e-12)


def test_the_lower_quartile_by_hand() -> None:
    assert lower_quartile([4.0]) == 4.0
    assert lower_quartile([1.0, 2.0]) == 1.25
    assert lower_quartile([9.0, 1.0, 5.0]) == 3.0
    assert lower_quartile([10.0, 50.0, 20.0, 40.0, 30.0]) == 20.0


@pytest.mark.parametrize("bad", [[], [math.nan, 1.0], [1.0, math.inf]])
def test_rounds_that_are_no_numbers_are_refused(bad: list[float]) -> None:
    for estimator in (lower_quartile, estimate_exact, estimate_cost):
        with pytest.raises(ValueError, match=r"no value|not a measured value"):
            estimator(bad)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    # By hand: 1 - .75^n - .25^n.
    [(1, 0.0), (2, 0.375), (3, 0.5625), (5, 1 - 0.2373046875 - 0.0009765625), (11, 0.9577647)],
)
def test_the_level_of_a_range_by_hand(rounds: int, expected: float) -> None:
    assert level(rounds) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("rounds", [2, 3, 5, 8, 11, 30])
def test_no_interval_of_order_statistics_is_surer_than_the_range(rounds: int) -> None:
    # The r-th smallest of n lies below the quartile if at least r of n rounds do.
    at_least = [stats.binom.sf(r - 1, rounds, 0.25) for r in range(1, rounds + 1)]
    best = max(
        at_least[low] - at_least[high] for low in range(rounds) for high in range(low, rounds)
    )
    assert level(rounds) == pytest.approx(best, rel=1e-12)


def test_eleven_rounds_are_the_fewest_that_reach_95_percent() -> None:
    assert level(ROUNDS_FOR_INTERVAL) >= 0.95 > level(ROUNDS_FOR_INTERVAL - 1)
    with pytest.raises(ValueError, match="0 rounds"):
        level(0)


def test_rounds_in_a_row_count_less() -> None:
    assert level_in_a_row(1) == 0.0
    # 32 ** .66 is 2 ** 3.3 = 9.8492: 1 - .75^9.8492 - .25^9.8492 = 0.94119.
    assert level_in_a_row(32) == pytest.approx(0.94119, abs=1e-5)
    for rounds in range(2, 40):
        assert level_in_a_row(rounds - 1) < level_in_a_row(rounds) < level(rounds)


def test_the_range_covers_the_true_quartile_as_often_as_it_says() -> None:
    # Exponential noise above a floor, 5 rounds: the population's quartile is known.
    source = np.random.default_rng(11)
    truth = 100.0 + math.log(4 / 3)
    hits = 0
    for values in (100.0 + source.exponential(1.0, (4000, 5))).tolist():
        estimate = estimate_cost(values)
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= truth <= estimate.high
    # 0.7617; the standard error of 4,000 trials is 0.0067.
    assert hits / 4000 == pytest.approx(level(5), abs=0.03)


@settings(deadline=None)
@given(costs)
def test_a_range_is_that_of_the_rounds_and_holds_the_value(values: list[float]) -> None:
    estimate = estimate_cost(values)
    assert estimate.rounds == len(values)
    assert estimate.approximate == (len(values) < 11)
    several = len(values) > 1
    ends = (min(values), max(values)) if several else (None, None)
    assert (estimate.low, estimate.high) == ends
    assert min(values) <= estimate.value <= max(values)


def test_a_rate_is_the_upper_quartile_a_mirrored_cost() -> None:
    values = [100.0, 130.0, 120.0, 90.0, 110.0]
    estimate = estimate_rate(values)
    assert estimate.value == np.quantile(values, 0.75) == 120.0
    assert (estimate.low, estimate.high) == (90.0, 130.0)
    assert (estimate.rounds, estimate.approximate) == (5, True)
    assert estimate_rate([7.0]) == Estimate(7.0, None, None, 1, True)
    with pytest.raises(ValueError, match="no value"):
        estimate_rate([])


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=30))
def test_the_spread_is_the_distance_between_the_quartiles(values: list[float]) -> None:
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    expected = pytest.approx(high - low, rel=1e-9, abs=1e-6)
    assert spread(values) == expected
    assert stats.iqr(values) == expected


def test_one_round_has_no_spread() -> None:
    assert spread([5.0]) is None
    assert spread([5.0, 5.0]) == 0.0


def test_a_count_is_exact_where_rounds_agree_and_a_range_where_not() -> None:
    assert estimate_exact([16.0] * 4) == Estimate(16.0, 16.0, 16.0, 4, False)
    assert estimate_exact([16.0]) == Estimate(16.0, 16.0, 16.0, 1, False)
    assert estimate_exact([3.0, 1.0, 2.0, 9.0]) == Estimate(2.0, 1.0, 9.0, 4, False)
