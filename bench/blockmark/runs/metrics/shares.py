"""Costs put in relation to a step rate or to an engine's step."""

from __future__ import annotations

from .row import Metric

ROWS = (
    Metric(
        "busy_share_estimated",
        "share",
        "share",
        "share",
        "lower",
        "step_ns x step_rate / 1e9",
        "The share of one core that the steps would take at the step rate; estimated, not paced",
        "derived",
    ),
    Metric(
        "busy_share_with_pack_estimated",
        "share",
        "share",
        "share",
        "lower",
        "(step_ns + pack_ns) x step_rate / 1e9",
        "The same with all rows packed in each step",
        "derived",
    ),
    Metric(
        "share_of_1ms_step",
        "share",
        "share",
        "share",
        "lower",
        "step_ns / 1e6",
        "The share of an engine step of 1 ms that goes to the block manager",
        "derived",
    ),
    Metric(
        "share_of_10ms_step",
        "share",
        "share",
        "share",
        "lower",
        "step_ns / 1e7",
        "The share of an engine step of 10 ms that goes to the block manager",
        "derived",
    ),
    Metric(
        "share_of_30ms_step",
        "share",
        "share",
        "share",
        "lower",
        "step_ns / 3e7",
        "The share of an engine step of 30 ms that goes to the block manager",
        "derived",
    ),
    Metric(
        "busy_share_by_operations",
        "share",
        "share",
        "share",
        "lower",
        "(lookup_ordered_ns + alloc_free_interleaved_ns) x concurrency x step_rate / 1e9",
        "The arithmetic of a published comparison: one lookup and one block taken and given back "
        "for every sequence in every step, as single operations; a step is cheaper where a block "
        "holds many tokens, and does not wait for each operation",
        "derived",
    ),
)
