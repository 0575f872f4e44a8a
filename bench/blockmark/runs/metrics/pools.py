"""The free pool alone: what it hands out, and its free blocks by number."""

from __future__ import annotations

from .row import Metric

# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("take_run_length",    "pool alone: neighbours",   "blocks", "pool",       "proof", None,    "count", "blocks of the first hand-outs after set-up / runs of ascending neighbours inside each; `batch` blocks a hand-out", "How contiguous the blocks of one hand-out are; of a pool that keeps the order in which blocks came back it is also the proof of the `pool` condition"),
    Metric("take_descriptors",   "descriptors a hand-out",   "count",  "pool",       "count", "lower", "count", "runs of ascending neighbours in the first hand-outs after set-up / hand-outs", "How many copies moving one hand-out takes: one for each run of neighbouring blocks"),
    Metric("remove_ns",          "pool alone: remove",       "ns",     "free_space", "cost",  "lower", "clock", "block time / blocks removed and given back; hand-outs of `batch` blocks that were given back are removed block by block in random order, and given", "Taking a certain free block out of the middle and putting it back at the end, as a hit in a prefix cache does. A bitmap does it too, but keeps no order of age to evict by"),
    Metric("find_contiguous_ns", "pool alone: find a run",   "ns",     "free_space", "cost",  "lower", "clock", "block time / searches for `contiguous` free blocks side by side, the lowest first; found or not; a bitmap does it on its own words, any other pool by listing its free blocks first: in C++ they are marked in a bitmap, in Python sorted", "Where a run of blocks would fit; nothing is taken"),
    Metric("contiguous_found",   "pool alone: in such runs", "share",  "free_space", "proof", None,    "count", "runs of `contiguous` free blocks that can be had one after another / free blocks // `contiguous`", "How much of the free space could be handed out side by side; 0: every search went through the whole pool and found none"),
    Metric("longest_free_run",   "pool alone: longest run",  "blocks", "free_space", "proof", None,    "count", "the longest run of free blocks side by side after set-up", "How scattered the free blocks lie: the largest `contiguous` that is found"),
    Metric("compact_ns",         "pool alone: plan moves",   "ns",     "free_space", "cost",  "lower", "clock", "block time / plans; two fingers: each used block at the top of the pool, from the last one down, goes to the lowest free block that is left; a bitmap does it on its own words, any other pool by listing its free blocks first: in C++ they are marked in a bitmap, in Python sorted", "Planning the moves that free the top of the pool (`compact_share` of the free blocks). Moving the contents and mending the tables is not in it, and costs far more"),
    Metric("compact_moves",      "pool alone: moves",        "count",  "free_space", "count", "lower", "count", "used blocks in the top of the pool that is to be freed", "How many blocks a compaction has to move"),
)
# fmt: on
