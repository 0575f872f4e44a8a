"""Lower quartiles and their bootstrap against numpy, scipy and exact enumeration."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from blockmark.runs.estimate import (
    Estimate,
    Resampler,
    estimate_cost,
    estimate_exact,
    estimate_rate,
    lower_quartile,
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
    for estimator in (lower_quartile, estimate_exact):
        with pytest.raises(ValueError, match=r"no value|not a measured value"):
            estimator(bad)
    with pytest.raises(ValueError, match=r"no value|not a measured value"):
        estimate_cost(bad, Resampler(1))


def enumerated(values: Sequence[float]) -> dict[float, float]:
    """Every bootstrap sample there is, and how likely each lower quartile is."""
    n = len(values)
    counts = Counter(
        float(np.quantile(sample, 0.25)) for sample in itertools.product(values, repeat=n)
    )
    return {quartile: count / n**n for quartile, count in counts.items()}


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 2.0, 4.0], [3.0, 7.0, 8.0, 20.0, 21.0]])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_replicates_have_the_distribution_of_all_possible_samples(
    values: list[float], seed: int
) -> None:
    expected = enumerated(values)
    drawn = 40_000
    found = Resampler(seed, resamples=drawn).lower_quartiles(values)
    seen = Counter(np.round(found, 9).tolist())
    assert set(seen) == {round(quartile, 9) for quartile in expected}
    observed = [seen[round(quartile, 9)] for quartile in expected]
    # A chi-squared test that a right sampler fails once in 100,000 seeds.
    result = stats.chisquare(observed, [share * drawn for share in expected.values()])
    assert result.pvalue > 1e-5


def test_the_interval_of_three_rounds_is_the_enumerated_one() -> None:
    values = [10.0, 11.0, 13.0]
    ordered: list[float] = []
    for quartile, share in sorted(enumerated(values).items()):
        ordered += [quartile] * round(share * 27)
    # 1/27 of the samples is 3 x 10.0 and 1/27 is 3 x 13.0, both beyond 2.5 %.
    assert (ordered[0], ordered[-1]) == (10.0, 13.0)
    estimate = estimate_cost(values, Resampler(5))
    assert (estimate.low, estimate.high) == (10.0, 13.0)
    assert estimate.value == 10.5


@pytest.mark.parametrize(("rounds", "seed"), [(12, 3), (25, 4), (60, 5)])
def test_replicates_and_interval_agree_with_scipys_percentile_bootstrap(
    rounds: int, seed: int
) -> None:
    source = np.random.default_rng(seed)
    values = source.lognormal(1.0, 0.1, rounds).tolist()
    theirs = stats.bootstrap(
        (values,),
        lambda sample, axis: np.quantile(sample, 0.25, axis=axis),
        n_resamples=20_000,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(1),
    )
    resampler = Resampler(seed, resamples=20_000)
    ours = resampler.lower_quartiles(values)
    assert stats.ks_2samp(ours, theirs.bootstrap_distribution).pvalue > 1e-4
    estimate = estimate_cost(values, resampler)
    # Replicates are few distinct numbers, so an end may be one step off.
    steps = np.diff(sorted(values)).max()
    assert estimate.low == pytest.approx(theirs.confidence_interval.low, abs=steps)
    assert estimate.high == pytest.approx(theirs.confidence_interval.high, abs=steps)
    assert estimate.approximate == (rounds < 11)


def test_the_interval_covers_the_true_quartile_about_as_often_as_it_says() -> None:
    # Exponential noise above a floor, 30 rounds: the population's quartile is known.
    source = np.random.default_rng(11)
    truth = 100.0 + math.log(4 / 3)
    hits = 0
    for trial in range(400):
        values = (100.0 + source.exponential(1.0, 30)).tolist()
        estimate = estimate_cost(values, Resampler(trial))
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= truth <= estimate.high
    # Percentile intervals of 30 rounds fall a little short of 95 %.
    assert 0.87 <= hits / 400 <= 0.99


@settings(deadline=None)
@given(costs, st.integers(0, 5))
def test_an_interval_holds_its_value_and_lies_within_the_rounds(
    values: list[float], seed: int
) -> None:
    estimate = estimate_cost(values, Resampler(seed))
    assert min(values) <= estimate.value <= max(values)
    assert estimate.rounds == len(values)
    assert estimate.approximate == (len(values) < 11)
    if len(values) == 1:
        assert (estimate.low, estimate.high) == (None, None)
    else:
        assert estimate.low is not None
        assert estimate.high is not None
        assert min(values) <= estimate.low <= estimate.high <= max(values)


def test_equal_rounds_have_an_interval_without_width() -> None:
    value = 0.1 + 0.2
    assert estimate_cost([value] * 7, Resampler(1)) == Estimate(value, value, value, 7, True)


def test_the_same_seed_gives_the_same_interval_and_another_one_another() -> None:
    values = [5.1, 5.3, 5.9, 6.2, 5.0, 5.4, 5.8, 6.0, 7.1, 5.2, 5.7, 6.6]
    first, again, other = (Resampler(seed).lower_quartiles(values).tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other
    with pytest.raises(ValueError, match="-1"):
        Resampler(-1)


def test_two_streams_are_independent_and_one_is_shared() -> None:
    values = list(range(1, 30))
    resampler = Resampler(1, resamples=5_000)
    one, two = (resampler.lower_quartiles(values, stream) for stream in (1, 2))
    assert abs(stats.spearmanr(one, two).statistic) < 0.06
    assert resampler.lower_quartiles(values, 1).tolist() == one.tolist()


def test_a_rate_is_the_upper_quartile_a_mirrored_cost() -> None:
    values = [100.0, 130.0, 120.0, 90.0, 110.0]
    estimate = estimate_rate(values, Resampler(3))
    assert estimate.value == np.quantile(values, 0.75) == 120.0
    mirrored = estimate_cost([-value for value in values], Resampler(3))
    assert mirrored.low is not None
    assert mirrored.high is not None
    assert (estimate.low, estimate.high) == (-mirrored.high, -mirrored.low)
    assert min(values) <= -mirrored.high <= 120.0 <= -mirrored.low <= max(values)
    assert (estimate.rounds, estimate.approximate) == (5, True)
    assert estimate_rate([7.0], Resampler(1)) == Estimate(7.0, None, None, 1, True)
    with pytest.raises(ValueError, match="no value"):
        estimate_rate([], Resampler(1))


def test_a_count_is_exact_where_rounds_agree_and_a_range_where_not() -> None:
    assert estimate_exact([16.0] * 4) == Estimate(16.0, 16.0, 16.0, 4, False)
    assert estimate_exact([16.0]) == Estimate(16.0, 16.0, 16.0, 1, False)
    assert estimate_exact([3.0, 1.0, 2.0, 9.0]) == Estimate(2.0, 1.0, 9.0, 4, False)


def test_a_million_rounds_take_no_more_memory_than_ten() -> None:
    values = np.random.default_rng(1).exponential(1.0, 1_000_000).tolist()
    estimate = estimate_cost(values, Resampler(1))
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < estimate.value < estimate.high
    assert estimate.high - estimate.low < 0.01


def test_a_whole_run_is_estimated_without_waiting() -> None:
    source = np.random.default_rng(2)
    metrics = source.lognormal(1.0, 0.1, (800, 15)).tolist()
    resampler = Resampler(1)
    started = time.process_time()
    for values in metrics:
        estimate_cost(values, resampler)
    spent = time.process_time() - started
    started = time.process_time()
    np.quantile(source.random((800, 2_000)), [0.025, 0.975], axis=1)
    unit = time.process_time() - started
    # No absolute time: a fair multiple of what sorting the replicates alone takes.
    assert spent < 40 * unit
