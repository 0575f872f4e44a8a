"""The rule where rounds were played in turns: two tests, each with half of the error."""

from __future__ import annotations

import math
import random

import pytest
from scipy.stats import binom, mannwhitneyu, wilcoxon

from blockmark.verdict.gate import GateCell, Rule, judge, smallest_visible
from blockmark.verdict.judged import cell_verdict
from blockmark.verdict.margins import Margin
from blockmark.verdict.stats import ratio_of_shifts

WIDE = [100.0 + 7 * n for n in range(15)]


def spread_out(shift: float, rounds: int) -> list[float]:
    """Shifts around one, a tenth of a per cent apart."""
    return [shift + 0.001 * (n - (rounds - 1) / 2) for n in range(rounds)]


def cell(shifts: list[float], before: list[float], after: list[float]) -> GateCell:
    return GateCell("a cell", 0.03, before, after, shifts=shifts)


def judged(one: GateCell, *, last: bool = False) -> GateCell:
    judge([one], Rule(), last=last)
    return one


def test_turns_find_what_drowns_in_the_values() -> None:
    one = judged(cell(spread_out(math.log(1.05), 15), WIDE, [105.0 + 7 * n for n in range(15)]))
    assert mannwhitneyu(one.after, one.before, alternative="greater").pvalue > 0.1
    assert (one.verdict, one.decided_by) == ("regressed", "turns")
    assert one.p == 2 * 2.0**-15
    assert one.ratio == pytest.approx(1.05)


def test_rounds_find_what_few_turns_cannot() -> None:
    # Ten rounds in turns can't give less than 2 / 1024; for one cell that is enough to tell
    # 0.0025 but not for two, where all of one side above the other is.
    one = cell(spread_out(0.1, 10), [100.0] * 10, [110.0] * 10)
    judge([one, cell([], [1.0] * 10, [1.0] * 10)], Rule(), last=False)
    assert (one.verdict, one.decided_by) == ("regressed", "rounds")
    assert one.p == pytest.approx(2 / 184_756)
    assert one.ratio == pytest.approx(1.1)


def test_an_improvement_is_the_mirror_image() -> None:
    slow = [105.0 + 7 * n for n in range(15)]
    one = judged(cell(spread_out(-math.log(1.05), 15), slow, WIDE))
    assert (one.verdict, one.decided_by, one.p) == ("improved", "turns", 2 * 2.0**-15)


def test_a_sure_shift_within_the_margin_is_no_change() -> None:
    one = judged(cell(spread_out(0.02, 15), [100.0] * 15, [102.0] * 15))
    assert (one.verdict, one.decided_by) == ("unchanged", "turns")
    assert one.ratio == pytest.approx(math.exp(0.02))


def test_each_test_needs_the_margin_itself() -> None:
    # The ranks are sure of 1 %, the shifts are beyond the margin but not sure.
    wild = [0.4, -0.39, 0.38, -0.37, 0.36, -0.35, 0.34, -0.33, 0.32, -0.31, 0.3, -0.29, 0.28]
    one = cell([*wild, 0.05, 0.05], [100.0] * 15, [101.0] * 15)
    assert one.ratio is not None
    assert one.ratio > 1.03
    assert judged(one).verdict == "unchanged"
    assert one.decided_by == "rounds"


def test_unchanged_is_not_said_over_the_other_test_beyond_the_margin() -> None:
    # Six rounds can't decide. The values are equal, and every turn was 10 % slower.
    one = judged(cell(spread_out(0.1, 6), [100.0] * 6, [100.0] * 6))
    assert one.verdict is None
    assert judged(cell(spread_out(-0.1, 6), [100.0] * 6, [100.0] * 6)).verdict is None
    assert judged(cell(spread_out(0.0, 6), [100.0] * 6, [100.0] * 6)).verdict == "unchanged"


def test_with_six_rounds_the_signed_ranks_say_unchanged() -> None:
    # 1 / 64 is within half of 5 %; the values are too wide to say anything.
    wide = [100.0, 150.0, 200.0, 250.0, 300.0, 350.0]
    one = judged(cell(spread_out(0.0, 6), wide, wide))
    assert (one.verdict, one.decided_by) == ("unchanged", "turns")


def test_an_inconclusive_cell_shows_the_turns_ratio_and_the_smaller_visible_change() -> None:
    rng = random.Random(3)
    before = [100 * rng.lognormvariate(0, 0.3) for _ in range(20)]
    after = [100 * rng.lognormvariate(0, 0.3) for _ in range(20)]
    shifts = [rng.gauss(0.03, 0.03) for _ in range(20)]
    one = judged(cell(shifts, before, after), last=True)
    assert (one.verdict, one.decided_by, one.shown_by) == ("inconclusive", "", "turns")
    assert one.ratio == pytest.approx(math.exp(sorted(shifts)[9] / 2 + sorted(shifts)[10] / 2))
    visible = smallest_visible(one, Rule(), 12)
    alone = smallest_visible(cell([], before, after), Rule(), 12)
    assert visible is not None
    assert alone is not None
    assert visible < alone / 2
    # What was visible would have been found by scipy's test with half of a look's share.
    for factor, told in ((1 + visible, True), ((1 + visible) / 1.01, False)):
        moved = [one_ - math.log(one.ratio or 1) + math.log(factor) for one_ in shifts]
        p = wilcoxon(moved, alternative="greater", method="exact").pvalue
        assert (p <= 0.0025 / 12 / 2) == told


def test_a_cell_with_two_modes_is_not_unstable_if_turns_agree() -> None:
    modes = [100.0, 150.0] * 8
    assert cell([], modes, modes).unstable
    assert not cell(spread_out(0.0, 16), modes, modes).unstable
    assert cell([-0.2, 0.2] * 8, modes, modes).unstable


def test_half_of_the_error_takes_no_more_rounds_by_default() -> None:
    rule = Rule(leaps=())
    for cells in (12, 56, 500):
        assert rule.least_rounds(cells) >= rule.least_rounds(cells, 1)
    # 2 / C(2n, n) <= 0.0025 / 56: C(16, 8) = 12870 is too few, C(18, 9) = 48620 is not.
    assert rule.least_rounds(56) == 9
    assert rule.least_rounds(1) > rule.least_rounds(1, 1) - 1


@pytest.mark.parametrize(
    ("shifts", "words"), [([0.0], "beside rounds"), ([0.0, math.nan], "not finite")]
)
def test_shifts_that_do_not_fit_are_refused(shifts: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        judged(cell(shifts, [1.0, 1.0], [1.0, 1.0]))


def test_the_verdict_carries_the_shifts_and_their_interval() -> None:
    shifts = spread_out(math.log(1.05), 15)
    one = judged(cell(shifts, WIDE, [105.0 + 7 * n for n in range(15)]))
    told = cell_verdict(
        one,
        ("decode", "", "vector/cpp"),
        "step_ns",
        Margin(0.03, "of costs"),
        rule=Rule(),
        planned=1,
    )
    assert told.shifts == tuple(shifts)
    assert told.decided_by == "turns"
    assert told.ratio == pytest.approx(1.05)
    assert told.low is not None
    assert told.high is not None
    # The median of 15 resampled values stays within the middle of them.
    assert math.exp(shifts[2]) < told.low < 1.05 < told.high < math.exp(shifts[-3])


def test_the_interval_of_a_median_covers_it_as_often_as_it_says() -> None:
    rng = random.Random(5)
    covered = 0
    for _ in range(400):
        ratio = ratio_of_shifts([rng.gauss(0.05, 0.02) for _ in range(20)])
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= math.exp(0.05) <= ratio.high
    assert 0.91 <= covered / 400 <= 0.985


def test_two_tests_make_no_more_false_verdicts_than_one_may() -> None:
    # The worst case for two tests is that they are independent; they are here. No margin.
    rule = Rule(alpha=0.05, looks=(6, 8, 10, 12), deciding=3)
    rng = random.Random(1)
    worse = better = 0
    for _ in range(1_500):
        cells = [GateCell(str(number), 0.0) for number in range(4)]
        for look in rule.looks:
            for one in cells:
                while len(one.before) < look:
                    one.before.append(rng.lognormvariate(0, 0.2))
                    one.after.append(rng.lognormvariate(0, 0.2))
                    one.shifts.append(rng.gauss(0, 0.1) ** 3)
            judge(cells, rule, last=look == rule.looks[-1])
        worse += any(one.verdict == "regressed" for one in cells)
        better += any(one.verdict == "improved" for one in cells)
    most = int(binom.isf(1e-4, 1_500, 0.05))
    assert worse <= most
    assert better <= most
    assert worse + better >= 10
