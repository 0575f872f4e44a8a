"""What paced loops say, as metrics: plain arithmetic on what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .histograms import as_json

if TYPE_CHECKING:
    from .collector import CollectorLog
    from .pace import Paced

Found = dict[str, dict[str, Any]]


def value(number: float) -> dict[str, Any]:
    """A metric that was measured."""
    return {"value": number}


def missing(reason: str) -> dict[str, Any]:
    """A metric that was not, and why."""
    return {"unavailable": reason}


def step_shares(paced: Paced) -> Found:
    """The metrics of the loop around the steps alone."""
    elapsed = paced.elapsed_ns
    cpu = paced.thread_cpu_ns / elapsed
    return {
        "busy_share": value(paced.busy1_ns / elapsed),
        "thread_cpu_share": value(cpu),
        **_split(cpu, paced.user_ns, paced.kernel_ns),
        "lateness_ns": {"histogram": as_json(paced.lateness)},
        "paced_latency_ns": {"histogram": as_json(paced.latency)},
        "missed_deadlines": value(paced.missed),
        "achieved_rate": value(achieved_rate(paced)),
    }


def _split(cpu: float, user_ns: int, kernel_ns: int) -> Found:
    names = "user_cpu_share", "kernel_cpu_share"
    ticked = user_ns + kernel_ns
    if not ticked:
        return dict.fromkeys(names, missing("the kernel counted no time in so short a loop"))
    parts = cpu * user_ns / ticked, cpu * kernel_ns / ticked
    return {name: value(part) for name, part in zip(names, parts, strict=True)}


def achieved_rate(paced: Paced) -> float:
    """Ticks a second."""
    return paced.ticks * 1e9 / paced.elapsed_ns


def pack_shares(paced: Paced) -> Found:
    """Of a loop with packing that was not far behind its rate."""
    busy = paced.busy1_ns + paced.busy2_ns
    return {"busy_share_with_pack": value(busy / paced.elapsed_ns)}


def copy_share(paced: Paced) -> Found:
    """Of the same with a copy after each packing."""
    return {"copy_share": value(paced.copy_ns / paced.elapsed_ns)}


def noop_shares(paced: Paced) -> Found:
    """Of the loop around nothing."""
    return {
        "noop_busy_share": value(paced.busy1_ns / paced.elapsed_ns),
        "noop_cpu_share": value(paced.thread_cpu_ns / paced.elapsed_ns),
    }


def collector_shares(log: CollectorLog, paced: Paced) -> Found:
    """Of the collections during a loop, those off its clock included in both times."""
    return {
        "gc_collections": value(log.collections),
        "gc_pause_share": value(log.total_ns / (paced.elapsed_ns + paced.off_clock_ns)),
        "gc_longest_pause_ns": value(log.longest_ns),
    }
