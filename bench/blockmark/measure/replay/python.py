"""The loop in Python.

Per operation, every call crosses from the loop into the manager: what a Python
engine pays. Per step, whole runs of appends and lookups are one call each, for
managers that have the batch operations; anything else is composed from the single
ones. Operands are decoded outside the clock.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from blockmark.workload.program import METHODS, Op, Program

from ..missing import name_missing
from ..probes.pacing import run_ticks
from .executors import batch_executors, executors
from .protocols import MissingOperationsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..probes.pace import Pace, Paced
    from .protocols import Call, Evictor, Recorder, Region

_ANSWERING = {
    Op.CAN_ALLOCATE, Op.APPEND, Op.EXTEND, Op.LOOKUP, Op.LOOKUP_CHAIN, Op.PACK, Op.TAKE, Op.FIND,
}  # fmt: skip


def _record(record: list[int], index: int, code: Op, answer: Any) -> None:
    """Put down what an operation answered: a number, blocks, copies or rows. What one that
    answers nothing returns is its own affair.
    """
    if answer is None or code not in _ANSWERING:
        return
    if code is Op.PACK:
        rows, lengths = answer
        numbers = [n for row, size in zip(rows, lengths, strict=True) for n in (size, *row)]
    elif isinstance(answer, bool | int) or not hasattr(answer, "__iter__"):
        numbers = [answer]
    else:
        parts = (item if isinstance(item, tuple) else (item,) for item in answer)
        numbers = [number for part in parts for number in part]
    record += [index, len(numbers), *map(int, numbers)]


class PythonReplay:
    """The loop in Python, per operation or per step."""

    counts_allocations = True

    def __init__(self, manager: Any, program: Program, *, per_step: bool) -> None:
        self._program = program
        self._per_step = per_step
        self._manager = manager
        self._executors = executors(manager, program)
        missing = {Op(code) for code in set(program.codes)} - self._executors.keys()
        if missing:
            names = name_missing(manager, sorted({METHODS[op] for op in missing}))
            raise MissingOperationsError(f"the implementation lacks {names}")
        self._batched = batch_executors(manager) if per_step else {}
        self._decoded: dict[int, list[Call]] = {}

    def setup(self) -> None:
        for step in range(self._program.setup_steps):
            for execute, a, b, c in self._decode(step):
                execute(a, b, c)

    def run(self, first: int, steps: int) -> tuple[int, int]:
        plan = self._plan(first, steps)
        ns = [0, 0, 0]
        phase, start = 0, 0
        for next_phase, calls in plan:
            if next_phase != phase:
                now = perf_counter_ns()
                ns[phase] += now - start
                # Read again: what the bookkeeping took belongs to no phase.
                phase, start = next_phase, perf_counter_ns()
            for execute, a, b, c in calls:
                execute(a, b, c)
        ns[phase] += perf_counter_ns() - start
        return ns[1], ns[2]

    def answers(self, first: int, steps: int) -> Sequence[int]:
        program = self._program
        record: list[int] = []
        for number in self._numbers(first, steps):
            for code, begin, end in program.runs(number):
                if code in self._batched or code is Op.PACK:
                    # One call for the whole run, as it is timed.
                    execute, a, b, c = self._call(code, begin, end)
                    _record(record, begin, code, execute(a, b, c))
                    continue
                execute = self._executors[code]
                for i in range(begin, end):
                    answer = execute((program.a[i],), (program.b[i],), (program.c[i],))
                    _record(record, i, code, answer)
        return record

    def run_each(self, first: int, steps: int, one: Recorder, two: Recorder) -> None:
        for phase, calls in self._plan(first, steps):
            start = perf_counter_ns()
            for execute, a, b, c in calls:
                execute(a, b, c)
            elapsed = perf_counter_ns() - start
            if phase:
                (one if phase == 1 else two).record(elapsed)

    def run_cold(self, first: int, steps: int, evictor: Evictor) -> list[int]:
        times = []
        for phase, calls in self._plan(first, steps):
            if phase:
                evictor.run()
            start = perf_counter_ns()
            for execute, a, b, c in calls:
                execute(a, b, c)
            if phase:
                times.append(perf_counter_ns() - start)
        return times

    def allocations(self, first: int, steps: int) -> tuple[int, int]:
        from blockmark_impls import _native

        # A structure in C++ that Python calls asks the C heap as well, counted by the module
        # that it was compiled into; one that a class in Python holds is the core's.
        heap = getattr(self._manager, "heap_allocations", _native.heap_allocations)
        counted = [0, 0, 0]
        for phase, calls in self._plan(first, steps):
            # An empty window tells what starting and stopping the count costs itself.
            _native.python_allocations_start()
            own = _native.python_allocations_stop()
            before = heap()
            _native.python_allocations_start()
            for execute, a, b, c in calls:
                execute(a, b, c)
            requests = _native.python_allocations_stop() - own
            counted[phase] += max(0, requests + heap() - before)
        return counted[1], counted[2]

    def run_within(self, first: int, steps: int, phase: int, region: Region) -> None:
        inside = False
        for next_phase, calls in self._plan(first, steps):
            if (next_phase == phase) is not inside:
                inside = not inside
                (region.enter if inside else region.leave)()
            for execute, a, b, c in calls:
                execute(a, b, c)
        if inside:
            region.leave()

    def run_paced(self, first: int, pace: Pace) -> Paced:
        return run_ticks(pace, _Ticks(self._program, self._decoded, self._decode, first))

    def _plan(self, first: int, steps: int) -> list[tuple[int, list[Call]]]:
        phases = self._program.phases
        return [(phases[n], self._decode(n)) for n in self._numbers(first, steps)]

    def _numbers(self, first: int, steps: int) -> list[int]:
        body = range(self._program.setup_steps, self._program.num_steps)
        return [body[(first + i) % len(body)] for i in range(steps)]

    def _decode(self, step: int) -> list[Call]:
        if step not in self._decoded:
            self._decoded[step] = [
                self._call(code, first, end) for code, first, end in self._program.runs(step)
            ]
        return self._decoded[step]

    def _call(self, code: Op, first: int, end: int) -> Call:
        program = self._program
        columns = program.a[first:end], program.b[first:end], program.c[first:end]
        if code in self._batched or code is Op.PACK:
            import numpy as np

            arrays = [np.frombuffer(column, dtype=np.int32) for column in columns]
            executor = self._batched.get(code) or self._executors[code]
            return executor, arrays[0], arrays[1], arrays[2]
        # Tuples of numbers are soon left alone by Python's collector; lists never are.
        a, b, c = (tuple(column.tolist()) for column in columns)
        return self._executors[code], a, b, c


class _Ticks:
    """The ticks of a body, decoded when they are first met: off the clock, as in a replay."""

    def __init__(
        self,
        program: Program,
        decoded: Mapping[int, list[Call]],
        decode: Callable[[int], list[Call]],
        first: int,
    ) -> None:
        self._first_step = program.setup_steps
        self._phases = program.phases[program.setup_steps :]
        if 1 not in self._phases:
            raise ValueError("the program has no step of phase 1 after its set-up")
        self._decoded = decoded
        self._decode = decode
        self._at = first % len(self._phases)

    def has_untimed(self) -> bool:
        return self._phases[self._at] != 1 or any(
            self._first_step + step not in self._decoded for step in self._steps()
        )

    def untimed(self) -> None:
        while self._phases[self._at] != 1:
            for execute, a, b, c in self._decode(self._first_step + self._at):
                execute(a, b, c)
            self._at = self._after(self._at)
        for step in self._steps():
            self._decode(self._first_step + step)

    def tick(self) -> tuple[list[Call], list[Call]]:
        one, *rest = self._steps()
        self._at = self._after(rest[-1] if rest else one)
        two = [call for step in rest for call in self._decode(self._first_step + step)]
        return self._decode(self._first_step + one), two

    def _steps(self) -> list[int]:
        """The steps of the next tick: one of phase 1, and those of phase 2 behind it."""
        steps = [self._at]
        step = self._after(self._at)
        while self._phases[step] == 2:
            steps.append(step)
            step = self._after(step)
        return steps

    def _after(self, step: int) -> int:
        return step + 1 if step + 1 < len(self._phases) else 0
