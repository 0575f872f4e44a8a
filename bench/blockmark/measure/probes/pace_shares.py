"""What paced loops say, as metrics: plain arithmetic on what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..process.reading import Reading, Readings

if TYPE_CHECKING:
    from .collector import CollectorLog
    from .pace import Paced


def step_shares(paced: Paced) -> Readings:
    """The metrics of the loop around the steps alone."""
    elapsed = paced.elapsed_ns
    cpu = paced.thread_cpu_ns / elapsed
    return {
        "busy_share": Reading(paced.busy1_ns / elapsed),
        "thread_cpu_share": Reading(cpu),
        **_split(cpu, paced.user_ns, paced.kernel_ns),
        "lateness_ns": Reading.spread(paced.lateness),
        "paced_latency_ns": Reading.spread(paced.latency),
        "missed_deadlines": Reading(paced.missed),
        "achieved_rate": Reading(achieved_rate(paced)),
    }


def _split(cpu: float, user_ns: int, kernel_ns: int) -> Readings:
    names = "user_cpu_share", "kernel_cpu_share"
    ticked = user_ns + kernel_ns
    if not ticked:
        return dict.fromkeys(
            names, Reading.missing("the kernel counted no time in so short a loop")
        )
    parts = cpu * user_ns / ticked, cpu * kernel_ns / ticked
    return {name: Reading(part) for name, part in zip(names, parts, strict=True)}


def achieved_rate(paced: Paced) -> float:
    """Ticks a second."""
    return paced.ticks * 1e9 / paced.elapsed_ns


def pack_shares(paced: Paced) -> Readings:
    """Of a loop with packing that was not far behind its rate."""
    busy = paced.busy1_ns + paced.busy2_ns
    return {"busy_share_with_pack": Reading(busy / paced.elapsed_ns)}


def copy_share(paced: Paced) -> Readings:
    """Of the same with a copy after each packing."""
    return {"copy_share": Reading(paced.copy_ns / paced.elapsed_ns)}


def noop_shares(paced: Paced) -> Readings:
    """Of the loop around nothing."""
    return {
        "noop_busy_share": Reading(paced.busy1_ns / paced.elapsed_ns),
        "noop_cpu_share": Reading(paced.thread_cpu_ns / paced.elapsed_ns),
    }


def collector_shares(log: CollectorLog, paced: Paced) -> Readings:
    """Of the collections during a loop, those off its clock included in both times."""
    return {
        "gc_collections": Reading(log.collections),
        "gc_pause_share": Reading(log.total_ns / (paced.elapsed_ns + paced.off_clock_ns)),
        "gc_longest_pause_ns": Reading(log.longest_ns),
    }
