"""A profiled process: one model of one implementation, replayed again and again.

It runs alone, under valgrind or under perf. Tables are set up and warmed before anything is
counted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..inside.conditions import set_collector
from ..inside.setup import SubjectSetup
from ..probes.timing import Cursor, warm_up
from ..process.task import CellTask, TimedProgram
from ..replay import MissingOperationsError, PythonReplay, bind

if TYPE_CHECKING:
    from blockmark_impls.registry import Implementation

# What callgrind counts of a program and what it warms up with, in operations; where
# Python loops an operation takes fifty times as long.
_COUNTED, _WARM_UP = 300_000, 2_000_000
_COUNTED_PYTHON, _WARM_UP_PYTHON = 20_000, 10_000
_MOST_PERIOD = 20_000_000
_WARM_UP_NS = 200_000_000
# Replays of about this long between two looks at the clock.
_TURN_S = 0.05


def profile(impl: Implementation, job: dict[str, Any]) -> dict[str, Any]:
    """Replay every program of the job's model; what was replayed, and the samples if any."""
    task = CellTask.of(job)
    subject = _Subject(impl, task)
    by: dict[str, Callable[[dict[str, Any]], _Tool]] = {
        "callgrind": _Callgrind,
        "perf": _Perf,
        "python": _Python,
    }
    tool = by[job["by"]](job)
    set_collector(subject.params["gc"])
    try:
        for programs in task.programs.values():
            for each in programs:
                subject.replay(each, tool)
    except MissingOperationsError as missing:
        return {"status": "unavailable", "reason": str(missing)}
    return {
        "status": "ok",
        "steps": subject.steps,
        "operations": subject.operations,
        **tool.finish(),
    }


class _Subject(SubjectSetup):
    """The implementation, set up as a timed round sets it up."""

    def __init__(self, impl: Implementation, task: CellTask) -> None:
        super().__init__(impl, task)
        self.steps = 0
        self.operations = 0

    def replay(self, timed: TimedProgram, tool: _Tool) -> None:
        """One program: set up, off the record; then as the tool wants it."""
        program = timed.load()
        manager = self.manager_of_load if "step_ns" in timed.names else self.manager
        target = self.pool() if timed.pool_only else manager()
        if target is None:
            raise MissingOperationsError("the implementation has no pool of its own")
        replay = bind(target, program, self.call_style)
        replay.setup()
        phases = [phase for phase in timed.metrics if phase in program.units]
        periods = tool.collect(Cursor(replay, program), phases) // program.period
        first = program.setup_steps
        period = range(first, first + program.period)
        untimed = [step for step in period if program.phases[step] not in phases]
        left_out = sum(end - start for step in untimed for _, start, end in program.runs(step))
        self.steps += periods * (program.period - len(untimed))
        self.operations += periods * (program.work_in(program.period) - left_out)
        if not timed.pool_only:
            self.free_all(target)


class _Tool:
    """What counts or samples, as seen from inside the process."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.native = job["call_style"] == "native"
        self.seconds: float = job["seconds"] / sum(map(len, job["programs"].values()))

    def collect(self, cursor: Cursor, phases: list[int]) -> int:
        """Replay each of a program's timed phases under the tool, for as many steps of the
        body, timed or not, as it returns.
        """
        raise NotImplementedError

    def finish(self) -> dict[str, Any]:
        """What goes into the answer."""
        return {}


class _Callgrind(_Tool):
    """Counts a fixed number of periods, and so the same instructions every time."""

    def collect(self, cursor: Cursor, phases: list[int]) -> int:
        from blockmark_impls import _native

        program = cursor.program
        each = program.work_in(program.period)
        if each > _MOST_PERIOD:
            raise MissingOperationsError(
                f"a period of {each:,} operations is too long for callgrind; try --by perf"
            )
        counted = _COUNTED if self.native else _COUNTED_PYTHON
        warm = _WARM_UP if self.native else _WARM_UP_PYTHON
        steps = -(-counted // each) * program.period
        region = _native.CallgrindRegion()
        # On before the warm-up: the simulated caches are empty at first.
        _native.callgrind_start_instrumentation()
        cursor.run(min(program.body_steps, max(1, warm // each) * program.period))
        for phase in phases:
            cursor.replay.run_within(cursor.advance(steps), steps, phase, region)
        _native.callgrind_stop_instrumentation()
        return steps

    def finish(self) -> dict[str, Any]:
        from blockmark_impls import _native

        _native.callgrind_dump("profile")
        return {}


class _Perf(_Tool):
    """perf samples this process from outside; it is told when, and answers."""

    def __init__(self, job: dict[str, Any]) -> None:
        super().__init__(job)
        self._say = open(job["control"], "w")  # noqa: SIM115 - as long as the process
        self._hear = open(job["acknowledged"])  # noqa: SIM115

    def collect(self, cursor: Cursor, phases: list[int]) -> int:
        warm_up(cursor, _WARM_UP_NS)
        turn = _steps_a_turn(cursor)
        self._tell("enable")
        steps, end = 0, perf_counter() + self.seconds
        while perf_counter() < end:
            cursor.run(turn)
            steps += turn
        self._tell("disable")
        return steps

    def _tell(self, word: str) -> None:
        self._say.write(f"{word}\n")
        self._say.flush()
        self._hear.readline()


class _Python(_Tool):
    """Samples of this process's own stack; steps that are not timed are left out."""

    def __init__(self, job: dict[str, Any]) -> None:
        super().__init__(job)
        from .sampler import Sampler

        root = PythonReplay.run_within.__code__
        self._sampler = Sampler(root, Path(job["tracebacks"]), job["seed"])

    def collect(self, cursor: Cursor, phases: list[int]) -> int:
        warm_up(cursor, _WARM_UP_NS)
        turn = _steps_a_turn(cursor)
        self._sampler.start()
        steps, end = 0, perf_counter() + self.seconds
        try:
            while perf_counter() < end:
                self._sampler.arm()
                for phase in phases:
                    cursor.replay.run_within(cursor.advance(turn), turn, phase, self._sampler)
                    self._sampler.leave()
                steps += turn
        finally:
            self._sampler.stop()
        return steps

    def finish(self) -> dict[str, Any]:
        return {"stacks": self._sampler.stacks(), "lost": self._sampler.lost}


def _steps_a_turn(cursor: Cursor) -> int:
    """Whole periods that take about a turn."""
    period = steps = cursor.program.period
    while True:
        start = perf_counter()
        cursor.run(steps)
        took = perf_counter() - start
        if took > _TURN_S / 4:
            return max(1, round(steps * _TURN_S / took / period)) * period
        steps *= 2
