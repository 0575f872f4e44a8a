"""The rule by which a change is called a regression: pure functions of rounds.

Both sides are measured now and interleaved, two fresh processes a round that take turns. A
round has a side's least block, and the change between the sides' turns (`shift`). Cells are
judged at a few planned looks. Two things must hold for a verdict: a test tells the sides
apart (Holm 1979 over all planned cells, the error shared out over the looks that can
decide), and that test's own ratio passes the margin. There are two tests:

- of the rounds: exact Mann-Whitney on the sides' values, ratio of the lower quartiles;
- of the turns: exact Wilcoxon signed ranks of the shifts, the median shift as ratio.

Where both can be done each has half of the error: a cell's p is twice the smaller one
(Bonferroni). Neither is better everywhere. What disturbs the machine for longer than a turn
cancels in the shift, and drowns a change of the values; what a process keeps for all its
life (its memory, where its code came to lie) is in the shift twice.

A tenth of the error is kept for looks at fewer rounds, the leaps, which can find a doubling
and more (`leap.py`), so that the slowest candidate does not take longest.

What is promised: a suite has any cell called regressed that did not get slower with a
chance of `alpha` at most, and as much again for improved, however cells depend on each
other. It needs this of equal programs:

- For the turns nothing: who goes first is drawn, so the sides of a round are exchangeable,
  and to swap them turns the shift's sign. p falls below t with a chance of t at most.
- For the rounds that the sides of one round are at least as much alike as those of two.
  A drawn order makes the two values of a round exchangeable with each other and no more,
  and ranks compare across rounds. Where noise strikes both sides of a round (rank
  correlation above zero, as recorded), the test says too little rather than too much. Where
  it strikes one side of every round, and never both, the correlation is negative and the
  chance is higher than promised; docs/gate.md counts how much, on rounds made up so.
- For the leaps what `leap.py` says.

For then:

- The smaller p of two tests falls below t / 2 with a chance of t at most.
- Take the first look that rejects a cell which did not change, and the first such cell in
  it. Whatever was rejected before did change, so at most m - m0 of the m planned cells
  were, where m0 did not change; the cell's p was thus held against at most a_k / m0. Over
  the m0 cells and K looks these chances add up to m0 K (alpha / K) / m0 = alpha. (Stopping
  early takes tests away and adds none; unchanged and unmeasured cells count as planned.)
- The margin can only take verdicts away.

It does not promise that a change below the margin is never called one that is above: a
true slowdown of 2 % may be measured as 3.1 %. `beta` is a level for one cell at one look,
not for the suite: that a cell is called unchanged although it became slower by the margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from blockmark.runs.estimate import lower_quartile

from .evidence import Direction, Evidence, OfRounds, OfTurns, Source, passes_margin
from .leap import p_leap
from .rank_test import least_p
from .stats import spread

Verdict = Literal["regressed", "improved", "unchanged", "inconclusive", "incomparable"]

_DIRECTIONS: tuple[Direction, ...] = ("regressed", "improved")
# The share of the error that all looks for leaps have together.
_FOR_LEAPS = 0.1
# From so many rounds on a wide middle half is the cell's nature and not bad luck.
_ROUNDS_FOR_UNSTABLE = 15


@dataclass(frozen=True, slots=True)
class Rule:
    """The numbers of the rule; the defaults are those that were simulated.

    `alpha` is the chance that a suite of equal programs has any cell called regressed (and
    as much again for improved). `beta` is the level at which a cell is called unchanged.
    `looks` are rounds a side at which cells are judged, ascending; the last `deciding` of
    them share `alpha`, and at those before a cell can only be called unchanged. `leaps` are
    rounds a side at which only doublings are looked for; those below the first look that
    decides have a tenth of `alpha` together.
    """

    alpha: float = 0.01
    beta: float = 0.05
    looks: tuple[int, ...] = (6, 10, 15, 20, 30)
    deciding: int = 4
    leaps: tuple[int, ...] = (4, 6)

    def __post_init__(self) -> None:
        """Raises ValueError for levels that are none, and for looks that do not ascend."""
        if not (0 < self.alpha < 1 and 0 < self.beta < 1):
            raise ValueError(f"alpha = {self.alpha} and beta = {self.beta} must be within 0 and 1")
        if not self.looks or self.looks[0] < 1 or self.deciding < 1:
            raise ValueError("there is no look")
        if any(a >= b for a, b in zip(self.looks, self.looks[1:], strict=False)):
            raise ValueError(f"looks must ascend: {self.looks}")

    @property
    def early(self) -> tuple[int, ...]:
        """The rounds at which leaps are looked for: those before the first deciding look."""
        return tuple(rounds for rounds in self.leaps if rounds < self.first_deciding)

    @property
    def every_look(self) -> tuple[int, ...]:
        """All rounds at which something is judged, ascending."""
        return tuple(sorted({*self.early, *self.looks}))

    @property
    def alpha_of_look(self) -> float:
        """The error that one look of the tests may make."""
        left = 1.0 - _FOR_LEAPS if self.early else 1.0
        return left * self.alpha / min(self.deciding, len(self.looks))

    @property
    def alpha_of_leap(self) -> float:
        """The error that one look for leaps may make; zero if there is none."""
        return _FOR_LEAPS * self.alpha / len(self.early) if self.early else 0.0

    @property
    def first_deciding(self) -> int:
        """Rounds a side from which a cell may be called regressed or improved."""
        return self.looks[-min(self.deciding, len(self.looks))]

    def until(self, rounds: int) -> Rule:
        """The same rule with its last look at `rounds` a side."""
        looks = tuple(look for look in self.looks if look < rounds)
        return replace(self, looks=(*looks, rounds))

    def first_look_for(self, cells: int) -> int:
        """The first look at which the tests can call one of `cells` cells regressed.

        Measuring does not end before it. The last look if none can. Raises ValueError if
        there are no cells.
        """
        least = max(self.first_deciding, self.least_rounds(cells))
        return next((look for look in self.looks if look >= least), self.looks[-1])

    def least_rounds(self, cells: int, tests: int = 2) -> int:
        """The fewest rounds a side with which one of `cells` planned cells can be decided.

        9 for 56 cells, 11 for 500, with one test or with two that share the error: the ranks
        of the sides are always the first that can. Raises ValueError if there are no cells.
        """
        if cells < 1:
            raise ValueError("no cell is planned")
        rounds = 1
        while tests * least_p(rounds, rounds) > self.alpha_of_look / cells:
            rounds += 1
        return rounds


@dataclass(slots=True)
class GateCell:
    """One planned comparison: a metric of an implementation in a setting.

    `before` and `after` hold one value a round, lower is better (a rate is given as its
    reciprocal). `shifts` holds for each round the logarithm of after over before as it was
    measured in turns; empty where the sides took none, as in stored runs. `margin` is the
    change that matters, as a share of one. What `judge` finds: the `verdict` (None while
    open), its `reason` where there is more to say, the `p` that it stands on, the test that
    it was `decided_by`, and the `rounds` a side that it took.
    """

    name: str
    margin: float
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    verdict: Verdict | None = None
    reason: str = ""
    p: float = 1.0
    rounds: int = 0
    shifts: list[float] = field(default_factory=list)
    decided_by: Source | Literal[""] = ""

    @property
    def tests(self) -> list[Evidence]:
        """What can be asked of the rounds; nothing if a side has none."""
        if not self.before or not self.after:
            return []
        of_rounds = OfRounds(self.before, self.after)
        return [of_rounds, OfTurns(self.shifts)] if self.shifts else [of_rounds]

    @property
    def shown_by(self) -> Source:
        """The test whose ratio is told: the one that decided, else the turns where there are."""
        return self.decided_by or ("turns" if self.shifts else "rounds")

    @property
    def ratio(self) -> float | None:
        """After over before by the test that is `shown_by`; None where that is no number."""
        return next((test.ratio for test in self.tests if test.source == self.shown_by), None)

    @property
    def unstable(self) -> bool:
        """Whether a side's middle half is wider than two margins, after 15 rounds.

        Such a cell has more than one mode: what decides is which of them a process meets.
        Where the middle half of the shifts is no wider, turns tell in spite of it.
        """
        if len(self.shifts) >= _ROUNDS_FOR_UNSTABLE and (
            (spread(self.shifts) or 0.0) <= 2.0 * self.margin
        ):
            return False
        return any(
            len(side) >= _ROUNDS_FOR_UNSTABLE
            and (spread(side) or 0.0) > 2.0 * self.margin * lower_quartile(side)
            for side in (self.before, self.after)
        )


def judge(cells: Sequence[GateCell], rule: Rule, *, last: bool) -> None:
    """One look: gives a verdict to each cell that can have one.

    `cells` are all planned ones, those that were decided at an earlier look included. With
    `last`, cells that stay open are inconclusive. A look that is taken because time is over
    stands for the next planned one, so that never more looks decide than share `alpha`.
    Raises ValueError if a round's value is negative or not finite, a margin negative, or only
    some rounds have a shift.
    """
    for cell in cells:
        _check(cell)
    for cell in cells:
        if cell.verdict is None:
            cell.rounds = min(len(cell.before), len(cell.after))
            if cell.rounds:
                _incomparable(cell)
            elif last:
                cell.verdict, cell.reason = "inconclusive", "nothing was measured"
    undecided = [cell for cell in cells if cell.verdict is None and cell.rounds]
    rounds = max((cell.rounds for cell in undecided), default=0)
    if rounds >= rule.first_deciding:
        _decide(undecided, cells, rule)
    elif rule.early and rounds >= rule.early[0]:
        _find_leaps(undecided, cells, rule)
    for cell in undecided:
        if cell.verdict is None:
            tests = cell.tests
            cell.p = min(1.0, len(tests) * min(t.p(d) for t in tests for d in _DIRECTIONS))
            early = rounds < rule.looks[0] and not last
            if not early and (by := _unchanged_by(cell, rule)):
                cell.verdict, cell.decided_by = "unchanged", by
            elif last:
                cell.verdict, cell.reason = "inconclusive", _why_open(cell, rule, len(cells))


def smallest_visible(cell: GateCell, rule: Rule, planned: int) -> float | None:
    """The smallest slowdown, as a share of one, that the rounds at hand could have shown.

    It tells the reader of an inconclusive cell what was ruled out. The rounds after are
    brought to the level of those before, which leaves the noise of both and no change, and
    slowed down until the rule would call them regressed; by the test that sees more. None if
    no factor up to ten is enough, as with too few rounds, or if there is no ratio.
    """
    tests = cell.tests
    found = [
        factor
        for test in tests
        if (factor := _visible(test, cell.margin, rule.alpha_of_look / planned / len(tests)))
    ]
    return min(found) - 1.0 if found else None


def ruled_out(cell: GateCell, rule: Rule) -> float | None:
    """The smallest slowdown, as a share of one, that the rounds rule out at level `beta`.

    What an inconclusive cell may still hide is at most that. The tests share the level; a
    test rules nothing out that the other finds. Zero if no slowdown is left. None if not
    even a thousandfold one is ruled out, as with too few rounds.
    """
    tests = cell.tests
    level = rule.beta / max(1, len(tests))
    found = []
    for test in tests:
        bound = _bound(test, level)
        others = [other for other in tests if other is not test]
        if bound and not any(other.p("regressed", 1.0 / bound) <= level for other in others):
            found.append(bound)
    return min(found) - 1.0 if found else None


def _bound(test: Evidence, level: float) -> float | None:
    """The least factor of slowdown that a test rules out; None above a thousand."""
    if not test.ratio:
        return None
    return _least(lambda factor: test.p("improved", 1.0 / factor) <= level, 1.0, 1000.0)


def _visible(test: Evidence, margin: float, level: float) -> float | None:
    """The least factor of slowdown that a test would have shown; None above ten."""
    if not (ratio := test.ratio):
        return None
    return _least(lambda factor: test.p("regressed", factor / ratio) <= level, 1.0 + margin, 10.0)


def _least(holds: Callable[[float], bool], low: float, high: float) -> float | None:
    """The least factor of an interval from which on something holds, within 0.2 %; None where
    it does not hold at the end.
    """
    if not holds(high):
        return None
    if holds(low):
        return low
    while high / low > 1.002:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _find_leaps(undecided: Sequence[GateCell], planned: Sequence[GateCell], rule: Rule) -> None:
    """Call regressed and improved what doubled, or halved, in enough of the rounds."""
    for direction in _DIRECTIONS:
        chances = {
            id(cell): p_leap(cell.shifts, cell.margin, direction)
            for cell in undecided
            if cell.verdict is None and cell.shifts
        }
        told = sum(cell.verdict == direction for cell in planned)
        asked = [cell for cell in undecided if id(cell) in chances]
        for cell in _holm(asked, chances, told, len(planned), rule.alpha_of_leap):
            cell.verdict, cell.p, cell.decided_by = direction, chances[id(cell)], "turns"
            cell.reason = f"found early, after {_rounds(cell.rounds)}"


def _decide(undecided: Sequence[GateCell], planned: Sequence[GateCell], rule: Rule) -> None:
    """Call regressed and improved what can be.

    A cell's p in a direction is that of its tests whose ratio passes the margin, the smaller
    one, for each of which the p is multiplied by the number of tests; one if none does.
    """
    for direction in _DIRECTIONS:
        chances: dict[int, float] = {}
        sources: dict[int, Source] = {}
        for cell in undecided:
            tests = cell.tests
            found = [
                (min(1.0, len(tests) * test.p(direction)), test.source)
                for test in tests
                if passes_margin(test, cell.margin, direction)
            ]
            if found:
                chances[id(cell)], sources[id(cell)] = min(found)
        told = sum(cell.verdict == direction for cell in planned)
        # Both tests of a cell, one in each direction: the first called stays.
        open_ones = [cell for cell in undecided if cell.verdict is None and id(cell) in chances]
        for cell in _holm(open_ones, chances, told, len(planned), rule.alpha_of_look):
            cell.verdict, cell.p = direction, chances[id(cell)]
            cell.decided_by = sources[id(cell)]


def _holm(
    cells: Sequence[GateCell],
    chances: Mapping[int, float],
    told: int,
    planned: int,
    level: float,
) -> list[GateCell]:
    """The cells whose p passes Holm's descending thresholds over all planned cells.

    The `told` cells that have this verdict from earlier looks stand before; all others,
    decided otherwise or not measured, count as not rejected.
    """
    found: list[GateCell] = []
    for cell in sorted(cells, key=lambda cell: chances[id(cell)]):
        if chances[id(cell)] > level / (planned - told - len(found)):
            break
        found.append(cell)
    return found


def _unchanged_by(cell: GateCell, rule: Rule) -> Source | None:
    """The test that rules out a slowdown by the margin, and whose ratio lies within it.

    The test is one-sided as the gate is. Without the ratio's lower end an improvement would
    be called unchanged at the first look, which is too early to call it what it is. Nor may
    the other test find the cell beyond the margin. The turns are asked first, as the ratio
    that is shown is theirs while a cell is open.
    """
    limit, tests = 1.0 + cell.margin, cell.tests
    level = rule.beta / len(tests)

    def beyond(test: Evidence) -> bool:
        return test.p("regressed", 1.0 / limit) <= level or test.p("improved", limit) <= level

    for test in reversed(tests):
        ratio = test.ratio
        if (
            ratio is not None
            and 1.0 / limit < ratio < limit
            and test.p("improved", 1.0 / limit) <= level
            and not any(beyond(other) for other in tests if other is not test)
        ):
            return test.source
    return None


def _why_open(cell: GateCell, rule: Rule, planned: int) -> str:
    tests = cell.tests
    too_few = len(tests) * min(test.least_p for test in tests) > rule.alpha_of_look / planned
    if too_few or cell.rounds < rule.first_deciding:
        least = max(rule.least_rounds(planned, len(tests)), rule.first_deciding)
        return (
            f"{_rounds(cell.rounds)} a side can't decide one of {planned} cells; "
            f"at least {least} can"
        )
    if cell.unstable:
        return "unstable: the middle half of the rounds is wider than two margins"
    return ""


def _rounds(count: int) -> str:
    return f"{count} round" if count == 1 else f"{count} rounds"


def _check(cell: GateCell) -> None:
    if not cell.margin >= 0:
        raise ValueError(f"{cell.name}: a margin of {cell.margin} is none")
    for value in (*cell.before, *cell.after):
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{cell.name}: {value} is not a cost")
    if not all(map(math.isfinite, cell.shifts)):
        raise ValueError(f"{cell.name}: a shift is not finite")
    if cell.shifts and not len(cell.shifts) == len(cell.before) == len(cell.after):
        raise ValueError(f"{cell.name}: rounds without a shift beside rounds with one")


def _incomparable(cell: GateCell) -> None:
    if not any(cell.before) and not any(cell.after):
        cell.verdict, cell.reason = "unchanged", "every round is zero"
    elif not (lower_quartile(cell.before) > 0 and lower_quartile(cell.after) > 0):
        cell.verdict, cell.reason = "incomparable", "a side is zero: below resolution"
