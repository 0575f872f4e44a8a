"""Random calls on a free pool alone.

No program knows which ids a pool hands out, so a call names blocks by rank among those
that are out, lowest first, or by how long they are out; the checker turns that into ids.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .numbers import LEVELS, around, at_level, pairs

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

PAST_16_BITS = 65_536 + 64
# What a pool may have besides `take`, `give` and `num_free`.
OPTIONAL = ("remove", "find_contiguous", "plan_compaction")
# Mostly tiny, and around the ends of a bitmap's words.
SIZES = (*range(1, 25), 63, 64, 65, 130)
POOL_DIMENSIONS = ("total_blocks", "blocks taken at once", "blocks given at once", "free blocks")
_MOST_RANKS = 200


@dataclass(frozen=True, slots=True)
class PoolCall:
    """A call, and what it names.

    `take`, `find_contiguous`, `plan_compaction`: how many. `leave`: all are taken but so
    many. `give`: ranks of blocks that are out, each of those that are left; `oldest`,
    `newest`: so many of them are given, in the order in which they were taken or against it;
    `range`: those that are out from an id on, so many. `remove`: an id. `no_block`: a number
    that is none is removed. `drain`: all that is free is taken. `twice`: what is not out, or is
    named twice, is given where the pool says that it refuses that.
    """

    method: str
    numbers: tuple[int, ...] = ()


def random_pool_program(
    total_blocks: int, rng: random.Random, calls: int, optional: Container[str] = ()
) -> list[PoolCall]:
    """`calls` random calls, then everything is taken, and one block more.

    `optional`: methods that not every pool has, and this one does.
    """
    program = [*_random_calls(total_blocks, rng, calls, optional)]
    return [*program, PoolCall("drain"), PoolCall("take", (1,))]


def _random_calls(
    total: int, rng: random.Random, calls: int, optional: Container[str]
) -> Iterator[PoolCall]:
    gives = ["give", "give", "oldest", "newest", "range"]
    methods = ["take"] * 5 + gives + ["twice"] + [name for name in OPTIONAL if name in optional]
    for method in rng.choices(methods, k=calls):
        if method == "give":
            many = rng.randint(1, min(_MOST_RANKS, max(1, total // 2)))
            yield PoolCall(method, tuple(rng.randrange(total) for _ in range(many)))
        elif method == "remove":
            if rng.random() < 0.1:
                yield PoolCall("no_block", (rng.choice((-1, -2, -total, -total - 1, total)),))
            yield PoolCall(method, (around(rng, total) - 1,))
        elif method == "range":
            yield PoolCall(method, (around(rng, total) - 1, around(rng, total)))
        elif method in ("oldest", "newest", "find_contiguous"):
            most = min(total, rng.choice((3, 200, total)))
            yield PoolCall(method, (around(rng, most),))
        elif method == "twice":
            yield PoolCall(method)
        else:
            most = total + 1 if rng.random() < 0.15 else max(1, total // 2)
            yield PoolCall(method, (around(rng, most) - rng.randrange(2),))


def every_id_program() -> list[PoolCall]:
    """Everything is taken, given back in part, and taken again."""
    return [
        PoolCall("drain"),
        PoolCall("take", (1,)),
        PoolCall("give", (PAST_16_BITS - 1, 0, 1)),
        PoolCall("drain"),
    ]


def sized_pools(seed: int, optional: Container[str] = ()) -> Iterator[tuple[int, list[PoolCall]]]:
    """(blocks, program): pools of every size, each brought to its edges (see `sized`)."""
    rng = random.Random(f"{seed}/pool sizes")
    for levels in pairs(len(POOL_DIMENSIONS)):
        total, take, give, left = (at_level(level, rng.randrange(4)) for level in levels)
        take, give, left = min(take, total), min(give, total), min(left, total)
        yield total, [*_edges(total, rng, optional, take, give, left)]


def _edges(
    total: int, rng: random.Random, optional: Container[str], take: int, give: int, left: int
) -> Iterator[PoolCall]:
    yield PoolCall("take", (take,))
    yield PoolCall("drain")
    # Nothing was never used from here on: the order is known to the last block.
    yield PoolCall(rng.choice(("oldest", "newest")), (give,))
    yield from (PoolCall("take", (1,)) for _ in range(3))
    yield PoolCall("take", (take,))
    start = around(rng, total) - 1
    yield PoolCall("range", (start, give))
    if "find_contiguous" in optional:
        for k in (give, give + 1, give - 1, take):
            if 1 <= k <= total:
                yield PoolCall("find_contiguous", (k,))
    if "plan_compaction" in optional:
        yield PoolCall("plan_compaction", (take,))
    if "remove" in optional:
        for near in (start, start + 1, around(rng, total) - 1):
            yield PoolCall("remove", (near % total,))
        for number in (total, -1, -2, -total):
            yield PoolCall("no_block", (number,))
    yield PoolCall("oldest", (total,))
    yield PoolCall("leave", (left,))
    yield from (PoolCall("take", (1,)) for _ in range(2))
    yield PoolCall("newest", (give,))
    yield from _random_calls(total, rng, 8 if total < 1 << (LEVELS - 5) else 4, optional)
    yield PoolCall("oldest", (total,))
    yield PoolCall("drain")
    yield PoolCall("take", (1,))


def long_pool_program(
    total_blocks: int, rng: random.Random, calls: int, optional: Container[str] = ()
) -> Iterator[PoolCall]:
    """A pool that is used for long: never empty for long, never full for long, and often short
    of a block.
    """
    for _ in range(calls // 8):
        yield PoolCall("take", (total_blocks + 1,))
        yield from _random_calls(total_blocks, rng, 6, optional)
        yield PoolCall(rng.choice(("oldest", "newest")), (rng.randint(1, total_blocks),))
        yield PoolCall("take", (rng.randint(1, 3),))
