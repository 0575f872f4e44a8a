"""Exact counts: heap allocations and memory."""

from __future__ import annotations

from .row import Metric

ROWS = (
    Metric(
        "heap_allocations_per_step",
        "count",
        "allocations",
        "count",
        "lower",
        "heap allocations inside timed steps / steps, in a pass of its own without a clock",
        "How often a steady step asks the heap for memory",
        "count",
    ),
    Metric(
        "table_bytes",
        "bytes",
        "memory",
        "bytes",
        "lower",
        "table_bytes() after set-up",
        "Memory that the block tables hold, spare capacity included",
        "count",
    ),
    Metric(
        "pool_bytes",
        "bytes",
        "memory",
        "bytes",
        "lower",
        "pool_bytes() after set-up",
        "Memory that the free pool and the ref counts hold",
        "count",
    ),
    Metric(
        "peak_rss_bytes",
        "bytes",
        "memory",
        "bytes",
        "lower",
        "the measured process's largest resident set, as the kernel reports it",
        "Memory of the whole measured process: interpreter, program and buffers included",
        "software",
    ),
)
