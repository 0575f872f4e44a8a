"""Managers whose blocks come back in another order than declared: which goes back when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from blockmark_impls.contract import Copy, OutOfBlocks
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class FreesPagesBackwards(TwoLevelManager):
    """`free` gives back the last page of 32 blocks first; within a page the order is logical."""

    fault = "reuse order"
    page_ids: ClassVar[int] = 32
    _ending = False

    def free(self, seq: int) -> None:
        self._ending = True
        try:
            super().free(seq)
        finally:
            self._ending = False

    def _blocks(self, seq: int, first: int, end: int) -> list[int]:
        if not self._ending:
            return super()._blocks(seq, first, end)
        pages = [self._directory[seq][n][i:j] for n, i, j in self._stretches(first, end)]
        return [block for page in reversed(pages) for block in page]


class FreesByNumber(HashMapManager):
    """`free` gives blocks back in the order of their numbers, not in logical order."""

    fault = "reuse order"

    def free(self, seq: int) -> None:
        table = self._tables_of(seq)
        self._tables[seq] = dict(zip(table, sorted(table.values()), strict=True))
        super().free(seq)


class FreesOddBlocksLast(FlatStackNumpyManager):
    """`free` of more than eight blocks gives every other one back first, then the rest."""

    fault = "reuse order"

    def free(self, seq: int) -> None:
        self._room_of(seq)
        start, end = self._start_view[seq], self._end_view[seq]
        if end - start > 8:
            blocks = self._table[start:end].copy()
            half = len(blocks[::2])
            self._table[start : start + half] = blocks[::2]
            self._table[start + half : end] = blocks[1::2]
        super().free(seq)


class TruncatesForward(VectorManager):
    """`truncate` gives blocks back in logical order, not from the last one forward."""

    fault = "reuse order"
    _cutting = False

    def truncate(self, seq: int, num_tokens: int) -> None:
        self._cutting = True
        try:
            super().truncate(seq, num_tokens)
        finally:
            self._cutting = False

    def _give(self, blocks: Iterable[int]) -> None:
        super()._give(list(blocks)[::-1] if self._cutting else blocks)


class DropsBackwards(FlatStackNumpyManager):
    """What `drop_front` drops is stacked from the window back to the front of the table."""

    fault = "reuse order"
    _dropping = False

    def drop_front(self, seq: int, num_blocks: int) -> None:
        self._dropping = True
        try:
            super().drop_front(seq, num_blocks)
        finally:
            self._dropping = False

    def _give(self, blocks: Any) -> None:
        super()._give(blocks[::-1] if self._dropping else blocks)


class CopiesFromTheBottom(VectorManager):
    """A copy goes to the block that was free the longest; LIFO is declared."""

    fault = "reuse order"

    def append_slot(self, seq: int) -> Copy | None:
        copies = 0 <= seq < self._max_seqs and self._room[seq] > 0
        if copies:
            self._free.reverse()
        try:
            return super().append_slot(seq)
        finally:
            if copies:
                self._free.reverse()


class ReversedWhenNearlyEmpty(HashMapManager):
    """With fewer than six blocks left the one that was free the longest goes first."""

    fault = "reuse order"

    def append_slot(self, seq: int) -> Copy | None:
        low = 0 < len(self._free) < 6
        if low:
            self._free.reverse()
        try:
            return super().append_slot(seq)
        finally:
            if low:
                self._free.reverse()


class SortsItsFreeList(VectorManager):
    """With more than 500 blocks `free` sorts the free list, as SGLang #8133; LIFO is declared."""

    fault = "reuse order"

    def free(self, seq: int) -> None:
        super().free(seq)
        if self._total > 500:
            self._free.sort(reverse=True)


class SortsWhenExhausted(FlatStackManager):
    """`allocate` that finds too few blocks sorts those there are; LIFO is declared."""

    fault = "reuse order"

    def allocate(self, seq: int, num_tokens: int) -> None:
        try:
            super().allocate(seq, num_tokens)
        except OutOfBlocks:
            self._stack[: self._top] = sorted(self._stack[: self._top], reverse=True)
            raise


class PartlyFilledGoesLast(VectorManager):
    """`free` puts a partly filled block below all others; vLLM #42656 is about where they go."""

    fault = "reuse order"

    def free(self, seq: int) -> None:
        table = self._table_of(seq)
        last = table[-1] if self._room[seq] > 0 and self._refs[table[-1]] == 1 else None
        super().free(seq)
        if last is not None:
            self._free.insert(0, self._free.pop())


class PrefixTouchesTheQueue(HashMapManager):
    """A prefix's fork makes the newest free block the oldest: SGLang #24892 touched too much."""

    fault = "reuse order"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if num_blocks is not None and self._free:
            self._free.insert(0, self._free.pop())
