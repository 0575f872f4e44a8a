"""The rule of the gate: edge cases by hand, family error by simulation."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from scipy.stats import binom, mannwhitneyu

from blockmark.verdict.gate import GateCell, Rule, judge, ruled_out, smallest_visible
from blockmark.verdict.leap import p_leap
from blockmark.verdict.rank_test import p_greater


def cell(before: list[float], after: list[float], margin: float = 0.03) -> GateCell:
    return GateCell("a cell", margin, before, after)


def judged(one: GateCell, *, last: bool = False, rule: Rule | None = None) -> GateCell:
    judge([one], rule or Rule(), last=last)
    return one


def noisy(rng: random.Random, n: int, level: float = 100.0) -> list[float]:
    """Rounds like recorded ones: 1 % of noise, and one process in ten is badly disturbed."""
    return [
        level * (1 + abs(rng.gauss(0, 0.01)) + (rng.expovariate(2) if rng.random() < 0.1 else 0))
        for _ in range(n)
    ]


# --- constants, zeros, what is no cost -----------------------------------------------


def test_identical_constants_are_unchanged_at_the_first_look() -> None:
    one = judged(cell([100.0] * 6, [100.0] * 6))
    # The ranks can't tell the sides apart at all: every pair is a tie.
    assert (one.verdict, one.p, one.ratio, one.rounds) == ("unchanged", 1.0, 1.0, 6)


def test_ten_constants_that_are_ten_per_cent_slower_are_a_regression() -> None:
    one = judged(cell([100.0] * 10, [110.0] * 10))
    assert one.verdict == "regressed"
    # One order of 20 choose 10.
    assert one.p == pytest.approx(1 / 184_756) == pytest.approx(5.4e-6, rel=0.01)
    assert one.ratio == pytest.approx(1.1)


def test_ten_constants_that_are_ten_per_cent_faster_are_an_improvement() -> None:
    assert judged(cell([110.0] * 10, [100.0] * 10)).verdict == "improved"


def test_two_per_cent_is_below_the_margin_however_sure_it_is() -> None:
    one = judged(cell([100.0] * 30, [102.0] * 30))
    assert p_greater(one.after, one.before) < 1e-15
    assert one.verdict == "unchanged"


def test_exactly_the_margin_is_no_regression_and_not_unchanged_either() -> None:
    one = judged(cell([100.0] * 30, [103.0] * 30), last=True)
    assert one.verdict == "inconclusive"


def test_both_zero_is_unchanged() -> None:
    one = judged(cell([0.0] * 6, [0.0] * 6))
    assert (one.verdict, one.reason, one.ratio) == ("unchanged", "every round is zero", None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([0.0] * 6, [5.0] * 6),
        ([5.0] * 6, [0.0] * 6),
        # Most rounds below the clock's resolution, the rest not: no ratio either.
        ([0.0] * 6, [0.0] * 3 + [5.0] * 3),
    ],
)
def test_a_zero_on_one_side_has_no_ratio(before: list[float], after: list[float]) -> None:
    one = judged(cell(before, after))
    assert one.verdict == "incomparable"
    assert "below resolution" in one.reason


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -1.0])
def test_what_is_no_cost_is_an_error_and_never_unchanged(bad: float) -> None:
    for before, after in (([1.0] * 5 + [bad], [1.0] * 6), ([1.0] * 6, [bad] + [1.0] * 5)):
        with pytest.raises(ValueError, match=r"a cell: .* is not a cost"):
            judge([cell(before, after)], Rule(), last=True)


@pytest.mark.parametrize("margin", [-0.01, math.nan])
def test_a_margin_below_zero_is_an_error(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        judge([cell([1.0], [1.0], margin)], Rule(), last=True)


def test_a_side_without_rounds_is_incomparable() -> None:
    for before, after in (([], [1.0] * 6), ([1.0] * 6, []), ([], [])):
        one = judged(cell(before, after), last=True)
        assert (one.verdict, one.reason) == ("inconclusive", "nothing was measured")
        assert smallest_visible(one, Rule(), 1) is None


def test_no_cell_at_all_is_nothing_to_judge() -> None:
    judge([], Rule(), last=True)


# --- ties, unequal rounds, too few rounds --------------------------------------------


def test_ties_count_against_both_verdicts() -> None:
    # A clock of 10 ns: all but one round of a side read the same.
    one = judged(cell([100.0] * 10, [100.0] * 9 + [110.0]))
    assert one.verdict == "unchanged"
    # Ten pairs won; with ties split in halves, as scipy does, it would be 55.
    assert one.p == p_greater(one.after, one.before)
    assert one.p > mannwhitneyu(one.after, one.before, alternative="greater").pvalue


def test_unequal_rounds_are_judged_exactly() -> None:
    before, after = [100.0 + i for i in range(12)], [130.0 + i for i in range(8)]
    one = judged(cell(before, after), last=True, rule=Rule(looks=(8,)))
    expected = mannwhitneyu(after, before, alternative="greater", method="exact").pvalue
    assert one.verdict == "regressed"
    assert one.p == pytest.approx(expected)
    assert one.rounds == 8


def test_four_rounds_decide_nothing_and_say_how_many_would() -> None:
    one = cell([100.0] * 4, [150.0] * 4)
    judge([one], Rule(), last=False)
    assert one.verdict is None
    judge([one], Rule(), last=True)
    assert one.verdict == "inconclusive"
    assert one.p == 1 / 70
    assert one.reason == "4 rounds a side can't decide one of 1 cells; at least 10 can"
    assert smallest_visible(one, Rule(), 1) is None


def test_the_first_look_can_only_say_unchanged() -> None:
    # A single cell: 1 in 924 would pass, but the look has no share of the error.
    one = judged(cell([100.0] * 6, [150.0] * 6))
    assert one.verdict is None


def test_an_improvement_is_not_called_unchanged_before_it_can_be_called_improved() -> None:
    one = cell([100.0 + i / 10 for i in range(6)], [80.0 + i / 10 for i in range(6)])
    judge([one], Rule(), last=False)
    assert one.verdict is None
    one.before += [100.0 + i / 10 for i in range(4)]
    one.after += [80.0 + i / 10 for i in range(4)]
    judge([one], Rule(), last=False)
    assert one.verdict == "improved"


def test_least_rounds() -> None:
    # The smallest n with 1 / C(2n, n) <= 0.01 / 4 / cells.
    assert [Rule(leaps=()).least_rounds(cells) for cells in (1, 12, 56, 500)] == [6, 8, 9, 11]
    # One look alone has all of the error: 1 / 12,870 <= 0.01 / 56.
    assert Rule(looks=(8,)).least_rounds(56) == 8
    with pytest.raises(ValueError, match="no cell"):
        Rule().least_rounds(0)


def test_the_rule_cut_at_a_number_of_rounds() -> None:
    assert Rule().until(12).looks == (6, 10, 12)
    assert Rule().until(40).looks == (6, 10, 15, 20, 30, 40)
    assert Rule().until(40).first_deciding == 15
    assert Rule().until(30) == Rule()
    # Never more looks decide than share alpha.
    assert Rule(leaps=()).until(9).alpha_of_look == 0.005


@pytest.mark.parametrize(
    "bad", [{"looks": ()}, {"looks": (10, 10)}, {"alpha": 0.0}, {"beta": 1.0}, {"deciding": 0}]
)
def test_a_rule_that_is_none(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"alpha|look"):
        Rule(**bad)  # type: ignore[arg-type]


# --- many cells ----------------------------------------------------------------------


def holm_by_hand(p_values: list[float], level: float) -> list[bool]:
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    rejected = [False] * len(p_values)
    for rank, index in enumerate(order):
        if p_values[index] > level / (len(p_values) - rank):
            break
        rejected[index] = True
    return rejected


def test_cells_are_held_against_holms_thresholds() -> None:
    rng = random.Random(5)
    rule = Rule(alpha=0.05, looks=(10,), leaps=())
    seen = set()
    for _ in range(60):
        cells = [
            cell(
                [rng.gauss(100, 3) for _ in range(10)],
                [rng.gauss(99 + 2 * slower, 3) for _ in range(10)],
                margin=0.0,
            )
            for slower in range(5)
        ]
        p_values = [p_greater(one.after, one.before) for one in cells]
        judge(cells, rule, last=True)
        told = [one.verdict == "regressed" for one in cells]
        assert told == holm_by_hand(p_values, 0.05)
        seen.add(sum(told))
    assert len(seen) >= 4


def test_what_was_told_earlier_makes_room_for_the_rest() -> None:
    # The likely one wins 24 of 25 pairs: p = 2/252, held against alpha / 2 or alpha / 1.
    sure = GateCell("sure", 0.0, [1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0])
    likely = GateCell("likely", 0.0, [1.0, 2.0, 3.0, 4.0, 6.5], [6.0, 7.0, 8.0, 9.0, 10.0])
    assert p_greater(likely.after, likely.before) == 2 / 252
    rule = Rule(alpha=3 / 252, looks=(5,))
    other = GateCell("other", 0.0, [1.0] * 5, [1.0] * 5)
    judge([likely, other], rule, last=False)
    assert likely.verdict is None
    judge([sure, other], rule, last=False)
    assert sure.verdict == "regressed"
    judge([likely, sure], rule, last=False)
    assert likely.verdict == "regressed"


def test_decided_and_unmeasured_cells_count_as_planned() -> None:
    before, after = [float(i) for i in range(1, 7)], [float(i) for i in range(11, 17)]
    rule = Rule(looks=(6,), leaps=())  # 1/924 passes 0.01 / 9, not 0.01 / 10
    for others, expected in ((8, "regressed"), (9, "inconclusive")):
        done = GateCell("done", 0.03, [1.0] * 6, [1.0] * 6, verdict="unchanged")
        missing = [cell([], []) for _ in range(others - 1)]
        one = cell(list(before), list(after))
        judge([done, one, *missing], rule, last=True)
        assert one.verdict == expected
        assert done.verdict == "unchanged"


def test_a_decided_cell_is_left_alone() -> None:
    one = GateCell("told", 0.03, [100.0] * 30, [100.0] * 30, verdict="regressed", p=1e-6, rounds=10)
    judge([one], Rule(), last=True)
    assert (one.verdict, one.p, one.rounds) == ("regressed", 1e-6, 10)


def suites(
    count: int, cells: int, rule: Rule, *, slower: int = 0, seed: int = 1
) -> tuple[int, int, int]:
    """(suites with a false regression, with a false improvement, true slowdowns found).

    Heavy-tailed rounds of equal programs, four cells to a process so that a disturbed one
    disturbs them all; the first `slower` cells are truly slower. Without a margin, so that
    only the ranks hold the error.
    """
    rng = random.Random(seed)
    worse = better = found = 0
    draws = [rng.lognormvariate(0, 0.05) ** 3 for _ in range(20_000)]
    for _ in range(count):
        planned = [GateCell(str(number), 0.0) for number in range(cells)]
        for look in rule.looks:
            for first in range(0, cells, 4):
                group = planned[first : first + 4]
                while len(group[0].before) < look:
                    shared = rng.choices(draws, k=2)
                    for number, one in enumerate(group, start=first):
                        own = rng.choices(draws, k=2)
                        slow = 1.3 if number < slower else 1.0
                        one.before.append(shared[0] * own[0])
                        one.after.append(shared[1] * own[1] * slow)
            judge(planned, rule, last=look == rule.looks[-1])
        equal = planned[slower:]
        worse += any(one.verdict == "regressed" for one in equal)
        better += any(one.verdict == "improved" for one in equal)
        found += sum(one.verdict == "regressed" for one in planned[:slower])
    return worse, better, found


def most_by_chance(count: int, chance: float) -> int:
    """So many of `count` are passed by luck once in ten thousand times."""
    return int(binom.isf(1e-4, count, chance))


def test_a_suite_of_equal_programs_is_rarely_called_anything() -> None:
    # An alpha of which 2,000 suites can tell whether it is held; few rounds, to be quick.
    rule = Rule(alpha=0.05, looks=(6, 8, 10, 12), deciding=3)
    worse, better, _ = suites(2_000, 24, rule)
    most = most_by_chance(2_000, 0.05)
    assert most < 150
    assert worse <= most
    assert better <= most
    # And the level is used, not missed by far: the test could tell a rule that is too bold.
    assert worse + better >= 20


def test_true_slowdowns_make_no_false_ones() -> None:
    # With half of the cells slower Holm's thresholds rise, which must not cost the others.
    rule = Rule(alpha=0.05, looks=(10, 15), deciding=2)
    worse, _, found = suites(500, 8, rule, slower=4, seed=2)
    assert worse <= most_by_chance(500, 0.05)
    assert found > 500


# --- leaps ---------------------------------------------------------------------------


def leaping(shifts: list[float], margin: float = 0.03) -> GateCell:
    after = [100.0 * math.exp(shift) for shift in shifts]
    return GateCell("a cell", margin, [100.0] * len(shifts), after, shifts=shifts)


@pytest.mark.parametrize("rounds", [4, 6])
@pytest.mark.parametrize("hits", range(7))
def test_a_leap_is_a_binomial_tail(rounds: int, hits: int) -> None:
    hits = min(hits, rounds)
    # A factor of 2.1 is a hit, one of 1.9 is none, whatever they are in the other direction.
    shifts = [math.log(2.1)] * hits + [math.log(1.9)] * (rounds - hits)
    told = binom.sf(hits - 1, rounds, 1 / 16) if 2 * hits > rounds else 1.0
    assert p_leap(shifts, 0.03, "regressed") == pytest.approx(told)
    assert p_leap([-one for one in shifts], 0.03, "improved") == pytest.approx(told)
    assert p_leap(shifts, 0.03, "improved") == 1.0


def test_a_doubling_is_found_after_four_rounds_of_twelve_cells() -> None:
    # 16^-4 = 1.5e-5 passes 0.0005 / 12; three of four, 9.2e-4 as 4 * 15 / 16^4, does not.
    one = leaping([math.log(2.1)] * 4)
    three = leaping([*[math.log(2.1)] * 3, 0.0])
    others = [leaping([0.0] * 4) for _ in range(10)]
    judge([one, three, *others], Rule(), last=False)
    assert (one.verdict, one.p) == ("regressed", pytest.approx(16.0**-4))
    assert one.reason == "found early, after 4 rounds"
    assert {cell.verdict for cell in [three, *others]} == {None}
    better = leaping([-math.log(2.1)] * 4)
    judge([better, *others], Rule(), last=False)
    assert better.verdict == "improved"


def test_a_leap_of_a_cell_with_a_wide_margin_is_three_margins() -> None:
    # 1.5^3 = 3.375.
    near, far = leaping([math.log(3.3)] * 4, 0.5), leaping([math.log(3.4)] * 4, 0.5)
    judge([near, far], Rule(), last=False)
    assert (near.verdict, far.verdict) == (None, "regressed")


def test_leaps_of_equal_programs_that_leap_as_often_as_is_assumed_are_rarely_told() -> None:
    # One round in 16 in each direction, the most that the assumption allows.
    rng = random.Random(9)
    told = 0
    for _ in range(4_000):
        shifts = [rng.choices([0.8, -0.8, 0.0], [1, 1, 14])[0] for _ in range(6)]
        cell_ = leaping(shifts[:4])
        judge([cell_], Rule(alpha=0.5), last=False)
        if cell_.verdict is None:
            cell_ = leaping(shifts)
            judge([cell_], Rule(alpha=0.5, looks=(7, 10, 15, 20)), last=False)
        told += cell_.verdict == "regressed"
    assert 0 < told <= most_by_chance(4_000, 0.05)


def test_measuring_goes_on_until_the_tests_can_decide() -> None:
    assert Rule().first_look_for(1) == Rule().first_look_for(12) == 10
    # 2 / C(20, 10) = 1.1e-5 is above 0.00225 / 500, and 10 rounds are too few.
    assert Rule().first_look_for(500) == 15
    assert Rule().until(5).first_look_for(1) == 5
    assert Rule().until(2).first_look_for(1) == 2


# --- what is ruled out ---------------------------------------------------------------


def test_what_is_ruled_out_is_what_ranks_rule_out() -> None:
    rng = random.Random(3)
    one = cell(noisy(rng, 12), [1.06 * value for value in noisy(rng, 12)])
    bound = ruled_out(one, Rule())
    assert bound is not None
    assert bound > 0.06
    for factor, told in ((1 + bound, True), ((1 + bound) / 1.01, False)):
        scaled = [value / factor for value in one.after]
        p = mannwhitneyu(scaled, one.before, alternative="less", method="exact").pvalue
        assert (p <= 0.05) == told


def test_few_rounds_rule_nothing_out() -> None:
    # 1 / C(4, 2) is more than 5 %.
    assert ruled_out(cell([100.0] * 2, [100.0] * 2), Rule()) is None
    assert ruled_out(cell([], []), Rule()) is None


def test_a_test_rules_nothing_out_that_the_other_one_finds() -> None:
    # By their values equal; in turns every round was twice as slow.
    shifts = [math.log(2.0) + i / 100 for i in range(8)]
    one = GateCell("a cell", 0.03, [100.0] * 8, [100.0] * 8, shifts=shifts)
    bound = ruled_out(one, Rule())
    assert bound is not None
    assert 1.0 < bound < 1.2


# --- what could have been seen -------------------------------------------------------


def test_constants_would_show_just_more_than_the_margin() -> None:
    one = cell([100.0] * 10, [100.0] * 10)
    assert smallest_visible(one, Rule(), 12) == pytest.approx(0.03)


def test_what_was_visible_would_have_been_called_regressed() -> None:
    rng = random.Random(3)
    one = cell(noisy(rng, 10), noisy(rng, 10))
    visible = smallest_visible(one, Rule(), 12)
    assert visible is not None
    assert 0.03 < visible < 1.0
    ratio = statistics.quantiles(one.after, method="inclusive")[0]
    ratio /= statistics.quantiles(one.before, method="inclusive")[0]
    for factor, told in ((1 + visible, True), ((1 + visible) / 1.01, False)):
        slowed = [value / ratio * factor for value in one.after]
        others = [cell([1.0] * 10, [1.0] * 10) for _ in range(11)]
        again = cell(one.before, slowed)
        judge([again, *others], Rule(), last=True)
        assert (again.verdict == "regressed") == told


def test_a_cell_with_two_modes_is_called_unstable() -> None:
    # Which mode a process meets is chance: half of the rounds are 15 % slower.
    one = cell([100.0, 115.0] * 8, [100.0, 115.0, 115.0, 100.0] * 4)
    assert one.unstable
    wide = judged(cell([100.0, 150.0] * 8, [120.0, 150.0] * 8), last=True)
    assert wide.verdict == "inconclusive"
    assert wide.reason.startswith("unstable")
    assert not cell([100.0, 115.0] * 7, [100.0, 115.0] * 7).unstable  # 14 rounds: too few to say
    assert not cell([100.0, 105.0] * 8, [100.0, 105.0] * 8).unstable


def test_a_cell_too_noisy_to_decide_is_inconclusive_and_says_what_it_saw() -> None:
    rng = random.Random(8)
    before = [100 * rng.lognormvariate(0, 0.4) for _ in range(30)]
    after = [104 * rng.lognormvariate(0, 0.4) for _ in range(30)]
    one = judged(cell(before, after), last=True)
    assert one.verdict == "inconclusive"
    assert (smallest_visible(one, Rule(), 12) or 0) > 0.1
