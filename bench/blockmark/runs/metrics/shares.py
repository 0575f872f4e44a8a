"""Costs put in relation to a step rate or to an engine's step."""

from __future__ import annotations

from .row import Metric

# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("busy_share_estimated",           "estimated",         "share", "share", "share", "lower", "derived", "step_ns x step_rate / 1e9", "The share of one core that the steps would take at the step rate; estimated, not paced"),
    Metric("busy_share_with_pack_estimated", "estimated, packed", "share", "share", "share", "lower", "derived", "(step_ns + pack_ns) x step_rate / 1e9", "The same with all rows packed in each step"),
    Metric("share_of_1ms_step",              "of a 1 ms step",    "share", "share", "share", "lower", "derived", "step_ns / 1e6", "The share of an engine step of 1 ms that goes to the block manager"),
    Metric("share_of_10ms_step",             "of a 10 ms step",   "share", "share", "share", "lower", "derived", "step_ns / 1e7", "The share of an engine step of 10 ms that goes to the block manager"),
    Metric("share_of_30ms_step",             "of a 30 ms step",   "share", "share", "share", "lower", "derived", "step_ns / 3e7", "The share of an engine step of 30 ms that goes to the block manager"),
    Metric("busy_share_by_operations",       "by operations",     "share", "share", "share", "lower", "derived", "(lookup_ordered_ns + alloc_free_interleaved_ns) x concurrency x step_rate / 1e9", "The arithmetic of a published comparison: one lookup and one block taken and given back for every sequence in every step, as single operations; a step is cheaper where a block holds many tokens, and does not wait for each operation"),
)
# fmt: on
