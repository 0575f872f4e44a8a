"""Small random programs for a free pool alone.

No program knows which ids a pool hands out, so a call names blocks by rank among those
that are out, lowest first; the checker turns ranks into ids.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

PAST_16_BITS = 65_536 + 64
# What a pool may have besides `take`, `give` and `num_free`.
OPTIONAL = ("remove", "find_contiguous", "plan_compaction")
# Mostly tiny, and around the ends of a bitmap's words.
SIZES = (*range(1, 25), 63, 64, 65, 130)


@dataclass(frozen=True, slots=True)
class PoolCall:
    """`take`, `find_contiguous`, `plan_compaction` (how many), `give` (ranks of blocks that
    are out, each of those that are left), `remove` (an id), or `drain` (nothing): all that is
    free.
    """

    method: str
    numbers: tuple[int, ...] = ()


def random_pool_program(
    total_blocks: int, rng: random.Random, calls: int, optional: Container[str] = ()
) -> list[PoolCall]:
    """`calls` random calls, then everything is taken, and one block more.

    `optional`: methods that not every pool has, and this one does.
    """
    methods = ["take"] * 4 + ["give"] * 4 + [name for name in OPTIONAL if name in optional]
    program = []
    for method in rng.choices(methods, k=calls):
        if method == "give":
            many = rng.randint(1, max(1, total_blocks // 2))
            numbers = tuple(rng.randrange(total_blocks) for _ in range(many))
        elif method == "remove":
            numbers = (rng.randrange(total_blocks),)
        elif method == "find_contiguous":
            numbers = (rng.randint(1, min(total_blocks, rng.choice((3, 70)))),)
        else:
            most = total_blocks + 1 if rng.random() < 0.15 else max(1, total_blocks // 2)
            numbers = (rng.randint(0, most),)
        program.append(PoolCall(method, numbers))
    return [*program, PoolCall("drain"), PoolCall("take", (1,))]


def every_id_program() -> list[PoolCall]:
    """Everything is taken, given back in part, and taken again."""
    return [
        PoolCall("drain"),
        PoolCall("take", (1,)),
        PoolCall("give", (PAST_16_BITS - 1, 0, 1)),
        PoolCall("drain"),
    ]
