"""A sampling profiler for replays whose loop is in Python.

A timer interrupts the process every millisecond or two, and the stack is written as it is,
from within the signal. A handler in Python would not do: it runs only where the interpreter
next looks for signals, which is mostly at the start of a function or of a loop's turn, and
would charge those with what ran before. A call into the C++ core is charged to the line that
made it.

For a few instructions while C enters a function in Python (map, sorted with a key) and leaves
it, the innermost frame is not valid. The interpreter's own fault handler, which can write the
stack too, then crashes (CPython 3.11 to 3.13) or follows a table without an end (3.12), so the
core has a walk of its own that expects it. A sample of which nothing can be told is counted as
lost.
"""

from __future__ import annotations

import faulthandler
import gc
import random
import signal
from typing import TYPE_CHECKING

from .tracebacks import Call, parse_tracebacks

try:
    from blockmark_impls import _native

    _OWN_WALK = _native.knows_python_frames
except ImportError:
    _OWN_WALK = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import CodeType

# Gaps between samples vary, or they could keep step with the steps of the load.
_LEAST_GAP_S, _MOST_GAP_S = 0.0012, 0.0024


class Sampler:
    """A region of a replay; samples are taken inside it alone, between start and stop.

    `root` is the outermost function that is kept of a stack, and samples without it are
    dropped. `file` takes the stacks as text. Wall clock: time in which the process does
    not run is charged to where it stood. `lost` counts the samples that could not be taken.
    """

    def __init__(self, root: CodeType, file: Path, seed: int) -> None:
        self._root = root
        self._path = file
        self._file = file.open("w")
        self._gaps = random.Random(seed)
        self.lost = 0

    def start(self) -> None:
        """Start the timer; samples are held back until a region is entered."""
        self.leave()
        if _OWN_WALK:
            _native.stack_samples_start(self._file.fileno())
        else:  # a sample may crash the process
            faulthandler.register(signal.SIGALRM, self._file, all_threads=False)
        self.arm()

    def arm(self) -> None:
        """Give the timer another gap."""
        gap = self._gaps.uniform(_LEAST_GAP_S, _MOST_GAP_S)
        signal.setitimer(signal.ITIMER_REAL, gap, gap)

    def stop(self) -> None:
        """Stop the timer. A sample that is still held back is not taken."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        if _OWN_WALK:
            self.lost += _native.stack_samples_stop()
        else:
            faulthandler.unregister(signal.SIGALRM)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        self.enter()

    def enter(self) -> None:
        """From here on samples are taken."""
        # One that was held back falls into this very call, which is how it is known.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})

    def leave(self) -> None:
        """From here on they are held back."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})

    def stacks(self) -> list[tuple[list[tuple[str, str, int, int]], int]]:
        """[(name, file, line, first line), ...], outermost call first, and its samples."""
        self._file.close()
        text = self._path.read_text("utf-8", "replace")
        names = _Names()
        found = []
        for calls, count in parse_tracebacks(text).items():
            inside = self._inside(calls)
            if inside:
                found.append(([names.whole(call) for call in inside], count))
        return found

    def _inside(self, calls: tuple[Call, ...]) -> tuple[Call, ...]:
        """The calls from the root inwards; none for a sample of the sampler itself."""
        if any(call.file == __file__ for call in calls):
            return ()
        root = self._root
        for place, call in enumerate(calls):
            if (call.file, call.name) == (root.co_filename, root.co_name):
                return calls[place:]
        return ()


class _Names:
    """The functions of this process, for their whole names: `Class.method`."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], list[CodeType]] = {}
        functions = (each for each in gc.get_objects() if hasattr(each, "__code__"))
        for code in {each.__code__ for each in functions}:
            for inner in _with_inner(code):
                self._codes.setdefault((inner.co_filename, inner.co_name), []).append(inner)

    def whole(self, call: Call) -> tuple[str, str, int, int]:
        """(name, file, line, first line); the first line is 0 where the function is unknown."""
        codes = self._codes.get((call.file, call.name), [])
        for code in codes:
            # Between two turns of a loop the interpreter may have no line.
            unknown = not call.line and len(codes) == 1
            if unknown or any(line == call.line for _, _, line in code.co_lines()):
                return code.co_qualname, call.file, call.line, code.co_firstlineno
        return call.name, call.file, call.line, 0


def _with_inner(code: object) -> Iterator[CodeType]:
    from types import CodeType

    if isinstance(code, CodeType):
        yield code
        for constant in code.co_consts:
            yield from _with_inner(constant)
