"""Replaying a Program from Python, and one face for that and the native replay.

Per operation, every call crosses from the loop into the manager: what a Python
engine pays. Per step, whole runs of appends and lookups are one call each, for
managers that have the batch operations; anything else is composed from the single
ones. Operands are decoded outside the clock.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

from blockmark.workload.program import FREE_SPACE, METHODS, Op, Program
from blockmark_impls.contract import missing_operations

from .missing import name_missing
from .probes.pacing import run_ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .probes.pacing import Pace, Paced

    Numbers = tuple[int, ...]
    # Does a run of one operation; its last answer, or that of the whole batch.
    Executor = Callable[[Any, Any, Any], Any]
    Call = tuple[Executor, Any, Any, Any]


class MissingOperationsError(RuntimeError):
    """A program has operations that the implementation has no method for."""


class Recorder(Protocol):
    """Where single step times go: the histogram of either tier."""

    def record(self, value: int, /) -> None:
        """Count one time in ns."""


class Evictor(Protocol):
    """Empties a cache, outside the clock."""

    def run(self) -> None:
        """Stream the buffer."""


class Region(Protocol):
    """What a replay goes in and out of: counters that count only inside."""

    def enter(self) -> None:
        """Begin to count."""

    def leave(self) -> None:
        """Stop counting."""


class Replay(Protocol):
    """A Program bound to a manager; steps are counted from the body's first, cyclic."""

    @property
    def counts_allocations(self) -> bool:
        """Whether `allocations` sees every request; not where another operator new serves."""

    def setup(self) -> None:
        """Run the set-up steps, off the clock."""

    def run(self, first: int, steps: int) -> tuple[int, int]:
        """Replay steps; (ns in phase 1, ns in phase 2)."""

    def answers(self, first: int, steps: int) -> Sequence[int]:
        """Replay steps off the clock; what their operations answered.

        For each that answers: its index in the program, how many numbers, and the numbers:
        1 or 0, source and target of each copy, a block, or of each packed row its length and
        columns; of a batch all in one, under its first operation.
        """

    def run_each(self, first: int, steps: int, one: Any, two: Any) -> None:
        """Replay steps, each timed one alone, into a histogram per phase."""

    def run_cold(self, first: int, steps: int, evictor: Evictor) -> list[int]:
        """Replay steps; ns of each timed one, with the cache emptied before it."""

    def allocations(self, first: int, steps: int) -> tuple[int, int]:
        """Heap allocations inside timed steps, by phase."""

    def run_within(self, first: int, steps: int, phase: int, region: Any) -> None:
        """Replay steps, those of one phase inside the region, the others outside it."""

    def run_paced(self, first: int, pace: Pace) -> Paced:
        """Replay steps at a rate, for a time; see probes/pacing.py."""


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


class PythonReplay:
    """The loop in Python, per operation or per step."""

    counts_allocations = True

    def __init__(self, manager: Any, program: Program, *, per_step: bool) -> None:
        self._program = program
        self._per_step = per_step
        self._manager = manager
        self._executors = _executors(manager, program)
        missing = {Op(code) for code in set(program.codes)} - self._executors.keys()
        if missing:
            names = name_missing(manager, sorted({METHODS[op] for op in missing}))
            raise MissingOperationsError(f"the implementation lacks {names}")
        self._batched = _batch_executors(manager) if per_step else {}
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


def _executors(manager: Any, program: Program) -> dict[Op, Executor]:
    """One tight loop for each operation the manager has, its method looked up once."""
    handles: dict[int, Any] = {}
    # What was given back is kept only for programs that ask for it again.
    remembered: dict[int, Any] = {}
    give = _give_and_remember if Op.REMOVE in set(program.codes) else _give
    makers: dict[Op, Callable[[Any], Executor]] = {
        Op.CAN_ALLOCATE: _unary,
        Op.ALLOCATE: _binary,
        Op.APPEND: _unary,
        Op.EXTEND: _binary,
        Op.TRUNCATE: _binary,
        Op.DROP_FRONT: _binary,
        Op.FORK: _fork,
        Op.FREE: _unary,
        Op.LOOKUP: _binary,
        Op.LOOKUP_CHAIN: _chain,
        Op.PACK: lambda method: _pack(method, program),
        Op.TAKE: lambda method: _take(method, handles),
        Op.GIVE: lambda method: give(method, handles, remembered),
        Op.REMOVE: lambda method: _remove(method, handles, remembered),
        Op.FIND: _unary,
        Op.COMPACT: _unary,
    }
    methods = {op: getattr(manager, METHODS[op], None) for op in makers}
    return {op: makers[op](method) for op, method in methods.items() if method is not None}


def _batch_executors(manager: Any) -> dict[Op, Executor]:
    found: dict[Op, Executor] = {}
    if hasattr(manager, "append_slots"):
        append_slots = manager.append_slots
        found[Op.APPEND] = lambda a, b, c: append_slots(a)
    if hasattr(manager, "lookup_slots"):
        import numpy as np

        lookup_slots = manager.lookup_slots
        answers: dict[int, Any] = {}

        def lookups(a: Any, b: Any, c: Any) -> Any:
            out = answers.get(len(a))
            if out is None:
                out = answers[len(a)] = np.empty(len(a), dtype=np.int32)
            lookup_slots(a, b, out)
            return out

        found[Op.LOOKUP] = lookups
    return found


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


def _unary(method: Callable[[int], Any]) -> Executor:
    # To keep an answer costs what it costs to drop it.
    def execute(a: Numbers, b: Numbers, c: Numbers) -> Any:
        answer = None
        for x in a:
            answer = method(x)
        return answer

    return execute


def _binary(method: Callable[[int, int], Any]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> Any:
        answer = None
        for x, y in zip(a, b, strict=True):
            answer = method(x, y)
        return answer

    return execute


def _fork(method: Callable[[int, int, int | None], object]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> None:
        for x, y, z in zip(a, b, c, strict=True):
            method(x, y, z or None)

    return execute


def _chain(method: Callable[[int, int], int]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> int:
        last = 0
        for x, y in zip(a, b, strict=True):
            last = method(x, y ^ (last & 0))
        return last

    return execute


def _pack(method: Callable[[Any, Any, Any], object], program: Program) -> Executor:
    # One output for each number of rows, as an engine has: a step writes the same place.
    buffers: dict[int, tuple[Any, Any]] = {}

    def execute(a: Any, b: Any, c: Any) -> Any:
        rows = len(a)
        if rows not in buffers:
            import numpy as np

            buffers[rows] = (
                np.zeros((rows, program.width), dtype=np.int32),
                np.zeros(rows, dtype=np.int32),
            )
        method(a, *buffers[rows])
        return buffers[rows]

    return execute


def _take(method: Callable[[int], Any], handles: dict[int, Any]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> Any:
        for handle, k in zip(a, b, strict=True):
            handles[handle] = method(k)
        return handles[a[-1]] if a else None

    return execute


def _give(method: Callable[[Any], object], handles: dict[int, Any], _: dict[int, Any]) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> None:
        for handle in a:
            method(handles.pop(handle))

    return execute


def _give_and_remember(
    method: Callable[[Any], object], handles: dict[int, Any], remembered: dict[int, Any]
) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> None:
        for handle in a:
            ids = remembered[handle] = handles.pop(handle)
            method(ids)

    return execute


def _remove(
    method: Callable[[int], object], handles: dict[int, Any], remembered: dict[int, Any]
) -> Executor:
    def execute(a: Numbers, b: Numbers, c: Numbers) -> None:
        for handle in a:
            ids = handles[handle] = remembered[handle]
            for block in ids:
                method(block)

    return execute


def is_native_pool(target: Any) -> bool:
    """Whether it is a free pool of the core: with a loop of its own, and without tables."""
    return hasattr(target, "replay") and hasattr(target, "take") and not hasattr(target, "allocate")


def bind(manager: Any, program: Program, call_style: str) -> Replay:
    """The replay of `program` on `manager` in a call style."""
    if call_style == "native":
        return NativeReplay(manager, program)
    if call_style == "per-step" and is_native_pool(manager):
        from .step_calls import StepCalls

        return StepCalls(manager, program)
    return PythonReplay(manager, program, per_step=call_style == "per-step")
