"""The exact signed rank test against scipy, and by hand where there are ties."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from scipy.stats import wilcoxon

from blockmark.verdict.signed_rank import least_p, p_positive


@pytest.mark.parametrize("seed", range(30))
def test_it_is_scipys_exact_test(seed: int) -> None:
    rng = random.Random(seed)
    changes = [rng.gauss(seed / 30, 1) for _ in range(rng.randint(1, 30))]
    expected = wilcoxon(changes, alternative="greater", method="exact").pvalue
    assert p_positive(changes) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_with_ties_it_counts_all_choices_of_signs(seed: int) -> None:
    rng = random.Random(seed)
    changes = [float(rng.randint(-3, 3)) for _ in range(rng.randint(1, 9))]
    sizes = sorted(map(abs, changes))
    ranks = [
        sum(place for place, size in enumerate(sizes, 1) if size == abs(change))
        / sizes.count(abs(change))
        for change in changes
    ]
    found = sum(rank for rank, change in zip(ranks, changes, strict=True) if change > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((False, True), repeat=len(changes))
    ]
    assert p_positive(changes) == sum(one >= found for one in sums) / len(sums)


def test_ties_and_zeros_by_hand() -> None:
    # Ranks 1, 2.5, 2.5: of eight choices of signs the sum is at least 5 in two.
    assert p_positive([-1.0, 2.0, 2.0]) == 2 / 8
    assert p_positive([0.0, 0.0, 0.0]) == 1.0
    # Zeros hold the low ranks and count as negative: 4 of 1, 2, 3, 4 alone or with others.
    assert p_positive([0.0, -0.0, 1.0, 2.0]) == 5 / 16


def test_the_least_p_is_that_of_changes_of_one_sign() -> None:
    for rounds in (1, 6, 15, 30):
        assert p_positive([1.0 + n for n in range(rounds)]) == least_p(rounds) == 2.0**-rounds


@pytest.mark.parametrize("changes", [[], [1.0, math.nan], [math.inf]])
def test_what_is_no_change_is_refused(changes: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no round|not finite"):
        p_positive(changes)


@pytest.mark.parametrize("seed", range(6))
def test_hundreds_of_changes_are_told_by_the_normal_curve(seed: int) -> None:
    rng = random.Random(seed)
    changes = [rng.gauss(0.05 * seed, 1) for _ in range(400)]
    expected = wilcoxon(changes, alternative="greater", method="asymptotic", correction=True)
    assert p_positive(changes) == pytest.approx(expected.pvalue, rel=1e-9)


def test_a_thousand_changes_are_no_matter_of_seconds() -> None:
    assert 0 <= p_positive([1.0 + n for n in range(1000)]) < 1e-100
