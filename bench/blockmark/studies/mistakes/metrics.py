"""What a known mistake costs: the wrong version beside the right one, and exact counts."""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "mistakes"
# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("right_ns",                        "right",                 "ns",     _MODEL, "cost",  "lower", "clock",   "block time / operations of the version without the mistake: appends, steps or packings of a step, as the mistake concerns them", "The operation done right, in the same process and in turns with the mistake"),
    Metric("wrong_ns",                        "wrong",                 "ns",     _MODEL, "cost",  "lower", "clock",   "block time / operations of the version with the mistake", "The same operation with the mistake"),
    Metric("mistake_factor",                  "factor",                "ratio",  _MODEL, "share", "lower", "derived", "wrong_ns / right_ns of the same round", "How many times the operation costs with the mistake"),
    Metric("copies_per_append",               "copies",                "count",  _MODEL, "count", "lower", "count",   "copies asked for / appends, with the mistake", "Copy-on-writes of an append; (block_size - 1) / block_size where each write copies"),
    Metric("right_copies_per_append",         "copies right",          "count",  _MODEL, "count", "lower", "count",   "copies asked for / appends, without the mistake", "Copy-on-writes that sharing makes necessary; 0 where nobody shares"),
    Metric("peak_extra_blocks",               "extra",                 "blocks", _MODEL, "count", "lower", "count",   "most blocks held during a copy beyond those held after it, less the same done right", "Free blocks that the mistake needs beyond what the load does"),
    Metric("right_heap_allocations_per_step", "allocs right",          "count",  _MODEL, "count", "lower", "count",   "heap_allocations_per_step of the version without the mistake", "How often a steady step done right asks the heap for memory"),
    Metric("searched_per_block",              "searched",              "count",  _MODEL, "count", "lower", "count",   "entries that the next block taken would look at, after the load's set-up", "How far the search for a free block goes; a free stack looks at one"),
    Metric("lost_updates",                    "lost of 2",             "count",  _MODEL, "count", "lower", "count",   "of two updates of a shared table whose steps are mixed, those that are lost", "What a table for all sequences loses where two requests change it at once"),
    Metric("transfers_per_step",              "transfers",             "count",  _MODEL, "count", "lower", "count",   "copies sent / packings of a step, with the mistake", "Copies to the device in a step; a flattened batch is one"),
    Metric("right_transfer_ns",               "transfer right, model", "ns",     _MODEL, "cost",  "lower", "model",   "copy_call_ns + bytes of the packed batch / copy_bandwidth", "A model of sending one flattened batch; nothing was sent"),
    Metric("wrong_transfer_ns",               "transfer wrong, model", "ns",     _MODEL, "cost",  "lower", "model",   "transfers_per_step x copy_call_ns + bytes of the packed batch / copy_bandwidth", "A model of sending each row by itself; nothing was sent"),
    Metric("factor_with_transfer",            "with transfer, model",  "ratio",  _MODEL, "share", "lower", "model",   "(wrong_ns + wrong_transfer_ns) / (right_ns + right_transfer_ns)", "How many times packing and sending cost with the mistake; half measured, half model"),
    Metric("gpu_step_factor",                 "GPU step, model",       "ratio",  _MODEL, "share", "lower", "model",   "1 + copies x (2 x block bytes / gpu_bandwidth + calls_per_copy x copy_call_ns) / ((weights + concurrency x context_tokens x token bytes) / gpu_bandwidth), where copies are those that the mistake adds to a step", "A model of how many times a GPU's decode step takes with the added copies: the step reads all weights and all KV entries once, a copy reads and writes a block"),
)
# fmt: on
