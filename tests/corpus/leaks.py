"""Blocks that no table names and that are not free either."""

from __future__ import annotations

from blockmark_impls.contract import Copy, SequenceTooLong
from blockmark_impls.python.vector import VectorManager


class LeaksOnFree(VectorManager):
    """`free` keeps one block."""

    fault = "leak"

    def free(self, seq: int) -> None:
        before = len(self._free)
        super().free(seq)
        if len(self._free) > before + 1:
            self._free.pop()


class LeaksOnTruncate(VectorManager):
    """`truncate` shortens the table and gives nothing back."""

    fault = "leak"

    def truncate(self, seq: int, num_tokens: int) -> None:
        before = list(self._free)
        super().truncate(seq, num_tokens)
        self._free = before


class LeaksOnDropFront(VectorManager):
    """`drop_front` forgets the blocks and gives nothing back."""

    fault = "leak"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        before = list(self._free)
        super().drop_front(seq, num_blocks)
        self._free = before


class LeaksOnTooLong(VectorManager):
    """`extend` that fails with SequenceTooLong has taken a block before it looks."""

    fault = "leak"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        try:
            return super().extend(seq, num_tokens)
        except SequenceTooLong:
            if self._free:
                self._free.pop()
            raise


class LeaksDroppedFork(VectorManager):
    """`free` of a child whose front was dropped before the fork keeps its first block."""

    fault = "leak"

    def free(self, seq: int) -> None:
        if self._first[seq] and len(self.block_table(seq)) > 1:
            self._first[seq] += 1
        super().free(seq)
