"""The highest rate that paced loops hold, by bisection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pace import Paced

HELD = 0.99
PRECISION = 1.03
# A loop that was pre-empted fails at a rate that it could hold, so once is no answer. On
# a busy machine, where half of all short loops fail so, all of eight do once in 256 times.
_TRIES = 8
_STEP = 1.25


def is_held(paced: Paced) -> bool:
    """Whether a loop ran 99 % of its ticks in its time; a loop that did not is saturated."""
    return paced.ticks >= HELD * paced.intended


def falls_far_behind(paced: Paced) -> bool:
    """Whether a loop ran less than 90 % of its ticks.

    A share of a loop's time is worth something down to there: a few ticks that a
    pre-emption near the end has cost change it little, and one that is truly saturated is
    near to all of a core.
    """
    return 10 * paced.ticks < 9 * paced.intended


def deserves_another_try(paced: Paced) -> bool:
    """Whether a loop that was not held may have been pre-empted, not too slow."""
    return not is_held(paced) and 2 * paced.ticks >= paced.intended


def highest_rate(
    holds: Callable[[float], bool], guess: float, out_of_time: Callable[[], bool]
) -> float | None:
    """The highest rate found to hold, 1/s; the next one tried, up to 3 % higher, did not.

    `holds` tries a rate once and may fail by chance: it is asked again. `guess` > 0 is where
    the search begins. Once out of time the answer is the best so far, None if there is none.
    """
    low, high, rate = 0.0, math.inf, guess
    while high > low * PRECISION and not out_of_time():
        if any(holds(rate) for _ in range(_TRIES)):
            low = rate
        else:
            high = rate
        rate = _between(low, high)
    return low or None


def _between(low: float, high: float) -> float:
    """The next rate to try, when `low` held or is 0 and `high` did not or is infinite."""
    if not low:
        return high / _STEP
    return low * _STEP if high == math.inf else math.sqrt(low * high)
