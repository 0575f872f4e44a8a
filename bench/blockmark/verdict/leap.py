"""The early look: changes so large that a few rounds tell them, under an assumption of its own.

Signs of four rounds alone give no p below 1/16, so a test that assumes nothing needs ten
rounds and more, and of a candidate that is many times slower each takes as much longer. Such
a change need not wait for them: of two processes of one program hardly one takes twice as
long as the other, in turns, whatever they drew for all their life. So a round is a hit if
its change lies beyond the leap, and hits are counted against the chance that an equal program
has of one.

The assumption: of equal programs at most one round in 16 is a hit in one direction, and
rounds are drawn independently. docs/gate.md counts how many are, on recorded rounds. A
smaller leap would not do: two modes of one program are apart by tens of per cent now and
then, and with two modes one round in four may be a hit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .evidence import Direction

LEAP = 2.0
CHANCE = 1 / 16
# Metrics that are noisier, as quantiles, have wider margins, and leap as much farther.
_MARGINS = 3


def leap_of(margin: float) -> float:
    """The ratio beyond which a round is a hit: a doubling, or three margins."""
    return max(LEAP, (1.0 + margin) ** _MARGINS)


def p_leap(shifts: Sequence[float], margin: float, direction: Direction) -> float:
    """The chance of as many hits or more: a binomial tail with `CHANCE` a round.

    `shifts` are logarithms of after over before, one a round. One if the median round is no
    hit, as then the cell did not leap.
    """
    sign = 1.0 if direction == "regressed" else -1.0
    limit = math.log(leap_of(margin))
    rounds = len(shifts)
    hits = sum(sign * shift > limit for shift in shifts)
    if 2 * hits <= rounds:
        return 1.0
    return sum(
        math.comb(rounds, k) * CHANCE**k * (1 - CHANCE) ** (rounds - k)
        for k in range(hits, rounds + 1)
    )
