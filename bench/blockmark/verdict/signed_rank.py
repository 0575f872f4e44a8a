"""The exact one-sided signed rank test: are the changes within rounds above zero?

For changes that were measured inside a round, both sides in turns: what disturbs a machine
for longer than a turn strikes both alike and leaves the round's change as it is. Where it
strikes one process for all its life, the change has the noise of both, and ranks of the
sides (`rank_test.py`) tell more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import accumulate

from .rank_test import normal_tail

# Counting the signs of a hundred changes takes a tenth of a second, of a thousand hours.
EXACT_ROUNDS = 100


def p_positive(changes: Sequence[float]) -> float:
    """The chance of a rank sum like this or a larger one if each sign were a coin's.

    Small if `changes` are positive. Exact (Wilcoxon 1945), for ties too: equal sizes share
    their mean rank, and the sums of the ranks that there are are counted. A change of zero
    keeps its rank and counts as negative, which is conservative. With more than `EXACT_ROUNDS`
    changes by the normal approximation with a correction for continuity. Raises ValueError if there
    is no change or one is not finite.
    """
    if not changes:
        raise ValueError("there is no round")
    if not all(map(math.isfinite, changes)):
        raise ValueError("a round's change is not finite")
    sizes = sorted(map(abs, changes))
    first: dict[float, int] = {}
    for place, size in enumerate(sizes):
        first.setdefault(size, place)
    # Twice the mean rank of the places first, first + 1, ..., so that it is whole.
    last = {size: place for place, size in enumerate(sizes)}
    doubled = {size: first[size] + last[size] + 2 for size in first}
    total = sum(doubled[abs(change)] for change in changes if change > 0)
    ranks = [doubled[size] for size in sizes]
    if len(changes) > EXACT_ROUNDS:
        deviation = math.sqrt(sum(rank * rank for rank in ranks)) / 2
        # One is half of a rank in doubled ranks.
        return normal_tail((total - 1 - sum(ranks) / 2) / deviation)
    at_least = _signs_with_at_least(tuple(ranks))
    return at_least[total] / at_least[0]


def least_p(rounds: int) -> float:
    """The smallest p that so many rounds can give: every change is positive."""
    return 0.5**rounds


@functools.lru_cache(maxsize=1024)
def _signs_with_at_least(ranks: tuple[int, ...]) -> tuple[int, ...]:
    """In how many of all choices of signs the positive ranks add up to 0 or more, 1 or more, ..."""
    counts = [1]
    for rank in ranks:
        longer = counts + [0] * rank
        for value, ways in enumerate(counts):
            longer[value + rank] += ways
        counts = longer
    return tuple(accumulate(reversed(counts)))[::-1]
