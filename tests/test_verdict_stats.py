"""Ratios over rounds against enumeration, scipy and hand arithmetic."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle  # type: ignore[import-untyped]

from blockmark.verdict.stats import (
    CONFIDENCE,
    ROUNDS_A_SIDE,
    Ratio,
    ratio_of_counts,
    ratio_of_quartiles,
    ratio_of_shifts,
)

costs = st.lists(st.floats(0, 1e12), min_size=1, max_size=20)


def test_the_ratio_is_that_of_the_lower_quartiles() -> None:
    ratio = ratio_of_quartiles([12.0, 10.0, 11.0], [4.0, 5.0])
    assert ratio.value == 10.5 / 4.25
    assert ratio.rounds == (3, 2)
    assert ratio.approximate
    assert ratio.reason is None


@pytest.mark.parametrize(
    ("rounds", "level"),
    [((3, 3), 0.9), ((4, 4), 34 / 35), ((5, 5), 125 / 126), ((3, 11), 181 / 182)],
)
def test_few_rounds_have_the_range_of_all_ratios_and_its_level(
    rounds: tuple[int, int], level: float
) -> None:
    # By hand: one order of C(6, 3) = 20, C(8, 4) = 70, C(10, 5) = 252, C(14, 3) = 364 has all
    # of one side below the other; twice that is missing.
    now, before = [10.0 + i for i in range(rounds[0])], [20.0 + i for i in range(rounds[1])]
    ratio = ratio_of_quartiles(now, before)
    assert (ratio.low, ratio.high) == (10.0 / max(before), max(now) / 20.0)
    assert ratio.level == pytest.approx(level, rel=1e-12)
    assert ratio.approximate == (level < CONFIDENCE)
    assert ratio.leaves_out_one is (None if level < CONFIDENCE else True)


def test_five_rounds_a_side_are_the_fewest_that_decide() -> None:
    def decides(rounds: int) -> bool:
        return not ratio_of_quartiles([2.0] * rounds, [1.0] * rounds).approximate

    assert decides(ROUNDS_A_SIDE)
    assert not decides(ROUNDS_A_SIDE - 1)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.integers(80, 120), min_size=5, max_size=12),
    st.lists(st.integers(80, 120), min_size=5, max_size=12),
    st.sampled_from([0.95, 0.99]),
)
def test_the_interval_leaves_out_one_only_where_scipys_exact_test_does(
    now: list[float], before: list[float], confidence: float
) -> None:
    found = ratio_of_quartiles(now, before, confidence=confidence)
    # A tie counts against a difference here; scipy's exact test has none to give, so they are
    # moved towards each other by less than a step.
    greater = oracle.mannwhitneyu(
        [value - 0.25 for value in now], before, alternative="greater", method="exact"
    )
    less = oracle.mannwhitneyu(
        [value + 0.25 for value in now], before, alternative="less", method="exact"
    )
    told = 2.0 * min(greater.pvalue, less.pvalue) <= 1.0 - confidence + 1e-12
    if found.leaves_out_one:
        assert told
    # It is widened only to hold the ratio itself, which then lies on the other side or on 1.
    elif told:
        side = (found.value or 0.0) >= 1.0
        assert side == (less.pvalue < greater.pvalue) or found.value == 1.0


@pytest.mark.parametrize("sizes", [(5, 5), (8, 10), (20, 20), (40, 30)])
def test_the_ends_are_those_of_the_inverted_test(sizes: tuple[int, int]) -> None:
    source = np.random.default_rng(sum(sizes))
    now, before = (source.lognormal(0.0, 0.1, size).tolist() for size in sizes)
    found = ratio_of_quartiles(now, before)
    assert found.low is not None
    assert found.high is not None
    assert found.level is not None
    assert found.level >= CONFIDENCE
    for factor, alternative in ((found.low, "greater"), (found.high, "less")):
        for moved, rejected in ((1.0001, False), (0.9999, True)):
            step = moved if alternative == "greater" else 1.0 / moved
            p = oracle.mannwhitneyu(
                [value / (factor * step) for value in now],
                before,
                alternative=alternative,
                method="exact",
            ).pvalue
            # The normal distribution, beyond 900 pairs, may be off by a few of them.
            slack = 1.0 if math.prod(sizes) <= 900 else (0.93 if rejected else 1.07)
            assert (p * slack <= 0.005) == rejected


def test_many_rounds_give_the_ends_that_few_are_computed_for() -> None:
    # 31 x 31 ratios are beyond the size up to which they are sorted one by one.
    source = np.random.default_rng(3)
    now, before = source.integers(0, 5, (2, 31)).astype(float).tolist()
    found = ratio_of_quartiles(now, before)
    every = sorted(
        1.0 if a == b else (a / b if b else math.inf) for a, b in itertools.product(now, before)
    )
    deviation = math.sqrt(31 * 31 * 63 / 12)
    place = math.floor(31 * 31 / 2 - oracle.norm.ppf(0.995) * deviation - 0.5)
    assert found.value is not None
    assert found.low == min(found.value, every[place])
    expected = max(found.value, every[-1 - place])
    assert found.high == (expected if math.isfinite(expected) else None)


def test_identical_programs_are_told_apart_no_more_often_than_stated() -> None:
    # One-sided noise on both sides, 5 rounds each: an interval that leaves out 1 is wrong.
    # The level is 125 / 126, so 2,000 trials have 16 of them on average; 35 is beyond 5 sigma.
    source = np.random.default_rng(8)
    wrong = 0
    for _ in range(2000):
        now, before = (100.0 * (1.0 + 0.02 * source.exponential(1.0, (2, 5)))).tolist()
        wrong += bool(ratio_of_quartiles(now, before).leaves_out_one)
    assert 3 <= wrong <= 35


def test_a_slowdown_is_seen_by_its_interval() -> None:
    source = np.random.default_rng(9)
    before = (100.0 * (1.0 + 0.01 * source.exponential(1.0, 15))).tolist()
    slower = (105.0 * (1.0 + 0.01 * source.exponential(1.0, 15))).tolist()
    assert ratio_of_quartiles(slower, before).leaves_out_one is True
    assert ratio_of_quartiles(before, slower).leaves_out_one is True
    assert ratio_of_quartiles(before, before).leaves_out_one is False


@settings(deadline=None)
@given(costs, costs)
def test_a_ratio_is_never_nan_and_lies_in_its_interval(
    now: list[float], before: list[float]
) -> None:
    ratio = ratio_of_quartiles(now, before)
    for number in (ratio.value, ratio.low, ratio.high):
        assert number is None or (math.isfinite(number) and number >= 0)
    if ratio.value is None:
        assert ratio.reason == "the reference is zero"
        assert (ratio.low, ratio.high) == (None, None)
    elif min(len(now), len(before)) == 1:
        assert (ratio.low, ratio.high, ratio.level) == (None, None, None)
        assert ratio.leaves_out_one is None
    else:
        assert ratio.low is not None
        assert ratio.low <= ratio.value <= (math.inf if ratio.high is None else ratio.high)


@pytest.mark.parametrize("function", ["quartiles", "counts"])
def test_zeros_and_equal_samples(function: str) -> None:
    ratio_of = ratio_of_counts if function == "counts" else ratio_of_quartiles
    zero, five = [0.0] * 5, [5.0] * 7
    same = ratio_of(five, five[:5])
    assert (same.value, same.low, same.high, same.leaves_out_one) == (1.0, 1.0, 1.0, False)
    both = ratio_of(zero, zero)
    assert (both.value, both.low, both.high) == (1.0, 1.0, 1.0)
    baseline = ratio_of(five, zero)
    assert (baseline.value, baseline.low, baseline.high) == (None, None, None)
    assert baseline.reason == "the reference is zero"
    now = ratio_of(zero, five)
    assert (now.value, now.low, now.high) == (0.0, 0.0, 0.0)


def test_a_reference_that_touches_zero_has_no_upper_end() -> None:
    ratio = ratio_of_quartiles([5.0, 6.0, 7.0], [0.0, 10.0, 10.0])
    assert ratio.value == 5.5 / 5.0
    assert ratio.high is None
    assert ratio.low == pytest.approx(0.5)
    assert ratio_of_quartiles([1e300], [1e-300]).value is None


def test_one_round_has_a_ratio_without_an_interval() -> None:
    for now, before in (([6.0], [3.0]), ([6.0], [3.0, 3.0]), ([6.0, 6.0], [3.0])):
        ratio = ratio_of_quartiles(now, before)
        assert (ratio.value, ratio.low, ratio.high) == (2.0, None, None)
        assert ratio.approximate


def test_the_interval_of_a_median_change_is_between_two_rounds() -> None:
    # Orders of 10 fair coins by hand: 1 + 10 of 1,024 have one head or none, 56 two or fewer,
    # so the second round from either end is the last that 2.5 % allow.
    shifts = [0.01 * place for place in (9, 0, 5, 2, 7, 1, 8, 3, 6, 4)]
    found = ratio_of_shifts(shifts)
    assert (found.low, found.high) == (math.exp(0.01), math.exp(0.08))
    assert found.level == 1.0 - 2 * 11 / 1024
    assert found.value == pytest.approx(math.exp(0.045))
    few = ratio_of_shifts([0.1, 0.2, 0.3])
    assert (few.low, few.high, few.level) == (math.exp(0.1), math.exp(0.3), 0.75)
    assert few.approximate
    assert ratio_of_shifts([0.2]).low is None
    for bad in ([], [math.nan]):
        with pytest.raises(ValueError, match=r"no round|not a finite"):
            ratio_of_shifts(bad)


@pytest.mark.parametrize("rounds", [6, 15, 30, 1100])
def test_a_median_holds_its_level_by_the_binomial_distribution(rounds: int) -> None:
    found = ratio_of_shifts([float(place) / rounds for place in range(rounds)])
    assert found.low is not None
    place = round(math.log(found.low) * rounds)
    assert found.level == pytest.approx(1 - 2 * oracle.binom.cdf(place, rounds, 0.5), rel=1e-9)
    assert found.level >= 0.95
    assert 1 - 2 * oracle.binom.cdf(place + 1, rounds, 0.5) < 0.95


def test_counts_have_the_range_that_the_rounds_allow() -> None:
    ratio = ratio_of_counts([6.0, 8.0, 9.0], [2.0, 4.0])
    assert (ratio.value, ratio.low, ratio.high) == (8.0 / 2.0, 6.0 / 4.0, 9.0 / 2.0)
    assert not ratio.approximate
    assert ratio_of_counts([6.0], [3.0]) == Ratio(2.0, 2.0, 2.0, (1, 1), 1.0)
    touching = ratio_of_counts([6.0], [0.0, 3.0, 3.0])
    assert (touching.value, touching.low, touching.high) == (2.0, 2.0, None)


@pytest.mark.parametrize("bad", [[], [math.nan], [math.inf], [-1.0, 2.0]])
def test_what_is_no_cost_is_refused_on_either_side(bad: list[float]) -> None:
    for now, before in itertools.permutations((bad, [1.0])):
        for function in (ratio_of_quartiles, ratio_of_counts):
            with pytest.raises(ValueError, match=r"no rounds|is not a cost"):
                function(now, before)
