"""The mistake: copy-on-write whenever the written block has the logical number of the block
in the table, which is always so. A sequence that shares nothing copies too.
"""

from __future__ import annotations

from typing import ClassVar

from ..contract import Copy, OutOfBlocks, ReuseOrder
from ..python.flat_stack import FlatStackManager


class CopyByNumberManager(FlatStackManager):
    """flat-stack with a wrong rule for copies; tables, ref counts and lengths stay right.

    The copied block is given back after the copy is told, so a copy takes a free block
    even where the old one is then free. Where none is, OutOfBlocks is raised that the
    contract does not know.
    """

    # A copied block comes back in the middle of an operation.
    reuse_order: ClassVar[ReuseOrder] = "unspecified"

    def append_slot(self, seq: int) -> Copy | None:
        left = self._room_of(seq)
        if left == 0:
            return super().append_slot(seq)
        copy = self._copied(seq)
        self._room[seq] = left - 1
        return copy

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        left = self._room_of(seq)
        if num_tokens < 1 or left == 0:
            return super().extend(seq, num_tokens)
        fresh = -(-(num_tokens - left) // self._block_size) if num_tokens > left else 0
        if self._logical(seq) + fresh <= self._stride and fresh + 1 > self._top:
            raise OutOfBlocks(f"{fresh + 1} blocks wanted, {self._top} free")
        if self._logical(seq) + fresh > self._stride:
            return super().extend(seq, num_tokens)  # raises
        copy = self._copied(seq)
        return [copy, *super().extend(seq, num_tokens)]

    def _copied(self, seq: int) -> Copy:
        """The last block replaced by one of its own, whoever names it. Raises OutOfBlocks."""
        last = self._end[seq] - 1
        src = self._table[last]
        (dst,) = self._take(1)
        self._table[last] = dst
        self._give([src])
        return Copy(src, dst)
