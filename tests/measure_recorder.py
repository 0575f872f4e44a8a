"""What recording adds to an operation in Python, in ns.

    .venv/bin/python tests/measure_recorder.py

The least of several repetitions, with and without a recorder, of operations that change
nothing (`can_allocate`, `lookup`) and of one that does (`append_slot`, on as many tokens).
"""

from __future__ import annotations

import gc
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from blockmark.recorder import Recorder
from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.vector import VectorManager

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLS, _REPETITIONS = 50_000, 9
_CONFIG = PoolConfig(65_536, 16, 256, 256)


def main() -> None:
    """Print a line for each operation."""
    operations: dict[str, Callable[[Any], None]] = {
        "can_allocate": _ask,
        "lookup": _look_up,
        "append_slot": _append,
    }
    for name, operate in operations.items():
        bare = _least(operate, recorded=False)
        noted = _least(operate, recorded=True)
        print(f"{name:13} {bare:6.0f} ns alone, {noted - bare:5.0f} ns more when recorded")


def _least(operate: Callable[[Any], None], *, recorded: bool) -> float:
    times = []
    for _ in range(_REPETITIONS):
        manager: Any = VectorManager(_CONFIG)
        for seq in range(256):
            manager.allocate(seq, 16)
        if recorded:
            manager = Recorder(manager, _CONFIG).manager
        gc.disable()
        start = perf_counter_ns()
        operate(manager)
        times.append(perf_counter_ns() - start)
        gc.enable()
    return min(times) / _CALLS


def _ask(manager: Any) -> None:
    can_allocate = manager.can_allocate
    for _ in range(_CALLS):
        can_allocate(3)


def _look_up(manager: Any) -> None:
    lookup = manager.lookup
    for _ in range(_CALLS):
        lookup(7, 0)


def _append(manager: Any) -> None:
    append_slot = manager.append_slot
    seqs = range(256)
    for at in range(_CALLS):
        append_slot(seqs[at & 255])


if __name__ == "__main__":
    main()
