"""Rows of 32 ids beside cache lines: what width and alignment cost, from L1 to DRAM."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, cast

from blockmark.measure.process.reading import Reading, Readings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from blockmark.measure.study import StudyTask
    from blockmark.workload.scenario import Cell
    from blockmark_impls.layouts.rows import LayoutFacts
    from blockmark_impls.registry import Implementation

KIND = "layout"
REPEATS = True

_BLOCK_NS, _BLOCKS = 1_000_000, 30
_QUICK_BLOCKS = 8
# A block is timed alone until it is at least so long.
_LEAST_READS = 512
_LINE = 64


def prepare(cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Nothing to make ready."""
    return {}, {}


def prove(impl: Implementation, task: StudyTask) -> dict[str, Any]:
    """Every row lies where it should, touches the lines that arithmetic says, and packs to
    the ids that it holds. A width that the offset does not suit is unavailable.
    """
    facts = cast("LayoutFacts", impl.facts)
    if facts.family != "rows":
        return {
            "status": "unavailable",
            "reason": f"{impl.name} is a form of a batch; layout-pack measures it",
        }
    rows, offset = task.params["table_rows"], task.params["line_offset"]
    id_bytes = facts.id_bits // 8
    if offset % id_bytes:
        return {
            "status": "unavailable",
            "reason": f"ids of {id_bytes} bytes do not start {offset} bytes behind a line's start",
        }
    slab = impl.make(rows, offset)
    row_bytes = slab.row_ids * id_bytes
    for row in range(min(rows, 256)):
        begin = offset + row * row_bytes
        lines = (begin + row_bytes - 1) // _LINE - begin // _LINE + 1
        if (slab.address(row) - begin) % _LINE or slab.lines_of(row) != lines:
            return {"status": "wrong", "reason": f"row {row} is not {begin} bytes behind a line"}
        if slab.packed_row(row) != slab.row(row):
            return {"status": "wrong", "reason": f"row {row} is not what was packed of it"}
    return {"status": "ok", "operations": min(rows, 256), "steps": 1}


def measure(impl: Implementation, task: StudyTask) -> Readings:
    """The four ways to read, each in blocks of about a millisecond, and exact counts."""
    slab = impl.make(task.params["table_rows"], task.params["line_offset"])
    blocks = _QUICK_BLOCKS if task.quick else _BLOCKS
    return {
        "lines_per_row": Reading(slab.lines_of_all() / slab.rows),
        "slab_bytes": Reading(slab.bytes),
        "entry_read_ns": _timed(slab.time_entries, task.seed, blocks),
        "row_read_ns": _timed(slab.time_rows, task.seed, blocks),
        "row_load_ns": _timed(slab.time_loads, task.seed, blocks),
        "row_pack_ns": _timed(slab.time_packing, task.seed, blocks),
    }


def _timed(read: Callable[[int, int], int], seed: int, blocks: int) -> Reading:
    count = _LEAST_READS
    while (ns := read(count, seed)) < _BLOCK_NS // 2:
        count *= 2
    count = max(1, count * _BLOCK_NS // ns)
    # Another walk each time: one that is repeated would be in the caches.
    started = perf_counter_ns()
    times = []
    for block in range(blocks):
        times.append(read(count, seed + block + 1) / count)
        if perf_counter_ns() - started > 3 * blocks * _BLOCK_NS:
            break
    return Reading(min(times), sum(times) / len(times))


def extra_time_s(params: Mapping[str, Any]) -> float:
    """None: three times thirty blocks."""
    return 0.0
