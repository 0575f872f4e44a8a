"""What a check found, cell by cell, and what it means for a build: no I/O, no medium."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from .gate import Verdict

Kind = Literal["interleaved", "stored", "files", "deterministic", "self-test"]

_DECIDED = ("regressed", "improved", "unchanged")

# A cell that stays open passes only if a slowdown of this much, or of two margins, is ruled out.
LARGE = 0.10

# Beyond this share of dropped rounds a side tells too little to be judged.
MOST_DROPPED = 0.1


@dataclass(frozen=True, slots=True)
class CellVerdict:
    """One comparison: a metric of an implementation in a setting, before and after.

    `before` and `after` are what was measured in each round, or counted in each heap; `old` and
    `new` their lower quartiles (of counts: medians). `shifts` are the logarithms of after over
    before as each round's turns found them, where sides took turns. `ratio` is after over before
    with the interval `low` to `high`, None where there is none: by the test that the verdict was
    `decided_by` (`rounds`: new / old; `turns`: the median shift; empty for none), else by
    the turns where there are. `margin` is the change that matters, as a share of one, and
    `margin_of` says where it comes from. `visible` is the smallest change, as a share of
    one, that an inconclusive cell could have shown, and `ruled_out` the smallest slowdown that
    its rounds rule out (at 5 %; None: none is). `label` says what kind of change it is
    where counts are known beside times. `waiver` is the reason why a regression, or what may
    hide one, is let through; empty: none.
    """

    scenario: str
    setting: str
    impl: str
    metric: str
    unit: str
    verdict: Verdict
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    old: float | None = None
    new: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    margin: float = 0.0
    margin_of: str = ""
    visible: float | None = None
    label: str = ""
    reason: str = ""
    waiver: str = ""
    shifts: tuple[float, ...] = ()
    decided_by: str = ""
    ruled_out: float | None = None

    @property
    def name(self) -> str:
        """`decode (block_size 16) flat-stack/cpp step_ns`: what a waiver and a reader call it."""
        place = f"{self.scenario} ({self.setting})" if self.setting else self.scenario
        return f"{place} {self.impl} {self.metric}"

    @property
    def fails(self) -> bool:
        """Whether this cell alone stops a build."""
        return self.verdict == "regressed" and not self.waiver

    @property
    def is_decided(self) -> bool:
        """Whether there is a verdict, or a waiver in its place."""
        return self.verdict in _DECIDED or bool(self.waiver)

    @property
    def large(self) -> float:
        """The slowdown, as a share of one, that an open cell has to rule out to pass."""
        return max(LARGE, 2 * self.margin)

    @property
    def may_hide(self) -> bool:
        """Whether an open cell is no pass: all of its interval lies beyond the margin, or a
        large slowdown is not ruled out.
        """
        if self.verdict != "inconclusive" or self.waiver:
            return False
        beyond = self.low is not None and self.low > 1.0 + self.margin
        return beyond or self.ruled_out is None or self.ruled_out > self.large


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A whole check. `baseline` and `candidate` are what the sides are called.

    `missing` are planned cells that the candidate has not, with the reason; `added` cells
    that only the candidate has; `mended` cells of which the baseline gave wrong answers and
    the candidate right ones, so that there is no speed to compare; `wrong` answers that
    differ from the oracle; `failures` anything else that broke. `enforced` is false where the
    result is advice: then nothing fails. `facts` are plain JSON: seed, looks, alpha, load,
    budget, versions. `skipped` is true where nothing was to be judged here, and a note says
    why: that is fine.
    """

    kind: Kind
    baseline: str
    candidate: str
    cells: tuple[CellVerdict, ...]
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    enforced: bool = True
    interrupted: bool = False
    duration_s: float = 0.0
    facts: Mapping[str, Any] | None = None
    skipped: bool = False
    mended: tuple[str, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many cells have this verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    @property
    def all_decided(self) -> bool:
        """Whether every planned cell is decided or waived: only then a check has passed."""
        return all(cell.is_decided for cell in self.cells)

    @property
    def may_hide(self) -> list[CellVerdict]:
        """The cells that stayed open and are no pass."""
        return [cell for cell in self.cells if cell.may_hide]

    def exit_code(self, *, strict: bool = False) -> int:
        """0 fine, 1 regression, 3 not judged or missing, 4 wrong, 5 inconclusive.

        Where several hold: 130, 4, 1, 3, 5. What is not known is no pass: 3 also where no
        cell was decided, and where one that stayed open may hide a large slowdown. Advice
        fails for a wrong answer alone, and where nothing could be compared. A self-test
        compares a program with itself, so any change that it finds is no regression but a
        machine that can't be trusted: 3.
        """
        if self.interrupted:
            return 130
        if self.wrong:
            return 4
        nothing_asked = not (self.cells or self.missing or self.failures)
        if nothing_asked and (self.skipped or self.mended):
            return 0
        judged = [cell for cell in self.cells if cell.verdict != "incomparable"]
        if self.kind == "self-test":
            if any(cell.verdict in ("regressed", "improved") for cell in judged):
                return 3
        elif self.enforced and any(cell.fails for cell in judged):
            return 1
        if not judged:
            return 3
        if self.enforced and self._not_judged():
            return 3
        if strict and self.count("inconclusive"):
            return 5
        return 0

    def _not_judged(self) -> bool:
        incomparable = self.count("incomparable")
        decided = any(cell.is_decided for cell in self.cells)
        return bool(self.missing or self.failures or incomparable or not decided or self.may_hide)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON: every round of both sides, so that the rule can be applied again."""
        return {"schema": "blockmark.check", "schema_version": 1, **asdict(self)}


def waive(result: CheckResult, waivers: Mapping[str, tuple[float, str]]) -> CheckResult:
    """Let regressions through that were allowed: cell name -> (largest ratio, reason).

    A change from zero has no ratio and is above every limit but an infinite one. A cell that
    may hide a slowdown is let through if one above the limit is ruled out.
    """
    cells = []
    for cell in result.cells:
        limit, reason = waivers.get(cell.name, (0.0, ""))
        if cell.may_hide:
            most = math.inf if cell.ruled_out is None else 1.0 + cell.ruled_out
        else:
            most = math.inf if cell.ratio is None else cell.ratio
        if (cell.verdict == "regressed" or cell.may_hide) and most <= limit:
            cell = replace(cell, waiver=reason)
        cells.append(cell)
    return replace(result, cells=tuple(cells))
