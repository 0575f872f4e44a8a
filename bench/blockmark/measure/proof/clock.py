"""A clock that the proof can move on: what only shows after a day shows at once.

A class that asks Python for the time gets it from here, if it is loaded after `install`.
C++ code asks the system, and is not reached.
"""

from __future__ import annotations

import time
from typing import Any

_OFFSET_S = [0.0]
_SECONDS, _NANOSECONDS = ("time", "monotonic", "perf_counter"), 1_000_000_000


def install() -> None:
    """Let Python's clocks run with an offset. Once a process, before any class is loaded."""
    for name in _SECONDS:
        setattr(time, name, _moved(getattr(time, name), 1))
        setattr(time, f"{name}_ns", _moved(getattr(time, f"{name}_ns"), _NANOSECONDS))


def move_on(seconds: float) -> None:
    """It is so much later now."""
    _OFFSET_S[0] += seconds


def _moved(clock: Any, units: int) -> Any:
    def moved() -> Any:
        now = clock()
        return now + type(now)(_OFFSET_S[0] * units)

    moved.__name__ = clock.__name__
    return moved
