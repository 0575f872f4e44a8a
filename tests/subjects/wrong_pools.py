"""Pools that are wrong, each in one way; named as targets by path in the tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from blockmark_impls.contract import Copy, OutOfBlocks, ReuseOrder
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool


class Bare:
    """The least that a pool is."""

    def __init__(self, total_blocks: int) -> None:
        self._ids = list(range(total_blocks))

    def take(self, k: int) -> list[int]:
        if k > len(self._ids):
            raise OutOfBlocks
        taken, self._ids = self._ids[:k], self._ids[k:]
        return taken

    def give(self, ids: Sequence[int]) -> None:
        self._ids.extend(ids)

    @property
    def num_free(self) -> int:
        return len(self._ids)


class Twice(ListPool):
    """Hands out the last block of a batch again."""

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        return [*taken[:-1], taken[0]] if k > 1 else taken


class Outside(Bare):
    """Counts from 1."""

    def take(self, k: int) -> list[int]:
        return [block + 1 for block in super().take(k)]

    def give(self, ids: Sequence[int]) -> None:
        super().give([block - 1 for block in ids])


class Miscounts(ListPool):
    @property
    def num_free(self) -> int:
        return min(3, super().num_free)


class Keeps(ListPool):
    """Gives what it has where it has too little."""

    def take(self, k: int) -> list[int]:
        return super().take(min(k, self.num_free))


class Loses(ListPool):
    """Empties itself before it refuses."""

    def take(self, k: int) -> list[int]:
        if k > self.num_free:
            super().take(self.num_free)
        return super().take(k)


class NotFirst(LinkedListPool):
    """Puts two of the oldest behind what comes back, and says first in first out."""

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids)
        if self.num_free > 3:
            super().give(super().take(2))


class PassesOver(BitmapPool):
    """Begins at the lowest block every time and says next-fit."""

    def take(self, k: int) -> list[int]:
        self._cursor = 0
        return super().take(k)


class Lowest(PassesOver):
    """The same, declared as what it is."""

    reuse_order: ClassVar[ReuseOrder] = "lowest"


class RemovesNothing(LinkedListPool):
    def remove(self, id: int) -> None:
        if self._nodes[id].prev is self._nodes[id]:
            raise ValueError(f"block {id} is not free")


class RemovesTaken(LinkedListPool):
    def remove(self, id: int) -> None:
        if self._nodes[id].prev is not self._nodes[id]:
            super().remove(id)


class FindsShort(BitmapPool):
    def find_contiguous(self, k: int) -> int | None:
        return super().find_contiguous(max(1, k - 1))


class MovesInTurn(BitmapPool):
    """Plans the right moves, the lowest source first."""

    def plan_compaction(self, blocks: int) -> list[Copy]:
        return super().plan_compaction(blocks)[::-1]
