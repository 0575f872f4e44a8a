"""Exact counts: heap allocations and memory."""

from __future__ import annotations

from .row import Metric

# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("heap_allocations_per_step", "allocs",              "count", "allocations", "count", "lower", "count",    "heap allocations inside timed steps / steps, in a pass of its own without a clock", "How often a steady step asks the heap for memory"),
    Metric("table_bytes",               "block tables",        "bytes", "memory",      "bytes", "lower", "count",    "table_bytes() after set-up", "Memory that the block tables hold, spare capacity included"),
    Metric("pool_bytes",                "pool and ref counts", "bytes", "memory",      "bytes", "lower", "count",    "pool_bytes() after set-up", "Memory that the free pool and the ref counts hold"),
    Metric("peak_rss_bytes",            "peak RSS",            "bytes", "memory",      "bytes", "lower", "software", "the measured process's largest resident set, as the kernel reports it", "Memory of the whole measured process: interpreter, program and buffers included"),
)
# fmt: on
