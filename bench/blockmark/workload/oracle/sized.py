"""Managers of every size, and what brings each to its edges.

Each row of an orthogonal array sizes one manager and says how far it is driven: its pool, its
blocks, its slots, its tables, how many sequences are live, how many tables name one block, how
long a table gets, how few blocks are left. Every two of these meet at every pair of powers of
two, at the power, beside it, or between it and the next.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark_impls.contract import PoolConfig

from .numbers import LEVELS, at_level, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .calls import Call
    from .moves import Moves

DIMENSIONS = (
    "total_blocks",
    "block_size",
    "max_seqs",
    "max_blocks_per_seq",
    "live sequences",
    "tables that name a block",
    "blocks of a table",
    "free blocks left",
)
ROWS = LEVELS**2
# Flat tables are as large as slots times width: 16 MiB of them. Tokens are 32-bit in Programs.
_MOST_ENTRIES, _MOST_TOKENS = 1 << 22, 1 << 30
# Tens of thousands of calls to fill the slots of a row are made in one program alone
# (`corners`); here such a row is driven to some hundreds instead.
_MOST_CROWDED, _INSTEAD = 13, 6


@dataclass(frozen=True, slots=True)
class Sized:
    """One manager's sizes, and how far it is driven, in the order of DIMENSIONS."""

    number: int
    config: PoolConfig
    live: int
    readers: int
    length: int
    left: int

    @property
    def values(self) -> tuple[int, ...]:
        """A value for each of DIMENSIONS."""
        c = self.config
        return (
            c.total_blocks,
            c.block_size,
            c.max_seqs,
            c.max_blocks_per_seq,
            self.live,
            self.readers,
            self.length,
            self.left,
        )

    def calls(self, moves: Moves) -> Iterator[Call]:
        """The program: from one edge to the next, with random calls at each."""
        yield from moves.calls(12)
        yield from moves.crowd(self.live)
        yield from moves.refused_batches()
        yield from moves.calls(16)
        yield from moves.lengthen(self.length)
        yield from moves.calls(16)
        yield from moves.readers(self.readers)
        yield from moves.calls(24)
        yield from moves.flood(self.left)
        yield from moves.calls(24)
        yield from moves.ebb(moves.rng.randint(0, 3))
        yield from moves.calls(16)
        yield from moves.ebb(0)
        # All is free again: the whole pool can be had once more.
        yield from moves.flood(0)


def sized(id_bits: int, seed: int, block_size: int | None = None) -> list[Sized]:
    """ROWS managers in an order that `seed` decides; of one block size, if one is given."""
    rng = random.Random(f"{seed}/sizes")
    rows = list(enumerate(pairs(len(DIMENSIONS))))
    rng.shuffle(rows)
    found = []
    for number, levels in rows:
        total, size, slots, width, live, readers, length, left = (
            at_level(_crowded(level) if column in (4, 5) else level, rng.randrange(4))
            for column, level in enumerate(levels)
        )
        if block_size is not None:
            size = block_size
        if id_bits == 16:
            total = min(total, 1 << 16)
        width = min(width, max(1, _MOST_ENTRIES // slots))
        size = min(size, max(1, _MOST_TOKENS // width)) if block_size is None else size
        config = PoolConfig(total, size, slots, width, id_bits)
        found.append(Sized(number, config, min(live, slots), readers, length, left))
    return found


def _crowded(level: int) -> int:
    return level if level <= _MOST_CROWDED else level - _MOST_CROWDED - 1 + _INSTEAD
