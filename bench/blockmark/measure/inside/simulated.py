"""The simulated process: all cells of one implementation, replayed under callgrind.

Reads a request on stdin, writes one JSON line on stdout for every finished cell, and one
dump of callgrind for every phase of every program. Started by `simulation.py` as
`python -P -m blockmark.measure.inside.simulated` under valgrind.

Instrumentation is off while tables are set up, which makes that quick. It goes on before
the warm-up, since it begins with empty simulated caches.

The same programs run on the control that does nothing, so that the loop's own counts can be
taken off: an interpreter's, or in the native loop the operands', of which every lookup
streams 8 bytes: an eighth of a line, four times what a lookup in a flat table misses.
"""

from __future__ import annotations

import gc
import json
import random
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from blockmark_impls.registry import resolve

from ..probes.timing import Cursor
from ..process.answers import Answers
from ..process.task import CellTask
from ..replay import MissingOperationsError, PythonReplay, bind
from .conditions import set_collector
from .failures import one_line
from .setup import SubjectSetup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from blockmark.workload.program import Program
    from blockmark_impls.registry import Implementation

    from ..process.task import TimedProgram

# Paced by a clock, which means nothing in here.
_WITHOUT_COUNTERS = ("rate",)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is replayed of a program, in operations as `Program.work_in` counts them.

    At least `least` are counted, in whole periods, and no period of more than `most` is.
    Before that run a turn of the body, or `warm_up`, instrumented; and before that a turn
    or `prelude` without it, in which tables grow and an interpreter settles.
    """

    least: int
    most: int
    warm_up: int
    prelude: int


# An operation takes 0.2 to 6 us here, and 5 to 20 us where Python loops.
NATIVE = Effort(least=30_000, most=20_000_000, warm_up=2_000_000, prelude=0)
PYTHON = Effort(least=3_000, most=2_000_000, warm_up=4_000, prelude=200_000)


def main() -> None:
    """Simulate what stdin asks for."""
    from blockmark_impls import _native

    answers = Answers()
    request = json.load(sys.stdin)
    answers.begin_with(request["mark"])
    if not _native.running_on_valgrind():
        raise SystemExit("this process is not under valgrind, or the core lacks its header")
    impl = resolve(request["impl"])[0]
    for job in request["cells"]:
        try:
            result = {"status": "ok", **simulate_cell(impl, job)}
        except Exception as error:  # the implementation's: a result of its own
            result = {"status": "failed", "reason": one_line(error)}
        answers.say({"cell": job["cell"], **result})


def simulate_cell(impl: Implementation, job: dict[str, Any]) -> dict[str, Any]:
    """`passes`: what was dumped, for each phase; `unavailable`: cost -> why it was not.

    With `net` false in the job, the empty loop is not counted. A seed `moved_by` is of what
    lies in the heap before anything else is made.
    """
    before = _objects(job["moved_by"]) if "moved_by" in job else []
    gc.enable()
    gc.unfreeze()
    task = CellTask.of(job)
    cell = _Cell(impl, task, net=job.get("net", True))
    set_collector(cell.params["gc"])
    for model, programs in task.programs.items():
        if model in impl.models and model not in _WITHOUT_COUNTERS:
            for number, each in enumerate(programs):
                cell.simulate(f"{job['cell']}|{model}|{number}", each)
    before.clear()
    return {"passes": cell.passes, "unavailable": cell.unavailable}


def _objects(seed: int) -> list[bytearray]:
    """Objects that move what is made after them, by any distance within a page."""
    draw = random.Random(seed)
    return [bytearray(draw.randrange(16, 4096)) for _ in range(64)]


class _Cell(SubjectSetup):
    """One cell: what was dumped so far, and the empty loop that it is held against."""

    def __init__(self, impl: Implementation, task: CellTask, *, net: bool) -> None:
        super().__init__(impl, task)
        self.effort = NATIVE if self.call_style == "native" else PYTHON
        self.passes: list[dict[str, Any]] = []
        self.unavailable: dict[str, str] = {}
        self.empty: SubjectSetup | None = None
        if impl.kind != "control" and net:
            # Of the same side of the border: a call into the core is no empty loop in Python.
            name = "null/cpp" if impl.tier == "cpp" else "null/py"
            # It has nothing that could meet the holes, and the subject's heap ages once.
            young = replace(task, params={**task.params, "heap": "fresh"})
            self.empty = SubjectSetup(resolve(name)[0], young)

    def simulate(self, label: str, timed: TimedProgram) -> None:
        """Replay a program and dump each of its phases."""
        program, names, pool = timed.load(), timed.metrics, timed.pool_only
        each = program.work_in(program.period)
        if each > self.effort.most:
            reason = f"a period of {each:,} operations is too long to be simulated"
            self.unavailable |= dict.fromkeys(names.values(), reason)
            return
        load = "step_ns" in names.values()
        target = self.pool() if pool else self.manager_of_load() if load else self.manager()
        if target is None:
            reason = "the implementation has no pool of its own"
            self.unavailable |= dict.fromkeys(names.values(), reason)
            return
        try:
            cursor = self._prepare(target, program)
        except MissingOperationsError as missing:
            if self.impl.kind != "control":
                self.unavailable |= dict.fromkeys(names.values(), str(missing))
            return
        periods = -(-self.effort.least // each)
        warm = self._count(cursor, periods, names, label)
        if not pool:
            self.free_all(target)
        netted = self._count_empty(program, periods, names, label, pool=pool)
        for phase, name in names.items():
            if phase in program.units:
                self.passes.append(
                    {
                        "cost": name,
                        "label": f"{label}|{phase}|subject",
                        "baseline": f"{label}|{phase}|empty" if netted else None,
                        "units": program.units[phase] * periods,
                        "warm": warm,
                    }
                )

    def _count_empty(
        self, program: Program, periods: int, names: Mapping[int, str], label: str, *, pool: bool
    ) -> bool:
        """The same on the empty loop; false where there is none."""
        if self.empty is None:
            return False
        try:
            target = self.empty.pool() if pool else self.empty.manager()
            cursor = self._prepare(target, program)
        except MissingOperationsError:
            return False
        self._count(cursor, periods, names, label, "empty")
        return True

    def _prepare(self, target: Any, program: Program) -> Cursor:
        replay = bind(target, program, self.call_style)
        replay.setup()
        cursor = Cursor(replay, program)
        if self.effort.prelude:
            cursor.run(program.turn_of(self.effort.prelude))
        return cursor

    def _count(
        self,
        cursor: Cursor,
        periods: int,
        names: Mapping[int, str],
        label: str,
        who: str = "subject",
    ) -> bool:
        """Warm up, then dump every phase; whether the warm-up was a whole turn."""
        from blockmark_impls import _native

        program = cursor.program
        region = _native.CallgrindRegion()
        _native.callgrind_start_instrumentation()
        try:
            steps = program.turn_of(self.effort.warm_up)
            _warm_up(cursor, steps)
            for phase in names:
                if phase in program.units:
                    counted = periods * program.period
                    cursor.replay.run_within(cursor.advance(counted), counted, phase, region)
                    _native.callgrind_dump(f"{label}|{phase}|{who}")
        except BaseException:
            # What was collected until it broke must not be added to the next dump.
            region.leave()
            _native.callgrind_dump("broken")
            raise
        finally:
            _native.callgrind_stop_instrumentation()
        return steps >= program.body_steps


class _Nowhere:
    """A region that counts nothing."""

    def enter(self) -> None: ...

    def leave(self) -> None: ...


def _warm_up(cursor: Cursor, steps: int) -> None:
    """Replay without a clock where Python loops.

    Sums of ns are never the same twice, and what the interpreter does with them trains the
    simulated branch predictor.
    """
    if isinstance(cursor.replay, PythonReplay):
        cursor.replay.run_within(cursor.advance(steps), steps, 1, _Nowhere())
    else:
        cursor.run(steps)


if __name__ == "__main__":
    main()
