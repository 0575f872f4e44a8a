"""The table of metrics: one row says all there is to say about a name.

`blockmark list metrics`, the methodology page and every report print from here,
and the reader of run files checks units against it. A new metric is one row here
and one probe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["cost", "distribution", "count", "bytes", "share", "proof"]
Direction = Literal["lower", "higher"]

QUANTILES = ("p50", "p90", "p99", "p99.9", "max")


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table.

    `unit` is `ns`, `share` (a fraction of one), `bytes`, `blocks` or `count`.
    `model` is the part of the measurement that it comes from.
    `kind` decides how rounds become one value (see `estimate`): a *cost* is timed
    in blocks, a *distribution* sample by sample; *count* and *bytes* are exact; a
    *share* is a cost put in relation; a *proof* shows that a condition held and is
    never judged. `direction` is what counts as better, None if nothing does.
    `formula` is how the number is made, `meaning` what it tells, `source` where it
    comes from: `clock`, `count`, `software` (the kernel's books), or `derived` from
    other metrics.
    """

    name: str
    unit: str
    model: str
    kind: Kind
    direction: Direction | None
    formula: str
    meaning: str
    source: str


_ROWS = (
    Metric(
        "lookup_ordered_ns",
        "ns",
        "lookup",
        "cost",
        "lower",
        "block time / lookups; sequence by sequence, logical blocks in ascending order",
        "One block lookup when tables are walked in order and the loads do not wait for each other",
        "clock",
    ),
    Metric(
        "lookup_shuffled_ns",
        "ns",
        "lookup",
        "cost",
        "lower",
        "block time / lookups; (sequence, logical block) pairs in a seeded random order",
        "One block lookup anywhere in any table, the loads not waiting for each other",
        "clock",
    ),
    Metric(
        "lookup_chain_ordered_ns",
        "ns",
        "lookup",
        "cost",
        "lower",
        "block time / lookups; in order, each address formed with the last answer",
        "The latency of one lookup in order: the next one cannot start before it has answered",
        "clock",
    ),
    Metric(
        "lookup_chain_shuffled_ns",
        "ns",
        "lookup",
        "cost",
        "lower",
        "block time / lookups; in a seeded random order, each address formed with the last answer",
        "The latency of one lookup anywhere: the next one cannot start before it has answered",
        "clock",
    ),
    Metric(
        "alloc_free_burst_ns",
        "ns",
        "alloc_free",
        "cost",
        "lower",
        "block time / blocks allocated and freed, at 50 % occupancy; "
        "whole rows are allocated, then freed in random order",
        "Allocating and freeing one block when sequences come and go as a whole",
        "clock",
    ),
    Metric(
        "alloc_free_interleaved_ns",
        "ns",
        "alloc_free",
        "cost",
        "lower",
        "block time / blocks allocated and freed, at 50 % occupancy; "
        "sequences grow a block at a time in random turns, then are freed",
        "Allocating and freeing one block when tables grow in the mixed order of decode",
        "clock",
    ),
    Metric(
        "can_allocate_ns",
        "ns",
        "alloc_free",
        "cost",
        "lower",
        "block time / calls of can_allocate, at 50 % occupancy",
        "Asking whether a sequence would fit, as a scheduler does before it admits one",
        "clock",
    ),
    Metric(
        "append_ns",
        "ns",
        "alloc_free",
        "cost",
        "lower",
        "block time / calls of append_slot, blocks taken at boundaries included",
        "Making room for one more token of one sequence",
        "clock",
    ),
    Metric(
        "take_ns",
        "ns",
        "pool",
        "cost",
        "lower",
        "time of the take phases of a block / blocks taken; `batch` blocks a call",
        "Taking one block out of the free pool alone, without table or ref count",
        "clock",
    ),
    Metric(
        "give_ns",
        "ns",
        "pool",
        "cost",
        "lower",
        "time of the give phases of a block / blocks given; `batch` blocks a call",
        "Giving one block back to the free pool alone, without table or ref count",
        "clock",
    ),
    Metric(
        "step_ns",
        "ns",
        "step",
        "cost",
        "lower",
        "block time / steps of the block",
        "A whole step: free the finished, admit, append a token to every running sequence, "
        "look up one slot a token; without packing",
        "clock",
    ),
    Metric(
        "step_per_sequence_ns",
        "ns",
        "step",
        "cost",
        "lower",
        "step_ns / concurrency",
        "A step's cost for each running sequence",
        "derived",
    ),
    Metric(
        "step_latency_ns",
        "ns",
        "step",
        "distribution",
        "lower",
        "every step timed alone into a log-linear histogram (error below 1 %, exact maximum); "
        "a quantile needs 10 samples beyond it",
        "How long single steps take, the slow ones included; the value is p50",
        "clock",
    ),
    Metric(
        "pack_ns",
        "ns",
        "pack",
        "cost",
        "lower",
        "block time / calls of write_block_tables over all running sequences",
        "Writing every running sequence's table as a row that a kernel reads, once a step",
        "clock",
    ),
    Metric(
        "pack_changed_ns",
        "ns",
        "pack",
        "cost",
        "lower",
        "block time / calls of write_block_tables over the sequences whose table changed",
        "Writing only the rows that a step changed",
        "clock",
    ),
    Metric(
        "fork_per_block_ns",
        "ns",
        "fork",
        "cost",
        "lower",
        "time of the fork phase of a block / blocks shared",
        "Sharing one block with a forked sequence",
        "clock",
    ),
    Metric(
        "cow_per_copy_ns",
        "ns",
        "fork",
        "cost",
        "lower",
        "time of the append phase of a block / copies ordered",
        "The bookkeeping of one copy-on-write; the copy itself is the device's work",
        "clock",
    ),
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
    Metric(
        "pool_run_length",
        "blocks",
        "condition",
        "proof",
        None,
        "blocks in the tables after set-up / runs of consecutive ids among them",
        "Proof of the `pool` condition: how scattered the ids handed out are; 1 is fully so",
        "count",
    ),
    Metric(
        "move_descriptors",
        "count",
        "condition",
        "count",
        "lower",
        "runs of consecutive ids in the tables after set-up / tables",
        "How many copies moving one sequence takes, such as to the host and back: "
        "one for each run of neighbouring blocks",
        "count",
    ),
    Metric(
        "minor_faults",
        "count",
        "software",
        "count",
        "lower",
        "page faults without I/O during the timed blocks, from the kernel's books",
        "Memory touched for the first time while the clock ran",
        "software",
    ),
    Metric(
        "voluntary_switches",
        "count",
        "software",
        "proof",
        None,
        "voluntary context switches during the timed blocks, from the kernel's books",
        "Proof of an undisturbed measurement: how often the process itself waited",
        "software",
    ),
    Metric(
        "involuntary_switches",
        "count",
        "software",
        "proof",
        None,
        "involuntary context switches during the timed blocks, from the kernel's books",
        "Proof of an undisturbed measurement: how often the process lost its core",
        "software",
    ),
    Metric(
        "cpu_share_of_wall",
        "share",
        "software",
        "proof",
        None,
        "the process's CPU time / wall time over the timed blocks",
        "Proof of an undisturbed measurement: 1 if the process had a core to itself",
        "software",
    ),
)

METRICS: dict[str, Metric] = {row.name: row for row in _ROWS}


def split_address(address: str) -> tuple[str, str | None]:
    """Split `step_latency_ns.p99` into metric and quantile; `step_ns` has no quantile.

    The metric need not be in the table. Raises ValueError if the part behind the
    first dot is not one of `QUANTILES`.
    """
    name, dot, quantile = address.partition(".")
    if not dot:
        return name, None
    if quantile not in QUANTILES:
        raise ValueError(f"{address}: no quantile {quantile!r}; there are {', '.join(QUANTILES)}")
    return name, quantile


def metric_of(address: str) -> Metric | None:
    """The row of a metric or of one of its quantiles; None if it is not in the table.

    Raises ValueError as `split_address` does, and for a quantile of a metric that
    has none.
    """
    name, quantile = split_address(address)
    row = METRICS.get(name)
    if row is not None and quantile is not None and row.kind != "distribution":
        raise ValueError(f"{address}: {name} is one value, it has no quantiles")
    return row
