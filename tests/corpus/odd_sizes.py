"""Sizes that are no power of two, or no multiple of a word: where code counts on it."""

from __future__ import annotations

from typing import ClassVar

from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class AllocatesByShifts(HashMapManager):
    """`allocate` divides by a power of two: in blocks of 12, 48 or 100 by the next lower one."""

    fault = "odd sizes"

    def allocate(self, seq: int, num_tokens: int) -> None:
        size = self._block_size
        if size > 8:
            self._block_size = 1 << (size.bit_length() - 1)
        try:
            super().allocate(seq, num_tokens)
        finally:
            self._block_size = size


class ExtendsByShifts(FlatStackManager):
    """`extend` divides by the next higher power of two: a block of 100 tokens counts as 128."""

    fault = "odd sizes"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        size = self._block_size
        self._block_size = 1 << (size - 1).bit_length()
        try:
            return super().extend(seq, num_tokens)
        finally:
            self._block_size = size


class TruncatesByShifts(VectorManager):
    """`truncate` shifts where it should divide: a block of 48 tokens counts as one of 32."""

    fault = "odd sizes"

    def truncate(self, seq: int, num_tokens: int) -> None:
        size = self._block_size
        self._block_size = 1 << (size.bit_length() - 1)
        try:
            super().truncate(seq, num_tokens)
        finally:
            self._block_size = size


class AppendsByMasks(FlatStackNumpyManager):
    """`append_slot` ends a block by a mask, size - 1: one of 12 tokens ends with the 16th."""

    fault = "odd sizes"

    def append_slot(self, seq: int) -> Copy | None:
        end = self._end_view[seq] if 0 <= seq < self._max_seqs else 0
        made = super().append_slot(seq)
        if self._end_view[seq] > end:
            mask, tokens = self._block_size - 1, self.num_tokens(seq)
            while self._room[seq] and tokens + self._room[seq] & mask:
                self._room[seq] -= 1
        return made


class DividesByAReciprocal(FlatStackManager):
    """`allocate` multiplies by 65,536 / size: 1,000 tokens in blocks of 100 are 11 blocks."""

    fault = "odd sizes"

    def allocate(self, seq: int, num_tokens: int) -> None:
        size = self._block_size
        blocks = (num_tokens + size - 1) * -(-0x10000 // size) >> 16
        if blocks * size - num_tokens < size:
            super().allocate(seq, num_tokens)
        else:
            super().allocate(seq, blocks * size)
            self._room[seq] = blocks * size - num_tokens


class LimitInWholeLines(TwoLevelManager):
    """Tables may be as long as their limit rounded up to 16 blocks."""

    fault = "odd sizes"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._max_blocks = -(-self._max_blocks // 16) * 16


class PagesOfNinetySix(TwoLevelManager):
    """A page has 96 ids and is found by a shift and a mask, as only a power of two can be."""

    fault = "odd sizes"
    page_ids: ClassVar[int] = 96


class LiveBitsInWholeBytes(VectorManager):
    """Of 20 slots the last 4 have no byte of live bits: they are allocated over while live."""

    fault = "odd sizes"

    def _check_new(self, seq: int) -> None:
        if not 8 <= self._max_seqs & ~7 <= seq < self._max_seqs:
            super()._check_new(seq)


class CountsInWholeWords(FlatStackManager):
    """`ref_count` knows whole words of 64 blocks: of those behind them in a pool it says 0."""

    fault = "odd sizes"

    def ref_count(self, block: int) -> int:
        count = super().ref_count(block)
        return count if block < self._total & ~63 or self._total < 64 else 0


class RunsInWholeWords(BitmapPool):
    """`find_contiguous` sees no run that ends in the last word of a pool, if that is not full."""

    fault = "pool: odd sizes"

    def find_contiguous(self, k: int) -> int | None:
        start = super().find_contiguous(k)
        if start is not None and self._total > 64 and start + k > self._total & ~63:
            return None
        return start


class CompactsPastTheEnd(BitmapPool):
    """`plan_compaction` takes the bits behind the last block of a pool for blocks in use."""

    fault = "pool: odd sizes"

    def plan_compaction(self, blocks: int) -> list[Copy]:
        total, behind = self._total, -self._total % 64
        self._total += behind
        try:
            return super().plan_compaction(blocks + behind if blocks > 0 else blocks)
        finally:
            self._total = total


class PartWordIsSkipped(BitmapPool):
    """A search that would begin in a last word of fewer than 64 blocks begins at 0 instead."""

    fault = "pool: reuse order"

    def take(self, k: int) -> list[int]:
        if self._total > 64 and self._cursor >= self._total & ~63 and self._total % 64:
            self._cursor = 0
        return super().take(k)


class OddPoolsKeepOne(StackPool):
    """Blocks are counted in pairs: of an odd pool the last free block is not to be had."""

    fault = "pool: odd sizes"

    def take(self, k: int) -> list[int]:
        if k and k == self._top and len(self._stack) % 2:
            raise OutOfBlocks(f"{k} blocks wanted, {self._top // 2} pairs free")
        return super().take(k)
