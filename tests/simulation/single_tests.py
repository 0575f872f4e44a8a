"""The gate's two tests each alone with the whole error, to be held beside both together."""

from __future__ import annotations

from recording import Side
from rival_rules import RivalRule, Told

from blockmark.verdict.evidence import (
    Direction,
    Evidence,
    OfRounds,
    OfTurns,
    Source,
    passes_margin,
)
from blockmark.verdict.gate import Rule
from blockmark.verdict.margins import COST

_DIRECTIONS: tuple[Direction, ...] = ("regressed", "improved")


def _looks(before: Side, after: Side, source: Source, level: float, rule: Rule) -> Told:
    """What is said first, over the looks; Bonferroni, as the cell stands alone here."""
    for look in (look for look in rule.looks if look >= rule.first_deciding):
        test: Evidence = OfTurns(after.shifts[:look])
        if source == "rounds":
            test = OfRounds(before.values[:look], after.values[:look])
        for direction in _DIRECTIONS:
            if test.p(direction) <= level and passes_margin(test, COST, direction):
                return direction
    return None


def single_tests(rule: Rule, planned: int) -> list[RivalRule]:
    """One of the tests alone, for one of `planned` cells."""
    level = rule.alpha_of_look / planned
    return [
        RivalRule(
            "this gate's ranks of rounds alone",
            rule.looks[-1],
            lambda before, after: _looks(before, after, "rounds", level, rule),
        ),
        RivalRule(
            "this gate's signed ranks of turns alone",
            rule.looks[-1],
            lambda before, after: _looks(before, after, "turns", level, rule),
        ),
    ]
