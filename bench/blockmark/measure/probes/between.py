"""What the rest of an engine does between two paced steps.

A loop that does nothing between its steps flatters every structure: each finds its
tables in the caches where it left them. So a buffer may be streamed, or objects made.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pace import Between

# Streaming for longer would itself keep a loop from holding its rate.
_SHARE_OF_INTERVAL = 4
_RUNS = 5


class BetweenError(RuntimeError):
    """Something between the steps that a loop can't do; one line, why."""


class Objects:
    """Container objects as request and sampling code makes them, a few for each sequence.

    They live until the next step, so Python's cyclic collector meets them again and again.
    """

    def __init__(self, sequences: int) -> None:
        self._sequences = range(sequences)
        self._kept: list[Any] = []

    def run(self) -> None:
        """Make the objects of this step and drop those of the last."""
        self._kept = [
            # A token with its log-probability, its rivals, and the request's answer so far.
            [(seq, -0.5), [(seq + 1, -1.0)], {"request": seq, "tokens": [seq]}]
            for seq in self._sequences
        ]


def make_between(
    kind: str, wanted_bytes: int, interval_ns: int, sequences: int, *, native: bool
) -> tuple[Between | None, int]:
    """(what runs between steps of `interval_ns`, the bytes that it streams, 0 if none).

    `kind` is idle, stream or objects; `native`: the loop is the core's. Raises
    BetweenError where that can't be.
    """
    if kind == "idle":
        return None, 0
    if kind == "objects":
        if native:
            raise BetweenError(
                "between = objects makes objects of Python, and nothing of Python is in the native "
                "loop; drive it per-op or per-step"
            )
        return Objects(sequences), 0
    try:
        from blockmark_impls import _native
    except ImportError:
        raise BetweenError("between = stream needs the C++ core, which is not built") from None

    size = bytes_that_fit(
        wanted_bytes,
        interval_ns // _SHARE_OF_INTERVAL,
        lambda size: _least_time(_native.Evictor(size)),
    )
    return (_native.Evictor(size), size) if size else (None, 0)


def bytes_that_fit(wanted: int, most_ns: int, time_of: Callable[[int], int]) -> int:
    """`wanted`, halved until it is streamed within `most_ns`; 0 if not even a line is."""
    size = wanted
    while size >= 64:
        if time_of(size) <= most_ns:
            return size
        size //= 2
    return 0


def _least_time(evictor: Between) -> int:
    least = 1 << 62
    for _ in range(_RUNS):
        start = perf_counter_ns()
        evictor.run()
        least = min(least, perf_counter_ns() - start)
    return least
