"""The gate's rule with rounds in pairs, to be held beside the one that does without.

The two processes of a round run within a second of each other. Where what disturbs them
lasts longer, as a neighbour does who streams through a shared cache, the pair shares it and
the ratio inside a round is quieter than either side. Where it strikes single processes, a
pair has the noise of both. Which of the two a machine does, its recorded rounds tell.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence

from recording import Side
from rival_rules import RivalRule, Told

from blockmark.verdict.gate import Rule
from blockmark.verdict.margins import COST
from blockmark.verdict.rank_test import p_greater


def p_positive(differences: Sequence[float]) -> float:
    """Exact one-sided signed rank test (Wilcoxon 1945): small if differences are positive.

    Exact for equal programs in random order, as then each sign is a coin's. Zeros count as
    negative, which is conservative; equal sizes share their mean rank.
    """
    sizes = sorted(map(abs, differences))
    # Twice the mean rank, so that it is whole.
    doubled = {size: 2 * sizes.index(size) + sizes.count(size) + 1 for size in sizes}
    ranks = tuple(doubled[size] for size in sizes)
    total = sum(doubled[abs(value)] for value in differences if value > 0)
    counts = _signs(ranks)
    return sum(counts[total:]) / (1 << len(ranks))


@functools.lru_cache(maxsize=4096)
def _signs(ranks: tuple[int, ...]) -> tuple[int, ...]:
    """In how many of all choices of signs the positive ranks add up to 0, 1, ... their sum."""
    counts = [1]
    for rank in ranks:
        longer = counts + [0] * rank
        for value, ways in enumerate(counts):
            longer[value + rank] += ways
        counts = longer
    return tuple(counts)


def _looks(before: Side, after: Side, level: float, rule: Rule, *, unpaired: bool) -> Told:
    """What is said first, over the looks; Bonferroni, as the cell stands alone here."""
    sides = {"regressed": (before.values, after.values), "improved": (after.values, before.values)}
    for look in (look for look in rule.looks if look >= rule.first_deciding):
        for direction, (low, high) in sides.items():
            a, b = low[:look], high[:look]
            ratios = [y / x for x, y in zip(a, b, strict=True)]
            told = p_positive(list(map(math.log, ratios))) <= level
            if told and statistics.median(ratios) > 1 + COST:
                return "regressed" if direction == "regressed" else "improved"
            if unpaired and p_greater(b, a) <= level and _quartile(b) / _quartile(a) > 1 + COST:
                return "regressed" if direction == "regressed" else "improved"
    return None


def _quartile(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=4, method="inclusive")[0]


def paired_rules(rule: Rule, planned: int) -> list[RivalRule]:
    """The paired rule alone, and the two rules side by side, each with half of the error."""
    level = rule.alpha_of_look / planned
    looks = rule.looks[-1]
    return [
        RivalRule(
            "this gate's looks, rounds in pairs (signed ranks, median ratio)",
            looks,
            lambda before, after: _looks(before, after, level, rule, unpaired=False),
        ),
        RivalRule(
            "this gate's test or the paired one, each with half of the error",
            looks,
            lambda before, after: _looks(before, after, level / 2, rule, unpaired=True),
        ),
    ]
