"""The study of false sharing: threads that write their own counts on common cache lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark.measure.machine import usable_cores
from blockmark.measure.probes.overlap import check_threads, overlap_metrics, window_plan
from blockmark.measure.process.reading import Reading, Readings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from blockmark.measure.study import StudyTask
    from blockmark.workload.scenario import Cell
    from blockmark_impls.registry import Implementation

KIND = "counter-layout"
REPEATS = True
# A chunk of 128 writes to a contended line takes some microseconds.
_CHUNK_NS = 5_000


def prepare(cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Nothing to make. Raises ConfigError for more threads than make sense."""
    check_threads(cell["threads"], usable_cores())
    return {}, {"cores_usable": usable_cores()}


def prove(impl: Implementation, task: StudyTask) -> dict[str, Any]:
    """Every write must arrive: the core looks at all counts afterwards, here and when timed."""
    threads, cores = task.params["threads"], usable_cores()
    if threads > cores:
        return {
            "status": "unavailable",
            "reason": f"lines are shared by threads that run at once, which {threads} on {cores} "
            f"{'processor' if cores == 1 else 'processors'} can't; set threads to {cores} or fewer",
        }
    plan = window_plan(_CHUNK_NS, quick=True)
    try:
        windows = impl.make(threads, task.seed, plan)
    except ValueError as error:
        return {"status": "wrong", "reason": str(error)}
    operations = sum(row[0] for rows in windows.threads for row in rows)
    return {"status": "ok", "operations": operations, "steps": len(windows.threads)}


def measure(impl: Implementation, task: StudyTask) -> Readings:
    """Writes of all threads, and of one alone in the same process."""
    threads, quick = task.params["threads"], task.quick
    plan = window_plan(_CHUNK_NS, quick=quick)

    def overlap(count: int) -> Any:
        return overlap_metrics(impl.make(count, task.seed, plan))[0]

    alone = overlap(1)
    all_of_them = overlap(threads) if threads > 1 else alone
    found = {
        "write_ns": _cost(all_of_them),
        "write_alone_ns": _cost(alone),
        "write_overlap_share": Reading(all_of_them.share),
        "ping_pong_ns": _ping_pong(),
    }
    reason = all_of_them.reason or alone.reason
    found["sharing_slowdown"] = (
        Reading.missing(reason) if reason else Reading(all_of_them.op_ns / alone.op_ns)
    )
    return found


def extra_time_s(params: Mapping[str, Any]) -> float:
    """Windows take a part of a second."""
    return 0.0


def _cost(overlap: Any) -> Reading:
    if overlap.reason:
        return Reading.missing(overlap.reason)
    return Reading(overlap.op_ns, overlap.op_mean_ns)


def _ping_pong() -> Reading:
    from blockmark_impls import _native

    ns = _native.ping_pong_ns()
    return Reading(ns) if ns >= 0 else Reading.missing("there is one processor only")
