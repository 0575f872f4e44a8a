"""The loop in C++, and one call of it a step."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from blockmark.workload.program import FREE_SPACE, METHODS
from blockmark_impls.contract import missing_operations

from .protocols import MissingOperationsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blockmark.workload.program import Program

    from ..probes.pace import Pace, Paced
    from .protocols import Evictor


class NativeReplay:
    """The loop in C++; one call from Python for any number of steps."""

    def __init__(self, manager: Any, program: Program) -> None:
        from blockmark_impls import _native

        codes = set(program.codes)
        lacking = [METHODS[op] for op in FREE_SPACE if op in codes]
        if missing := missing_operations(manager, lacking):
            raise MissingOperationsError(f"the implementation lacks {', '.join(missing)}")
        self._manager = manager
        self._core_counts = _native.allocation_counter_ok
        self._program = _native.Program(
            program.codes,
            program.run_start,
            program.a,
            program.b,
            program.c,
            program.step_runs,
            program.phases,
            program.setup_steps,
        )

    @property
    def counts_allocations(self) -> bool:
        # A class of an older core does not say it; the core does.
        return bool(getattr(self._manager, "allocation_counter_ok", self._core_counts))

    def setup(self) -> None:
        self._manager.replay_setup(self._program)

    def run(self, first: int, steps: int) -> tuple[int, int]:
        ns: tuple[int, int] = self._manager.replay(self._program, first, steps)
        return ns

    def answers(self, first: int, steps: int) -> Sequence[int]:
        found: Sequence[int] = self._manager.replay_answers(self._program, first, steps)
        return found

    def run_each(self, first: int, steps: int, one: Any, two: Any) -> None:
        self._manager.replay_each(self._program, first, steps, one, two)

    def run_cold(self, first: int, steps: int, evictor: Evictor) -> list[int]:
        times: list[int] = self._manager.replay_cold(self._program, first, steps, evictor)
        return times

    def allocations(self, first: int, steps: int) -> tuple[int, int]:
        counted: tuple[int, int] = self._manager.count_allocations(self._program, first, steps)
        return counted

    def run_within(self, first: int, steps: int, phase: int, region: Any) -> None:
        # The region must be one of the core's own: nothing of Python is in the loop.
        self._manager.replay_within(self._program, first, steps, phase, region)

    def run_paced(self, first: int, pace: Pace) -> Paced:
        # What runs between must be the core's own as well.
        paced: Paced = self._manager.replay_paced(
            self._program,
            first,
            pace.interval_ns,
            pace.duration_ns,
            pace.pacing,
            pace.between,
            pace.copy_bytes,
        )
        return paced


class StepCalls(NativeReplay):
    """A native pool called from Python once a step, its operations in arrays beside it.

    A pool has no batch operations of its own to call, as `append_slots` is one of a manager;
    what an engine would hand over is the list of a step's hand-outs and returns. So each step
    is one call of the native replay, and the clock is Python's: the crossing is inside.
    """

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
