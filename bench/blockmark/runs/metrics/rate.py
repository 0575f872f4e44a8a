"""What a real-time loop at the step rate shows."""

from __future__ import annotations

from .row import Metric

# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("busy_share",           "busy",        "share", "rate", "share",        "lower",  "clock",    "time inside the steps of a paced loop / its wall time", "The share of one core that the steps take at the step rate, as a real-time loop meets them: woken up, with caches used by others; without packing"),
    Metric("busy_share_with_pack", "packed",      "share", "rate", "share",        "lower",  "clock",    "time inside steps and packing of a paced loop that packs all scheduled rows / wall time", "The same in a loop that also writes every scheduled sequence's row after each step"),
    Metric("copy_share",           "memcpy",      "share", "rate", "share",        "lower",  "clock",    "time of a memcpy of the packed bytes, in the same loop as the packing / wall time", "What packing is judged against: moving as many bytes without any table"),
    Metric("noop_busy_share",      "no-op busy",  "share", "rate", "share",        "lower",  "clock",    "time inside empty steps of the same paced loop / wall time", "What the two readings of the clock add to busy_share"),
    Metric("thread_cpu_share",     "CPU",         "share", "rate", "share",        "lower",  "software", "the thread's CPU time over the paced loop / wall time", "What the kernel charges for the whole loop: steps, waking up, waiting and the rest between steps; when pacing spins this is all of a core"),
    Metric("noop_cpu_share",       "no-op CPU",   "share", "rate", "share",        "lower",  "software", "the thread's CPU time over the same loop with empty steps / wall time", "What of it belongs to the pacing, not to the block manager"),
    Metric("user_cpu_share",       "user",        "share", "rate", "share",        "lower",  "software", "thread_cpu_share x user ticks / all ticks, from getrusage of the thread", "The part spent in user space; the split is counted in ticks of the kernel and is coarse"),
    Metric("kernel_cpu_share",     "kernel",      "share", "rate", "share",        "lower",  "software", "thread_cpu_share x kernel ticks / all ticks, from getrusage of the thread", "The part spent in the kernel, most of it for waking up; coarse like the user part"),
    Metric("psutil_cpu_share",     "psutil",      "share", "rate", "proof",        None,     "software", "psutil's CPU time of the process over the paced loop / wall time; from 10 s on", "Proof of thread_cpu_share by another way of reading it, in steps of 10 ms"),
    Metric("lateness_ns",          "late",        "ns",    "rate", "distribution", "lower",  "clock",    "actual start - intended start of every step of the paced loop", "How late steps begin: waking up, being pre-empted, or still busy with the last step; the value is p50"),
    Metric("paced_latency_ns",     "done",        "ns",    "rate", "distribution", "lower",  "clock",    "end - intended start of every step of the paced loop, without packing", "How long after its intended start a step is done: what a caller waits, with no coordinated omission; the value is p50"),
    Metric("missed_deadlines",     "missed",      "count", "rate", "count",        "lower",  "clock",    "steps that ended after the next one's intended start, or were never begun", "How often the loop could not hold its rate, over the loop's whole duration"),
    Metric("achieved_rate",        "reached",     "1/s",   "rate", "rate",         "higher", "clock",    "steps done / wall time of the paced loop", "Steps a second that were reached; below 99 % of the step rate the implementation is saturated"),
    Metric("highest_rate",         "highest",     "1/s",   "rate", "rate",         "higher", "clock",    "the highest rate that short paced loops held to 99 %, with nothing between their steps; by bisection, to 3 % or as far as 1.5 s allow", "Where the implementation saturates: steps a second that one core can sustain"),
    Metric("streamed_bytes",       "streamed",    "bytes", "rate", "proof",        None,     "count",    "bytes streamed after every step: between_bytes, halved until it fits in a quarter of the interval", "Proof of between = stream: how much of the caches others used between two steps"),
    Metric("gc_collections",       "collections", "count", "rate", "count",        "lower",  "count",    "collections of Python's cyclic collector during the paced loop", "How often the collector ran, inside steps or between them"),
    Metric("gc_pause_share",       "of a core",   "share", "rate", "share",        "lower",  "clock",    "time inside those collections / wall time of the paced loop", "What the collector takes of a core"),
    Metric("gc_longest_pause_ns",  "longest",     "ns",    "rate", "proof",        None,     "clock",    "the longest of those collections", "The longest time for which the collector alone can hold up a step"),
)
# fmt: on
