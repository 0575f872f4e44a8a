"""What the proof's programs cover: which sizes and operands they take, against the edges that
there are.

An edge is a power of two, one less or one more. The programs are made again here and played on
the oracle alone; they are the ones that a proof with this seed plays.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from blockmark_impls.contract import BlockManagerError

from .calls import Call
from .corners import corners
from .model import Oracle
from .moves import Moves, small_config
from .sized import DIMENSIONS, sized

_CALLS = 160


class Covered(NamedTuple):
    """One dimension: how many of the edges up to `limit` are reached, and the values taken."""

    what: str
    reached: int
    edges: int
    limit: int
    largest: int
    values: int


# What an operand is bounded by where programs have a limit of their own.
_LIMITS = {
    "allocate: blocks": 1 << 16,
    "extend: new blocks": 1 << 13,
    "truncate: blocks left": 1 << 13,
    "drop_front: blocks": 1 << 13,
    "fork: blocks shared": 1 << 13,
    "fork: tables that name the first block": 1 << 13,
    "free: blocks": 1 << 16,
    "lookup: logical block": 1 << 13,
    "lookup_slots: pairs": 64,
    "append_slots: sequences": 64,
    "append_slots: copies": 16,
    "write_block_tables: rows": 64,
    "any call: sequence": 1 << 16,
    "free blocks": 1 << 16,
    "live sequences": 1 << 13,
}


def coverage(seed: int, programs: int) -> list[Covered]:
    """Each dimension of sizes and of operands, as DEFAULT's programs take it."""
    values: dict[str, set[int]] = defaultdict(set)
    for number in range(programs):
        rng = random.Random(f"{seed}/{number}")
        oracle = Oracle(small_config(rng, 16))
        _play(oracle, Moves(oracle, rng, swarm=True).calls(_CALLS), values)
    for one in sized(16, seed):
        for name, value in zip(DIMENSIONS, one.values, strict=True):
            if name in ("total_blocks", "block_size", "max_seqs", "max_blocks_per_seq"):
                values[name].add(value)
        rng = random.Random(f"{seed}/size {one.number}")
        oracle = Oracle(one.config)
        _play(oracle, one.calls(Moves(oracle, rng, swarm=True)), values)
    for corner in corners(16, ()):
        _play(Oracle(corner.config), iter(corner.calls), values)
    limits = dict.fromkeys(DIMENSIONS[:4], 1 << 16) | _LIMITS
    return [_covered(name, values[name], limit) for name, limit in limits.items()]


def _covered(what: str, values: set[int], limit: int) -> Covered:
    edges = set()
    power = 1
    while power <= limit:
        edges |= {power - 1, power, power + 1}
        power *= 2
    edges = {edge for edge in edges if 1 <= edge <= limit}
    reached = len(edges & values)
    return Covered(what, reached, len(edges), limit, max(values, default=0), len(values))


def _play(oracle: Oracle, calls: Iterator[Call], values: dict[str, set[int]]) -> None:
    for call in calls:
        before = _before(oracle, call)
        try:
            answer = getattr(oracle, call.method)(*call.operands)
        except (BlockManagerError, ValueError):
            continue
        for name, value in _taken(oracle, call, before):
            values[name].add(value)
        if call.method == "append_slots":
            values["append_slots: copies"].add(len(answer))
        values["free blocks"].add(oracle.num_free_blocks)
        values["live sequences"].add(len(oracle.tables))
        values["any call: sequence"].update(call.sequences)
        oracle.released.clear()


def _before(oracle: Oracle, call: Call) -> tuple[int, int]:
    """Blocks of the first sequence that is named, and free ones."""
    named = call.sequences
    table = oracle.tables.get(named[0]) if named else None
    return len(table.blocks) if table else 0, oracle.num_free_blocks


def _taken(oracle: Oracle, call: Call, before: tuple[int, int]) -> Iterator[tuple[str, int]]:
    length, free = before
    first = call.operands[0]
    match call.method:
        case "allocate":
            yield "allocate: blocks", free - oracle.num_free_blocks
        case "extend":
            yield "extend: new blocks", len(oracle.tables[call.sequences[0]].blocks) - length
        case "truncate":
            yield "truncate: blocks left", len(oracle.tables[call.sequences[0]].blocks)
        case "drop_front":
            yield "drop_front: blocks", oracle.tables[call.sequences[0]].first_kept
        case "fork":
            child = oracle.tables[call.sequences[-1]]
            yield "fork: blocks shared", len(child.kept)
            counts = oracle.ref_counts[child.kept[0]]
            yield "fork: tables that name the first block", counts
        case "free":
            yield "free: blocks", length
        case "lookup":
            logical = call.operands[1]
            yield "lookup: logical block", logical if isinstance(logical, int) else 0
        case "lookup_slots" | "append_slots" | "write_block_tables" if isinstance(first, tuple):
            what = {"lookup_slots": "pairs", "append_slots": "sequences"}
            yield f"{call.method}: {what.get(call.method, 'rows')}", len(first)
