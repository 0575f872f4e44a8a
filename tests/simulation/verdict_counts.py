"""What rules say of suites, counted: the gate's own, its tests alone, and other tools'."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from recording import Recording, Side, Suite, subject_of
from rival_rules import RivalRule, rival_rules
from single_tests import single_tests
from worst_case import count_false

from blockmark.runs.estimate import lower_quartile
from blockmark.verdict.gate import GateCell, Rule, judge
from blockmark.verdict.margins import margin_for
from blockmark.verdict.rank_test import p_greater

FALSE = ("regressed", "improved")
# What a step of an equal program is made to take, in times of what it took.
FACTORS = (1.1, 1.3, 2.5, 10.0)


def judge_suite(
    suite: Suite, slower: Iterable[str], rule: Rule, factor: float = 1.0
) -> list[GateCell]:
    """Every cell of a suite, look after look, as a check would; `slower` cells are B5, and the
    steps of equal programs take `factor` times what they took.
    """
    sides: list[tuple[Side, Side]] = []
    cells = []
    for name in suite.recording.cells:
        margin = margin_for(name.rpartition(" ")[2])
        assert margin is not None
        cells.append(GateCell(name, margin.share))
        slow = name in slower
        after = suite.after(name, slower=slow)
        if factor != 1.0 and name in suite.recording.steps:
            after = after.times(factor)
        sides.append((suite.before(name, slower=slow), after))
    for look in rule.every_look:
        for cell, (before, after) in zip(cells, sides, strict=True):
            if cell.verdict is None:
                cell.before, cell.after = before.values[:look], after.values[:look]
                cell.shifts = after.shifts[:look]
        judge(cells, rule, last=look == rule.looks[-1])
    return cells


def impl_of(cell: str) -> str:
    """`vector/cpp` of a cell's name."""
    return subject_of(cell).rpartition(" ")[2]


@dataclass(slots=True)
class OurCounts:
    """What the gate said, over suites."""

    suites: int = 0
    false_suites: int = 0
    equal: Counter[str] = field(default_factory=Counter)
    false_cells: Counter[str] = field(default_factory=Counter)  # by cell
    equal_rounds: Counter[str] = field(default_factory=Counter)  # by cell, summed
    inconclusive: Counter[str] = field(default_factory=Counter)  # by cell
    slowed: Counter[str] = field(default_factory=Counter)  # by cell: how often it was slower
    found: Counter[str] = field(default_factory=Counter)
    slowed_rounds: Counter[str] = field(default_factory=Counter)
    found_by: Counter[str] = field(default_factory=Counter)  # by test
    called_unchanged: int = 0

    def add_equal(self, cells: Iterable[GateCell]) -> None:
        """A suite in which nothing changed."""
        self.suites += 1
        told = False
        for cell in cells:
            self.equal[str(cell.verdict)] += 1
            self.equal_rounds[cell.name] += cell.rounds
            self.false_cells[cell.name] += cell.verdict in FALSE
            self.inconclusive[cell.name] += cell.verdict == "inconclusive"
            told = told or cell.verdict in FALSE
        self.false_suites += told

    def add_slowed(self, cells: Iterable[GateCell], slower: Iterable[str]) -> None:
        """A suite in which the steps named by `slower` are."""
        for cell in cells:
            if cell.name in slower:
                self.slowed[cell.name] += 1
                self.found[cell.name] += cell.verdict == "regressed"
                self.found_by[cell.decided_by] += cell.verdict == "regressed"
                self.slowed_rounds[cell.name] += cell.rounds
                self.called_unchanged += cell.verdict == "unchanged"


@dataclass(slots=True)
class RivalCounts:
    """What another rule said of the steps, over suites."""

    cells: int = 0
    false_cells: int = 0
    suites: int = 0
    false_suites: int = 0
    slowed: int = 0
    found: int = 0

    def add(self, rule: RivalRule, suite: Suite) -> None:
        """One suite: every step against itself, and against the slower one."""
        told = 0
        for name in suite.recording.steps:
            told += rule.judge(suite.before(name), suite.after(name)) is not None
            sides = (suite.before(name, slower=True), suite.after(name, slower=True))
            self.found += rule.judge(*sides) == "regressed"
            self.cells += 1
            self.slowed += 1
        self.false_cells += told
        self.suites += 1
        self.false_suites += told > 0


@dataclass(slots=True)
class Improvements:
    """The first look at a step that became faster: what ranks of rounds call unchanged there."""

    cells: int = 0
    one_sided: int = 0
    two_sided: int = 0

    def add(self, suite: Suite, rule: Rule) -> None:
        """Every step of a suite with B5 as the baseline."""
        look = rule.looks[0]
        for name in suite.recording.steps:
            margin = margin_for(name.rpartition(" ")[2])
            assert margin is not None
            limit = 1.0 + margin.share
            before = suite.after(name, slower=True).values[:look]
            after = suite.before(name, slower=True).values[:look]
            ratio = lower_quartile(after) / lower_quartile(before)
            told = p_greater(before, [value / limit for value in after]) <= rule.beta
            self.cells += 1
            self.one_sided += told and ratio < limit
            self.two_sided += told and 1.0 / limit < ratio < limit


@dataclass(slots=True)
class Counts:
    """All that is counted. `apart` are the windows that share no round, labels as recorded."""

    suites: int
    seed: int
    ours: OurCounts = field(default_factory=OurCounts)
    apart: OurCounts = field(default_factory=OurCounts)
    improvements: Improvements = field(default_factory=Improvements)
    one_sided: int = 0  # made-up suites with a false regression; see worst_case.py
    factors: dict[float, OurCounts] = field(default_factory=dict)  # all steps as much slower
    rivals: list[tuple[RivalRule, RivalCounts]] = field(default_factory=list)


def count_verdicts(
    recording: Recording, suites: int, seed: int, rule: Rule, *, others: bool = True
) -> Counts:
    """Draw the suites and judge them. Without `others`, by the gate's rule alone."""
    rng = random.Random(seed)
    counts = Counts(suites, seed, one_sided=count_false(suites, rule, seed))
    if others and recording.blocks:
        alone = single_tests(rule, len(recording.cells))
        counts.rivals = [(one, RivalCounts()) for one in [*rival_rules(), *alone]]
    impls = list(dict.fromkeys(map(impl_of, recording.steps)))
    for _ in range(suites):
        suite = Suite.draw(recording, rule.looks[-1], rng)
        counts.ours.add_equal(judge_suite(suite, (), rule))
        for impl in impls:
            slower = [name for name in recording.steps if impl_of(name) == impl]
            counts.ours.add_slowed(judge_suite(suite, slower, rule), slower)
        counts.improvements.add(suite, rule)
        for factor in FACTORS:
            slowed = counts.factors.setdefault(factor, OurCounts())
            slowed.add_slowed(judge_suite(suite, (), rule, factor), recording.steps)
        for one, found in counts.rivals:
            found.add(one, suite)
    for first in range(0, recording.rounds - rule.looks[-1] + 1, rule.looks[-1]):
        suite = Suite.as_recorded(recording, first, rule.looks[-1])
        counts.apart.add_equal(judge_suite(suite, (), rule))
        counts.apart.add_slowed(judge_suite(suite, recording.steps, rule), recording.steps)
    return counts
