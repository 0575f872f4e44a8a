"""The exact rank test against scipy and against counting by hand."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from blockmark.verdict.rank_test import (
    _orders_with_at_least,
    least_p,
    normal_tail,
    p_greater,
)

_DISTINCT = st.lists(st.integers(0, 10**6), min_size=2, max_size=24, unique=True)


@given(_DISTINCT, st.data())
def test_it_is_scipys_exact_test(values: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    sample, reference = values[:cut], values[cut:]
    expected = mannwhitneyu(sample, reference, alternative="greater", method="exact").pvalue
    assert p_greater(sample, reference) == pytest.approx(expected, rel=1e-9)


def test_all_orders_counted_by_hand() -> None:
    # Three against two: of the ten orders, those in which at least as many pairs are won.
    pooled = [1.0, 2.0, 3.0, 4.0, 5.0]
    sample, reference = [2.0, 4.0, 5.0], [1.0, 3.0]
    wins = sum(a > b for a in sample for b in reference)
    extreme = 0
    for chosen in itertools.combinations(pooled, 3):
        others = [value for value in pooled if value not in chosen]
        extreme += sum(a > b for a in chosen for b in others) >= wins
    assert p_greater(sample, reference) == extreme / 10


def test_ties_count_against_the_claim() -> None:
    assert p_greater([1.0] * 9, [1.0] * 9) == 1.0
    assert p_greater([2.0, 2.0, 3.0], [2.0, 1.0, 1.0]) > p_greater([2.1, 2.2, 3.0], [2.0, 1.0, 1.1])


def test_the_smallest_p_is_that_of_a_clean_cut() -> None:
    # One order in 20 choose 10.
    assert p_greater(range(10, 20), range(10)) == pytest.approx(1 / 184_756)
    assert least_p(10, 10) == pytest.approx(1 / 184_756)
    assert least_p(4, 4) == 1 / 70


def test_thirty_rounds_a_side_are_exact() -> None:
    total = math.comb(60, 30)
    assert p_greater(range(30, 60), range(30)) == 1 / total


@pytest.mark.parametrize("bad", [[], [float("nan")], [float("inf"), 1.0]])
def test_a_side_without_numbers_is_an_error(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="round"):
        p_greater(bad, [1.0])
    with pytest.raises(ValueError, match="round"):
        p_greater([1.0], bad)


@pytest.mark.parametrize("seed", range(8))
def test_hundreds_of_rounds_are_told_by_the_normal_curve(seed: int) -> None:
    rng = random.Random(seed)
    sample = [rng.gauss(0.1 * seed, 1) for _ in range(300)]
    reference = [rng.gauss(0, 1) for _ in range(200)]
    expected = mannwhitneyu(sample, reference, alternative="greater", method="asymptotic").pvalue
    assert p_greater(sample, reference) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("z", [2.5, 4.0, 5.5])
def test_the_normal_curve_calls_nothing_that_exact_counts_do_not(z: float) -> None:
    # 60 a side, where scipy still counts: no p of the approximation is below the exact one.
    size = 60
    deviation = math.sqrt(size * size * (2 * size + 1) / 12)
    wins = round(size * size / 2 + z * deviation)
    exact = _orders_with_at_least(size, size)
    approximate = normal_tail((wins - 0.5 - size * size / 2) / deviation)
    assert exact[wins] / exact[0] <= approximate <= 5 * exact[wins] / exact[0]


def test_a_thousand_rounds_are_no_matter_of_seconds() -> None:
    # A clean cut: no counting of 10^600 orders, and no overflow.
    assert 0 <= p_greater(range(1000, 2000), range(1000)) < 1e-200
    assert least_p(1000, 1000) == 0.0
