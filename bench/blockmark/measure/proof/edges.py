"""Which edges of a target's code its calls took: what a search is guided by.

An edge goes from one line to the next that runs, in the files of the target; with it goes how
often it was taken, in eight classes (as AFL counts: M. Zalewski, "Technical whitepaper for
afl-fuzz"). A header tells of edges between the compiler's own blocks.
"""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import CodeType, FrameType

# The least count of each class but the first.
_CLASSES = (2, 3, 4, 8, 16, 32, 128)


class Edges(Protocol):
    """What a run of calls took. Used as `with edges: ...`, then `taken()`."""

    def __enter__(self) -> object: ...
    def __exit__(self, *_: object) -> None: ...

    def taken(self) -> frozenset[int]:
        """The edges of the last run, each with the class of its count."""


class PythonEdges:
    """Edges between lines of some files, by sys.monitoring, or before 3.12 by sys.settrace."""

    def __init__(self, files: Collection[str]) -> None:
        self._files = frozenset(files)
        self._counts: Counter[tuple[str, int, int]] = Counter()
        self._last = 0

    def __enter__(self) -> PythonEdges:
        self._counts.clear()
        self._last = 0
        if hasattr(sys, "monitoring"):
            self._monitor()
        else:
            sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(sys, "monitoring"):
            monitoring: Any = sys.monitoring
            monitoring.set_events(monitoring.COVERAGE_ID, 0)
            monitoring.free_tool_id(monitoring.COVERAGE_ID)
        else:
            sys.settrace(None)

    def taken(self) -> frozenset[int]:
        return frozenset(
            zlib.crc32(f"{file}:{before}:{line}:{class_of(count)}".encode())
            for (file, before, line), count in self._counts.items()
        )

    def _took(self, code: CodeType, line: int) -> None:
        self._counts[code.co_filename, self._last, line] += 1
        self._last = line

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._traced if frame.f_code.co_filename in self._files else None

    def _traced(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._took(frame.f_code, frame.f_lineno)
        return self._traced

    def _monitor(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]

        def line(code: CodeType, number: int) -> Any:
            if code.co_filename not in self._files:
                return monitoring.DISABLE
            return self._took(code, number)

        monitoring.use_tool_id(monitoring.COVERAGE_ID, "blockmark")
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, line)
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
        monitoring.restart_events()


class NativeEdges:
    """Edges of a header that was built with the compiler's coverage."""

    def __init__(self, coverage: Any) -> None:
        self._coverage = coverage

    def __enter__(self) -> NativeEdges:
        self._coverage.clear()
        return self

    def __exit__(self, *_: object) -> None:
        return

    def taken(self) -> frozenset[int]:
        found: frozenset[int] = self._coverage.edges()
        return found


def class_of(count: int) -> int:
    """Which of the eight classes a count is in, from 0 on."""
    return sum(count >= least for least in _CLASSES)
