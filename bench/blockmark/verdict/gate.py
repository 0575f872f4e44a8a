"""The rule by which a change is called a regression: pure functions of rounds.

Both sides are measured now and interleaved, one fresh process a round; a round's value is
its least block. Cells are judged at a few planned looks. Two things must hold for a verdict:
the rounds are told apart by their ranks (exact one-sided Mann-Whitney, Holm 1979 over all
planned cells, the error shared out over the looks that can decide), and the ratio of the
lower quartiles passes the margin.

What is promised: a suite has any cell called regressed that did not get slower with a
chance of `alpha` at most, and as much again for improved, whatever the noise is like and
however cells depend on each other. For:

- The order inside a round is random, so for equal programs the sides are exchangeable, and
  the test is a permutation test: p falls below t with a chance of t at most.
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from blockmark.runs.estimate import lower_quartile

from .rank_test import least_p, p_greater
from .stats import spread

Verdict = Literal["regressed", "improved", "unchanged", "inconclusive", "incomparable"]
Direction = Literal["regressed", "improved"]

# From so many rounds on a wide middle half is the cell's nature and not bad luck.
_ROUNDS_FOR_UNSTABLE = 15


@dataclass(frozen=True, slots=True)
class Rule:
    """The numbers of the rule; the defaults are those that were simulated.

    `alpha` is the chance that a suite of equal programs has any cell called regressed (and
    as much again for improved). `beta` is the level at which a cell is called unchanged.
    `looks` are rounds a side at which cells are judged, ascending; the last `deciding` of
    them share `alpha`, and at those before a cell can only be called unchanged.
    """

    alpha: float = 0.01
    beta: float = 0.05
    looks: tuple[int, ...] = (6, 10, 15, 20, 30)
    deciding: int = 4

    def __post_init__(self) -> None:
        """Raises ValueError for levels that are none, and for looks that do not ascend."""
        if not (0 < self.alpha < 1 and 0 < self.beta < 1):
            raise ValueError(f"alpha = {self.alpha} and beta = {self.beta} must be within 0 and 1")
        if not self.looks or self.looks[0] < 1 or self.deciding < 1:
            raise ValueError("there is no look")
        if any(a >= b for a, b in zip(self.looks, self.looks[1:], strict=False)):
            raise ValueError(f"looks must ascend: {self.looks}")

    @property
    def alpha_of_look(self) -> float:
        """The error that one look may make."""
        return self.alpha / min(self.deciding, len(self.looks))

    @property
    def first_deciding(self) -> int:
        """Rounds a side from which a cell may be called regressed or improved."""
        return self.looks[-min(self.deciding, len(self.looks))]

    def until(self, rounds: int) -> Rule:
        """The same rule with its last look at `rounds` a side."""
        looks = tuple(look for look in self.looks if look < rounds)
        return replace(self, looks=(*looks, rounds))

    def least_rounds(self, cells: int) -> int:
        """The fewest rounds a side with which one of `cells` planned cells can be decided.

        9 for 56 cells, 11 for 500. Raises ValueError if there are no cells.
        """
        if cells < 1:
            raise ValueError("no cell is planned")
        rounds = 1
        while least_p(rounds, rounds) > self.alpha_of_look / cells:
            rounds += 1
        return rounds


@dataclass(slots=True)
class GateCell:
    """One planned comparison: a metric of an implementation in a setting.

    `before` and `after` hold one value a round, lower is better (a rate is given as its
    reciprocal). `margin` is the change that matters, as a share of one. What `judge` finds:
    the `verdict` (None while open), its `reason` where there is more to say, the `p` that
    it stands on, and the `rounds` a side that it took.
    """

    name: str
    margin: float
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    verdict: Verdict | None = None
    reason: str = ""
    p: float = 1.0
    rounds: int = 0

    @property
    def ratio(self) -> float | None:
        """Lower quartile after over lower quartile before; None where that is no number."""
        if not self.before or not self.after:
            return None
        bottom = lower_quartile(self.before)
        return lower_quartile(self.after) / bottom if bottom > 0 else None

    @property
    def unstable(self) -> bool:
        """Whether a side's middle half is wider than two margins, after 15 rounds.

        Such a cell has more than one mode: what decides is which of them a process meets.
        """
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
    Raises ValueError if a round's value is negative or not finite, or a margin negative.
    """
    for cell in cells:
        _check(cell)
    for cell in cells:
        if cell.verdict is None:
            cell.rounds = min(len(cell.before), len(cell.after))
            _incomparable(cell)
    undecided = [cell for cell in cells if cell.verdict is None]
    chances: dict[Direction, dict[int, float]] = {
        "regressed": {id(cell): p_greater(cell.after, cell.before) for cell in undecided},
        "improved": {id(cell): p_greater(cell.before, cell.after) for cell in undecided},
    }
    if max((cell.rounds for cell in undecided), default=0) >= rule.first_deciding:
        for direction, chance in chances.items():
            told = sum(cell.verdict == direction for cell in cells)
            for cell in _holm(undecided, chance, told, len(cells), rule.alpha_of_look):
                if _passes_margin(cell, direction):
                    cell.verdict, cell.p = direction, chance[id(cell)]
    for cell in undecided:
        if cell.verdict is None:
            cell.p = min(chance[id(cell)] for chance in chances.values())
            if _is_unchanged(cell, rule):
                cell.verdict = "unchanged"
            elif last:
                cell.verdict, cell.reason = "inconclusive", _why_open(cell, rule, len(cells))


def smallest_visible(cell: GateCell, rule: Rule, planned: int) -> float | None:
    """The smallest slowdown, as a share of one, that the rounds at hand could have shown.

    It tells the reader of an inconclusive cell what was ruled out. The rounds after are
    brought to the level of those before, which leaves the noise of both and no change, and
    slowed down until the rule would call them regressed. None if no factor up to ten is
    enough, as with too few rounds, or if there is no ratio.
    """
    ratio = cell.ratio
    if not ratio:
        return None
    level = [value / ratio for value in cell.after]
    threshold = rule.alpha_of_look / planned

    def seen(factor: float) -> bool:
        return p_greater([value * factor for value in level], cell.before) <= threshold

    low, high = 1.0 + cell.margin, 10.0
    if not seen(high):
        return None
    if seen(low):
        return low - 1.0
    while high / low > 1.002:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high - 1.0


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


def _passes_margin(cell: GateCell, direction: Direction) -> bool:
    ratio = cell.ratio
    if ratio is None:
        return False
    limit = 1.0 + cell.margin
    return ratio > limit if direction == "regressed" else ratio < 1.0 / limit


def _is_unchanged(cell: GateCell, rule: Rule) -> bool:
    """Whether a slowdown by the margin is ruled out, and the ratio lies within the margin.

    The test is one-sided as the gate is. Without the ratio's lower end an improvement would
    be called unchanged at the first look, which is too early to call it what it is.
    """
    ratio, limit = cell.ratio, 1.0 + cell.margin
    if ratio is None or not 1.0 / limit < ratio < limit:
        return False
    return p_greater(cell.before, [value / limit for value in cell.after]) <= rule.beta


def _why_open(cell: GateCell, rule: Rule, planned: int) -> str:
    too_few = least_p(len(cell.after), len(cell.before)) > rule.alpha_of_look / planned
    if too_few or cell.rounds < rule.first_deciding:
        least = max(rule.least_rounds(planned), rule.first_deciding)
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


def _incomparable(cell: GateCell) -> None:
    if not cell.before or not cell.after:
        cell.verdict, cell.reason = "incomparable", "a side has no rounds"
    elif not any(cell.before) and not any(cell.after):
        cell.verdict, cell.reason = "unchanged", "every round is zero"
    elif not (lower_quartile(cell.before) > 0 and lower_quartile(cell.after) > 0):
        cell.verdict, cell.reason = "incomparable", "a side is zero: below resolution"
