"""Pools, takes and free counts that are too large for the field that holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.stack_pool_numpy import NumpyStackPool
from blockmark_impls.python.two_level import TwoLevelManager


class FreeCountInTwelveBits(StackPool):
    """`num_free` of a pool with 4,096 free blocks is 0."""

    fault = "pool: num_free"

    @property
    def num_free(self) -> int:
        return self._top & 0xFFF


class FreeCountInSignedWords(NumpyStackPool):
    """`num_free` has sixteen bits with a sign: 32,768 free blocks are fewer than none."""

    fault = "pool: num_free"

    @property
    def num_free(self) -> int:
        return int(np.int64(self._top).astype(np.int16))


class TakesInSevenBits(ListPool):
    """`take` of 128 blocks and more takes seven bits of that number."""

    fault = "pool: sizes"

    def take(self, k: int) -> list[int]:
        return super().take(k & 0x7F if 0 <= k <= len(self._free) else k)


class GivesInNineBits(LinkedListPool):
    """512 blocks that are given in one call are counted as none."""

    fault = "pool: sizes"

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids)
        self._num_free -= len(ids) & ~0x1FF


class CursorInTenBits(BitmapPool):
    """The cursor has ten bits: behind block 1,023 the search begins at 0 (next-fit declared)."""

    fault = "pool: reuse order"

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        self._cursor &= 0x3FF
        return taken


class RemovesInElevenBits(LinkedListPool):
    """`remove` of block 2,048 takes block 0 out, if that is free."""

    fault = "pool: remove"

    def remove(self, id: int) -> None:
        free = 0 <= id < len(self._nodes) and self._nodes[id].next is not self._nodes[id]
        other = self._nodes[id & 0x7FF if free else 0]
        super().remove(other.block if free and other.next is not other else id)


class AsksInNineBits(FlatStackManager):
    """`can_allocate` looks at nine bits of its number: 512 blocks are always to be had."""

    fault = "exhaustion"

    def can_allocate(self, num_blocks: int) -> bool:
        return super().can_allocate(num_blocks & 0x1FF)


class FreeBlocksInThirteenBits(TwoLevelManager):
    """`num_free_blocks` of a manager with 8,192 free blocks is 0."""

    fault = "sizes"

    @property
    def num_free_blocks(self) -> int:
        return self._top & 0x1FFF
