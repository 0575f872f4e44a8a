"""What a known mistake costs: the wrong version beside the right one, and exact counts."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "mistakes"


def _count(name: str, unit: str, formula: str, meaning: str) -> Metric:
    return Metric(name, unit, _MODEL, "count", "lower", formula, meaning, "count")


ROWS = (
    Metric(
        "right_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "block time / operations of the version without the mistake: appends, steps or "
        "packings of a step, as the mistake concerns them",
        "The operation done right, in the same process and in turns with the mistake",
        "clock",
    ),
    Metric(
        "wrong_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "block time / operations of the version with the mistake",
        "The same operation with the mistake",
        "clock",
    ),
    Metric(
        "mistake_factor",
        "ratio",
        _MODEL,
        "share",
        "lower",
        "wrong_ns / right_ns of the same round",
        "How many times the operation costs with the mistake",
        "derived",
    ),
    _count(
        "copies_per_append",
        "count",
        "copies asked for / appends, with the mistake",
        "Copy-on-writes of an append; (block_size - 1) / block_size where each write copies",
    ),
    _count(
        "right_copies_per_append",
        "count",
        "copies asked for / appends, without the mistake",
        "Copy-on-writes that sharing makes necessary; 0 where nobody shares",
    ),
    _count(
        "peak_extra_blocks",
        "blocks",
        "most blocks held during a copy beyond those held after it, less the same done right",
        "Free blocks that the mistake needs beyond what the load does",
    ),
    _count(
        "right_heap_allocations_per_step",
        "count",
        "heap_allocations_per_step of the version without the mistake",
        "How often a steady step done right asks the heap for memory",
    ),
    _count(
        "searched_per_block",
        "count",
        "entries that the next block taken would look at, after the load's set-up",
        "How far the search for a free block goes; a free stack looks at one",
    ),
    _count(
        "lost_updates",
        "count",
        "of two updates of a shared table whose steps are mixed, those that are lost",
        "What a table for all sequences loses where two requests change it at once",
    ),
    _count(
        "transfers_per_step",
        "count",
        "copies sent / packings of a step, with the mistake",
        "Copies to the device in a step; a flattened batch is one",
    ),
    Metric(
        "right_transfer_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "copy_call_ns + bytes of the packed batch / copy_bandwidth",
        "A model of sending one flattened batch; nothing was sent",
        "model",
    ),
    Metric(
        "wrong_transfer_ns",
        "ns",
        _MODEL,
        "cost",
        "lower",
        "transfers_per_step x copy_call_ns + bytes of the packed batch / copy_bandwidth",
        "A model of sending each row by itself; nothing was sent",
        "model",
    ),
    Metric(
        "factor_with_transfer",
        "ratio",
        _MODEL,
        "share",
        "lower",
        "(wrong_ns + wrong_transfer_ns) / (right_ns + right_transfer_ns)",
        "How many times packing and sending cost with the mistake; half measured, half model",
        "model",
    ),
    Metric(
        "gpu_step_factor",
        "ratio",
        _MODEL,
        "share",
        "lower",
        "1 + copies x (2 x block bytes / gpu_bandwidth + calls_per_copy x copy_call_ns) / "
        "((weights + concurrency x context_tokens x token bytes) / gpu_bandwidth), where copies "
        "are those that the mistake adds to a step",
        "A model of how many times a GPU's decode step takes with the added copies: the step "
        "reads all weights and all KV entries once, a copy reads and writes a block",
        "model",
    ),
)
