"""How often a steady step asks the heap, in a round and on its own.

On its own the count is of the same steps each time: no clock decides how far the program
has come before, so the number is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..probes.timing import Cursor
from ..replay import MissingOperationsError, bind
from .conditions import set_collector
from .setup import SubjectSetup, core_is_built

if TYPE_CHECKING:
    from blockmark_impls.registry import Implementation

    from ..process.task import CellTask

_LEAST_STEPS = 64
# Operations before the count, in which tables and pools get to their largest.
_PRELUDE = 2_000_000


def steady_allocations(cursor: Cursor) -> float | str:
    """Heap allocations in a step of the load, over at least 64; or why there is no number."""
    if not core_is_built():
        return "counting needs the C++ core, which is not built"
    if not cursor.replay.counts_allocations:
        return "operator new of this process is not the module's own"
    period = cursor.program.period
    steps = period * max(1, _LEAST_STEPS // period)
    counted, _ = cursor.replay.allocations(cursor.advance(steps), steps)
    # Steps off the clock are no steps of the load.
    return counted / (cursor.program.units[1] * steps / period)


def count_allocations(impl: Implementation, task: CellTask) -> dict[str, Any]:
    """The worker's answer: `allocations`, a number or a reason.

    Of the programs only that of the model `step` is used, after a turn of its body.
    """
    return {"status": "ok", "allocations": _of_steps(impl, task)}


def _of_steps(impl: Implementation, task: CellTask) -> float | str:
    programs = task.programs.get("step", [])
    if not programs or "step" not in impl.models:
        return "there is no step to be counted"
    subject = SubjectSetup(impl, task)
    set_collector(subject.params["gc"])
    program = programs[0].load()
    try:
        replay = bind(subject.manager(), program, subject.call_style)
    except MissingOperationsError as missing:
        return str(missing)
    replay.setup()
    cursor = Cursor(replay, program)
    cursor.run(program.turn_of(_PRELUDE))
    return steady_allocations(cursor)
