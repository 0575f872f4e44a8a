"""What the clock tells: the cost of operations and of whole steps."""

from __future__ import annotations

from .row import Metric

# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("lookup_ordered_ns",         "lookup, in order",       "ns", "lookup",     "cost",         "lower", "clock",   "block time / lookups; sequence by sequence, logical blocks in ascending order", "One block lookup when tables are walked in order and the loads do not wait for each other"),
    Metric("lookup_shuffled_ns",        "lookup, shuffled",       "ns", "lookup",     "cost",         "lower", "clock",   "block time / lookups; (sequence, logical block) pairs in a seeded random order", "One block lookup anywhere in any table, the loads not waiting for each other"),
    Metric("lookup_chain_ordered_ns",   "lookup chain, in order", "ns", "lookup",     "cost",         "lower", "clock",   "block time / lookups; in order, each address formed with the last answer", "The latency of one lookup in order: the next one cannot start before it has answered"),
    Metric("lookup_chain_shuffled_ns",  "lookup chain, shuffled", "ns", "lookup",     "cost",         "lower", "clock",   "block time / lookups; in a seeded random order, each address formed with the last answer", "The latency of one lookup anywhere: the next one cannot start before it has answered"),
    Metric("alloc_free_burst_ns",       "alloc + free, burst",    "ns", "alloc_free", "cost",         "lower", "clock",   "block time / blocks allocated and freed, at 50 % occupancy; whole rows are allocated, then freed in random order", "Allocating and freeing one block when sequences come and go as a whole"),
    Metric("alloc_free_interleaved_ns", "alloc + free, mixed",    "ns", "alloc_free", "cost",         "lower", "clock",   "block time / blocks allocated and freed, at 50 % occupancy; sequences grow a block at a time in random turns, then are freed", "Allocating and freeing one block when tables grow in the mixed order of decode"),
    Metric("can_allocate_ns",           "can_allocate",           "ns", "alloc_free", "cost",         "lower", "clock",   "block time / calls of can_allocate, at 50 % occupancy", "Asking whether a sequence would fit, as a scheduler does before it admits one"),
    Metric("append_ns",                 "append a token",         "ns", "alloc_free", "cost",         "lower", "clock",   "block time / calls of append_slot, blocks taken at boundaries included", "Making room for one more token of one sequence"),
    Metric("take_ns",                   "pool alone: take",       "ns", "pool",       "cost",         "lower", "clock",   "time of the take phases of a block / blocks taken; `batch` blocks a call", "Taking one block out of the free pool alone, without table or ref count"),
    Metric("give_ns",                   "pool alone: give",       "ns", "pool",       "cost",         "lower", "clock",   "time of the give phases of a block / blocks given; `batch` blocks a call", "Giving one block back to the free pool alone, without table or ref count"),
    Metric("step_ns",                   "step",                   "ns", "step",       "cost",         "lower", "clock",   "block time / steps of the block", "A whole step: free the finished, admit, append a token to every running sequence, look up one slot a token; without packing"),
    Metric("step_per_sequence_ns",      "step, per sequence",     "ns", "step",       "cost",         "lower", "derived", "step_ns / concurrency", "A step's cost for each running sequence"),
    Metric("step_latency_ns",           "step latency",           "ns", "step",       "distribution", "lower", "clock",   "every step timed alone into a log-linear histogram (error below 1 %, exact maximum); a quantile needs 10 samples beyond it", "How long single steps take, the slow ones included; the value is p50"),
    Metric("pack_ns",                   "pack",                   "ns", "pack",       "cost",         "lower", "clock",   "block time / calls of write_block_tables over all running sequences", "Writing every running sequence's table as a row that a kernel reads, once a step"),
    Metric("pack_changed_ns",           "pack changed rows",      "ns", "pack",       "cost",         "lower", "clock",   "block time / calls of write_block_tables over the sequences whose table changed", "Writing only the rows that a step changed"),
    Metric("pack_step_ns",              "pack after a step",      "ns", "pack_step",  "cost",         "lower", "clock",   "block time / calls of write_block_tables over all running sequences, of which one in block_size has grown by a block since the last call", "Writing every row after a decode step, where only new entries need to be written"),
    Metric("fork_per_block_ns",         "fork, per block",        "ns", "fork",       "cost",         "lower", "clock",   "time of the fork phase of a block / blocks shared", "Sharing one block with a forked sequence"),
    Metric("cow_per_copy_ns",           "copy-on-write",          "ns", "fork",       "cost",         "lower", "clock",   "time of the append phase of a block / copies ordered", "The bookkeeping of one copy-on-write; the copy itself is the device's work"),
)
# fmt: on
