"""A native pool called from Python once a step, its operations in arrays beside it.

A pool has no batch operations of its own to call, as `append_slots` is one of a manager;
what an engine would hand over is the list of a step's hand-outs and returns. So each step
is one call of the native replay, and the clock is Python's: the crossing is inside.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

from .replay import NativeReplay

if TYPE_CHECKING:
    from typing import Any

    from blockmark.workload.program import Program


class StepCalls(NativeReplay):
    """`NativeReplay`, one call from Python for each step."""

    def __init__(self, pool: Any, program: Program) -> None:
        super().__init__(pool, program)
        self._phases = program.phases[program.setup_steps :]

    def run(self, first: int, steps: int) -> tuple[int, int]:
        ns = [0, 0, 0]
        replay, program, phases = self._manager.replay, self._program, self._phases
        for number in range(first, first + steps):
            step = number % len(phases)
            start = perf_counter_ns()
            replay(program, step, 1)
            ns[phases[step]] += perf_counter_ns() - start
        return ns[1], ns[2]

    def run_each(self, first: int, steps: int, one: Any, two: Any) -> None:
        for number in range(first, first + steps):
            times = self.run(number, 1)
            if phase := self._phases[number % len(self._phases)]:
                (one if phase == 1 else two).record(times[phase - 1])
