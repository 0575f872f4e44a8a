"""The pauses of Python's cyclic collector."""

from __future__ import annotations

import gc
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType


class CollectorLog:
    """Collections while the block runs: how many, ns in all, ns of the longest."""

    def __init__(self) -> None:
        self.collections = 0
        self.total_ns = 0
        self.longest_ns = 0
        self._start = 0

    def note(self, phase: str, info: dict[str, Any]) -> None:
        """The collector's own call at the start and stop of a collection."""
        if phase == "start":
            self._start = perf_counter_ns()
            return
        pause = perf_counter_ns() - self._start
        self.collections += 1
        self.total_ns += pause
        self.longest_ns = max(self.longest_ns, pause)

    def __enter__(self) -> CollectorLog:
        gc.callbacks.append(self.note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        gc.callbacks.remove(self.note)
