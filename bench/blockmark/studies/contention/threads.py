"""One round of a pool of the core under threads: windows, then one long stretch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark.measure.machine import usable_cores
from blockmark.measure.probes.overlap import overlap_metrics, window_plan
from blockmark.measure.process.reading import Reading, Readings

if TYPE_CHECKING:
    from blockmark.measure.study import StudyTask
    from blockmark_impls.registry import Implementation

# The kernel splits CPU time into user and kernel by ticks of up to 10 ms.
_LEAST_SPLIT_NS = 30_000_000
_QUICK_STRETCH_S = 0.05
_OF_WINDOWS = (
    "pair_ns",
    "pairs_per_s",
    "cpu_ns_per_pair",
    "voluntary_switches_per_s",
    "take_latency_undisturbed_ns",
    "fairness",
)


def measure_pool(impl: Implementation, task: StudyTask) -> Readings:
    """Every metric of the study that threads have.

    Raises RuntimeError if a block was lost meanwhile.
    """
    params = task.params
    threads, batch, think = params["threads"], params["batch"], params["think_ns"]
    seconds = min(params["stretch_seconds"], _QUICK_STRETCH_S if task.quick else 1e9)
    pool = impl.make(params["total_blocks"], threads)
    if rate := params["request_rate"]:
        found = _paced(pool.paced(batch, think, int(seconds * 1e9), rate))
    else:
        found = {}
        together = threads <= usable_cores()
        if together:
            # A contended hand-over takes some hundred ns, a copy of ids about one each.
            plan = window_plan(think + 1_000 + 20 * batch, quick=task.quick)
            found |= _windows(pool.windows(batch, think, **plan), threads)
        stretch = pool.closed(batch, think, int(seconds * 1e9))
        found |= _stretch(stretch)
        if not together:
            found |= _oversubscribed(stretch, threads)
    found["stranded_blocks"] = Reading(pool.stranded)
    if sorted(pool.free_ids()) != list(range(params["total_blocks"])):
        raise RuntimeError("blocks were lost or doubled while it was measured")
    return found


def _windows(windows: Any, threads: int) -> Readings:
    overlap, histogram = overlap_metrics(windows)
    found: Readings = {"overlap_share": Reading(overlap.share)}
    if overlap.reason:
        # Without the proof nothing says anything about contention.
        return found | {name: Reading.missing(overlap.reason) for name in _OF_WINDOWS}
    if threads > 1:
        found["fairness"] = Reading(overlap.fairness)
    return found | {
        "pair_ns": Reading(overlap.op_ns, overlap.op_mean_ns),
        "pairs_per_s": Reading(overlap.ops_per_s),
        "cpu_ns_per_pair": Reading(overlap.cpu_ns),
        "voluntary_switches_per_s": Reading(overlap.voluntary_per_s),
        "take_latency_undisturbed_ns": Reading.spread(histogram),
    }


def _stretch(stretch: Any) -> Readings:
    """The whole stretch: what windows are too short for."""
    cpu = sum(one.cpu_ns for one in stretch.threads)
    elapsed = sum(one.elapsed_ns for one in stretch.threads)
    found = _books(stretch) | {
        "take_latency_ns": Reading.spread(stretch.latency),
        "on_cpu_share": Reading(cpu / elapsed),
    }
    found["kernel_share"] = kernel_share(
        sum(one.user_ns for one in stretch.threads), sum(one.kernel_ns for one in stretch.threads)
    )
    return found


def kernel_share(user_ns: int, kernel_ns: int) -> Reading:
    """The kernel's share of CPU time, where that is long enough to be split by ticks."""
    split = user_ns + kernel_ns
    if split < _LEAST_SPLIT_NS:
        return Reading.missing(
            f"{split / 1e6:.0f} ms of CPU time are too few for the kernel's ticks; "
            "raise stretch_seconds"
        )
    return Reading(kernel_ns / split)


def _oversubscribed(stretch: Any, threads: int) -> Readings:
    """Threads that take turns on too few processors: what the stretch as a whole says."""
    reason = (
        f"oversubscribed: {threads} threads on {usable_cores()} processors can't all run at once"
    )
    missing = Reading.missing(reason)
    counts = [one.pairs for one in stretch.threads]
    found = {"overlap_share": missing, "take_latency_undisturbed_ns": missing}
    if not any(counts):
        return found
    elapsed = [one.elapsed_ns for one in stretch.threads]
    return found | {
        "pair_ns": Reading(sum(elapsed) / sum(counts)),
        "cpu_ns_per_pair": Reading(sum(one.cpu_ns for one in stretch.threads) / sum(counts)),
        "voluntary_switches_per_s": _per_s(stretch, "voluntary"),
        "pairs_per_s": Reading(sum(counts) / max(elapsed) * 1e9),
        "fairness": Reading(min(counts) / max(counts)),
    }


def _paced(stretch: Any) -> Readings:
    elapsed = max(one.elapsed_ns for one in stretch.threads)
    inside = sum(one.in_pool_ns for one in stretch.threads)
    return {
        "take_latency_ns": Reading.spread(stretch.latency),
        "pairs_per_s": Reading(sum(one.pairs for one in stretch.threads) / elapsed * 1e9),
        "cpu_share_at_rate": Reading(inside / elapsed),
        "voluntary_switches_per_s": _per_s(stretch, "voluntary"),
    } | _books(stretch)


def _books(stretch: Any) -> Readings:
    takes = sum(one.pairs + one.refused for one in stretch.threads)
    refused = sum(one.refused for one in stretch.threads)
    return {
        "involuntary_switches_per_s": _per_s(stretch, "involuntary"),
        "refused_share": Reading(refused / takes if takes else 0.0),
    }


def _per_s(stretch: Any, name: str) -> Reading:
    seconds = max(one.elapsed_ns for one in stretch.threads) / 1e9
    return Reading(sum(getattr(one, name) for one in stretch.threads) / seconds)
