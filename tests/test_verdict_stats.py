"""Ratios over rounds against enumeration, scipy and simulation."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle  # type: ignore[import-untyped]

from blockmark.runs.estimate import Resampler
from blockmark.verdict.stats import Ratio, ratio_of_counts, ratio_of_quartiles, spread

costs = st.lists(st.floats(0, 1e12), min_size=1, max_size=20)


def test_the_ratio_is_that_of_the_lower_quartiles() -> None:
    ratio = ratio_of_quartiles([12.0, 10.0, 11.0], [4.0, 5.0], Resampler(1))
    assert ratio.value == 10.5 / 4.25
    assert ratio.rounds == (3, 2)
    assert ratio.approximate
    assert ratio.reason is None


def test_the_interval_of_three_by_three_rounds_is_the_enumerated_one() -> None:
    now, before = [10.0, 12.0, 13.0], [20.0, 22.0, 23.0]
    quartiles = [
        [float(np.quantile(sample, 0.25)) for sample in itertools.product(side, repeat=3)]
        for side in (now, before)
    ]
    every = [top / bottom for top, bottom in itertools.product(*quartiles)]
    assert len(every) == 27 * 27
    low, high = np.quantile(every, [0.025, 0.975])
    # Neither end is at a step between two of the few possible ratios.
    assert np.quantile(every, [0.021, 0.029]).tolist() == [low, low]
    assert np.quantile(every, [0.971, 0.979]).tolist() == [high, high]
    ratio = ratio_of_quartiles(now, before, Resampler(1, resamples=100_000))
    assert ratio.low == pytest.approx(low, rel=1e-9)
    assert ratio.high == pytest.approx(high, rel=1e-9)


def test_the_interval_agrees_with_scipys_two_sample_bootstrap() -> None:
    source = np.random.default_rng(5)
    now, before = source.lognormal(0.1, 0.1, 40), source.lognormal(0.0, 0.1, 25)

    def quotient(top: np.ndarray, bottom: np.ndarray, axis: int) -> np.ndarray:
        value: np.ndarray = np.quantile(top, 0.25, axis=axis) / np.quantile(bottom, 0.25, axis=axis)
        return value

    theirs = oracle.bootstrap(
        (now, before),
        quotient,
        n_resamples=50_000,
        method="percentile",
        vectorized=True,
        paired=False,
        rng=np.random.default_rng(2),
    ).confidence_interval
    ours = ratio_of_quartiles(now.tolist(), before.tolist(), Resampler(3, resamples=50_000))
    assert ours.low == pytest.approx(theirs.low, rel=0.004)
    assert ours.high == pytest.approx(theirs.high, rel=0.004)
    assert not ours.approximate


def test_identical_programs_are_told_apart_no_more_often_than_stated() -> None:
    # One-sided noise on both sides, 15 rounds each: an interval that leaves out 1 is
    # wrong. The two sides must be drawn apart, or the interval would be too narrow.
    source = np.random.default_rng(8)
    wrong = 0
    for trial in range(400):
        now, before = (100.0 * (1.0 + 0.02 * source.exponential(1.0, (2, 15)))).tolist()
        wrong += bool(ratio_of_quartiles(now, before, Resampler(trial)).leaves_out_one)
    assert wrong / 400 <= 0.09


def test_a_slowdown_is_seen_by_its_interval() -> None:
    source = np.random.default_rng(9)
    before = (100.0 * (1.0 + 0.01 * source.exponential(1.0, 15))).tolist()
    slower = (105.0 * (1.0 + 0.01 * source.exponential(1.0, 15))).tolist()
    assert ratio_of_quartiles(slower, before, Resampler(1)).leaves_out_one is True
    assert ratio_of_quartiles(before, slower, Resampler(1)).leaves_out_one is True
    assert ratio_of_quartiles(before, before, Resampler(1)).leaves_out_one is False


@settings(deadline=None)
@given(costs, costs, st.integers(0, 3))
def test_a_ratio_is_never_nan_and_lies_within_what_the_rounds_allow(
    now: list[float], before: list[float], seed: int
) -> None:
    ratio = ratio_of_quartiles(now, before, Resampler(seed))
    for number in (ratio.value, ratio.low, ratio.high):
        assert number is None or (math.isfinite(number) and number >= 0)
    if ratio.value is None:
        assert ratio.reason == "the reference is zero"
        assert (ratio.low, ratio.high) == (None, None)
    elif min(len(now), len(before)) == 1:
        assert (ratio.low, ratio.high) == (None, None)
        assert ratio.leaves_out_one is None
    elif ratio.low is not None and ratio.high is not None:
        assert ratio.low <= ratio.high


@pytest.mark.parametrize("function", ["quartiles", "counts"])
def test_zeros_and_equal_samples(function: str) -> None:
    def ratio_of(now: list[float], before: list[float]) -> Ratio:
        if function == "counts":
            return ratio_of_counts(now, before)
        return ratio_of_quartiles(now, before, Resampler(1))

    zero, five = [0.0] * 4, [5.0] * 7
    same = ratio_of(five, five[:3])
    assert (same.value, same.low, same.high, same.leaves_out_one) == (1.0, 1.0, 1.0, False)
    both = ratio_of(zero, zero)
    assert (both.value, both.low, both.high) == (1.0, 1.0, 1.0)
    baseline = ratio_of(five, zero)
    assert (baseline.value, baseline.low, baseline.high) == (None, None, None)
    assert baseline.reason == "the reference is zero"
    now = ratio_of(zero, five)
    assert (now.value, now.low, now.high) == (0.0, 0.0, 0.0)


def test_a_reference_that_touches_zero_has_no_upper_end() -> None:
    ratio = ratio_of_quartiles([5.0, 6.0, 7.0], [0.0, 10.0, 10.0], Resampler(1))
    assert ratio.value == 5.5 / 5.0
    assert ratio.high is None
    assert ratio.low == pytest.approx(0.5)
    assert ratio_of_quartiles([1e300], [1e-300], Resampler(1)).value is None


def test_one_round_has_a_ratio_without_an_interval() -> None:
    for now, before in (([6.0], [3.0]), ([6.0], [3.0, 3.0]), ([6.0, 6.0], [3.0])):
        ratio = ratio_of_quartiles(now, before, Resampler(1))
        assert (ratio.value, ratio.low, ratio.high) == (2.0, None, None)
        assert ratio.approximate


def test_unequal_rounds_are_all_used() -> None:
    ratio = ratio_of_quartiles([2.0] * 30, [1.0] * 4 + [9.0] * 9, Resampler(1))
    assert ratio.value == 2.0
    assert ratio.rounds == (30, 13)
    assert not ratio.approximate
    # 4 of 13 rounds are quick, so a resample may well have too few of them.
    assert ratio.low is not None
    assert ratio.low < 2.0


def test_counts_have_the_range_that_the_rounds_allow() -> None:
    ratio = ratio_of_counts([6.0, 8.0, 9.0], [2.0, 4.0])
    assert (ratio.value, ratio.low, ratio.high) == (8.0 / 2.0, 6.0 / 4.0, 9.0 / 2.0)
    assert not ratio.approximate
    assert ratio_of_counts([6.0], [3.0]) == Ratio(2.0, 2.0, 2.0, (1, 1), False)
    touching = ratio_of_counts([6.0], [0.0, 3.0, 3.0])
    assert (touching.value, touching.low, touching.high) == (2.0, 2.0, None)


@pytest.mark.parametrize("bad", [[], [math.nan], [math.inf], [-1.0, 2.0]])
def test_what_is_no_cost_is_refused_on_either_side(bad: list[float]) -> None:
    for now, before in ((bad, [1.0]), ([1.0], bad)):
        with pytest.raises(ValueError, match=r"no rounds|is not a cost"):
            ratio_of_quartiles(now, before, Resampler(1))
        with pytest.raises(ValueError, match=r"no rounds|is not a cost"):
            ratio_of_counts(now, before)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=30))
def test_the_spread_is_the_distance_between_the_quartiles(values: list[float]) -> None:
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    expected = pytest.approx(high - low, rel=1e-9, abs=1e-6)
    assert spread(values) == expected
    assert oracle.iqr(values) == expected


def test_one_round_has_no_spread() -> None:
    assert spread([5.0]) is None
    assert spread([5.0, 5.0]) == 0.0
