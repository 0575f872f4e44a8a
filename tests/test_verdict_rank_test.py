"""The exact rank test against scipy and against counting by hand."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from blockmark.verdict.rank_test import least_p, p_greater

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
