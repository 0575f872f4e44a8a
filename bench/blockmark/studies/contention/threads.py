"""One round of a pool of the core under threads: windows, then one long stretch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark.measure.machine import usable_cores
from blockmark.measure.probes.histograms import as_json
from blockmark.measure.probes.overlap import overlap_metrics, window_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def measure_pool(
    source: Any, parameters: Mapping[str, Any], job: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Every metric of the study that threads have.

    Raises RuntimeError if a block was lost meanwhile.
    """
    params = job["params"]
    threads, batch, think = params["threads"], params["batch"], params["think_ns"]
    seconds = min(params["stretch_seconds"], _QUICK_STRETCH_S if job["quick"] else 1e9)
    pool = source.make(params["total_blocks"], threads, parameters)
    if rate := params["request_rate"]:
        found = _paced(pool.paced(batch, think, int(seconds * 1e9), rate))
    else:
        found = {}
        together = threads <= usable_cores()
        if together:
            # A contended hand-over takes some hundred ns, a copy of ids about one each.
            plan = window_plan(think + 1_000 + 20 * batch, quick=job["quick"])
            found |= _windows(pool.windows(batch, think, **plan), threads)
        stretch = pool.closed(batch, think, int(seconds * 1e9))
        found |= _stretch(stretch)
        if not together:
            found |= _oversubscribed(stretch, threads)
    found["stranded_blocks"] = {"value": pool.stranded}
    if sorted(pool.free_ids()) != list(range(params["total_blocks"])):
        raise RuntimeError("blocks were lost or doubled while it was measured")
    return found


def _windows(windows: Any, threads: int) -> dict[str, dict[str, Any]]:
    overlap, histogram = overlap_metrics(windows)
    found: dict[str, dict[str, Any]] = {"overlap_share": {"value": overlap.share}}
    if overlap.reason:
        # Without the proof nothing says anything about contention.
        return found | {name: {"unavailable": overlap.reason} for name in _OF_WINDOWS}
    if threads > 1:
        found["fairness"] = {"value": overlap.fairness}
    return found | {
        "pair_ns": {"value": overlap.op_ns, "mean": overlap.op_mean_ns},
        "pairs_per_s": {"value": overlap.ops_per_s},
        "cpu_ns_per_pair": {"value": overlap.cpu_ns},
        "voluntary_switches_per_s": {"value": overlap.voluntary_per_s},
        "take_latency_undisturbed_ns": {"histogram": histogram},
    }


def _stretch(stretch: Any) -> dict[str, dict[str, Any]]:
    """The whole stretch: what windows are too short for."""
    cpu = sum(one.cpu_ns for one in stretch.threads)
    elapsed = sum(one.elapsed_ns for one in stretch.threads)
    found = _books(stretch) | {
        "take_latency_ns": {"histogram": as_json(stretch.latency)},
        "on_cpu_share": {"value": cpu / elapsed},
    }
    found["kernel_share"] = kernel_share(
        sum(one.user_ns for one in stretch.threads), sum(one.kernel_ns for one in stretch.threads)
    )
    return found


def kernel_share(user_ns: int, kernel_ns: int) -> dict[str, Any]:
    """The kernel's share of CPU time, where that is long enough to be split by ticks."""
    split = user_ns + kernel_ns
    if split < _LEAST_SPLIT_NS:
        return {
            "unavailable": f"{split / 1e6:.0f} ms of CPU time are too few for the kernel's ticks; "
            "raise stretch_seconds"
        }
    return {"value": kernel_ns / split}


def _oversubscribed(stretch: Any, threads: int) -> dict[str, dict[str, Any]]:
    """Threads that take turns on too few processors: what the stretch as a whole says."""
    reason = (
        f"oversubscribed: {threads} threads on {usable_cores()} processors can't all run at once"
    )
    missing = {"unavailable": reason}
    counts = [one.pairs for one in stretch.threads]
    found = {"overlap_share": missing, "take_latency_undisturbed_ns": missing}
    if not any(counts):
        return found
    elapsed = [one.elapsed_ns for one in stretch.threads]
    return found | {
        "pair_ns": {"value": sum(elapsed) / sum(counts)},
        "cpu_ns_per_pair": {"value": sum(one.cpu_ns for one in stretch.threads) / sum(counts)},
        "voluntary_switches_per_s": _per_s(stretch, "voluntary"),
        "pairs_per_s": {"value": sum(counts) / max(elapsed) * 1e9},
        "fairness": {"value": min(counts) / max(counts)},
    }


def _paced(stretch: Any) -> dict[str, dict[str, Any]]:
    elapsed = max(one.elapsed_ns for one in stretch.threads)
    inside = sum(one.in_pool_ns for one in stretch.threads)
    return {
        "take_latency_ns": {"histogram": as_json(stretch.latency)},
        "pairs_per_s": {"value": sum(one.pairs for one in stretch.threads) / elapsed * 1e9},
        "cpu_share_at_rate": {"value": inside / elapsed},
        "voluntary_switches_per_s": _per_s(stretch, "voluntary"),
    } | _books(stretch)


def _books(stretch: Any) -> dict[str, dict[str, Any]]:
    takes = sum(one.pairs + one.refused for one in stretch.threads)
    refused = sum(one.refused for one in stretch.threads)
    return {
        "involuntary_switches_per_s": _per_s(stretch, "involuntary"),
        "refused_share": {"value": refused / takes if takes else 0.0},
    }


def _per_s(stretch: Any, name: str) -> dict[str, float]:
    seconds = max(one.elapsed_ns for one in stretch.threads) / 1e9
    return {"value": sum(getattr(one, name) for one in stretch.threads) / seconds}
