"""Pools that hand blocks out in another order than they declare, some of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from blockmark_impls.contract import OutOfBlocks, ReuseOrder
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool


class SinglesToTheHead(LinkedListPool):
    """One block that is given alone is taken next; FIFO is declared."""

    fault = "pool: reuse order"

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids)
        if len(ids) == 1:
            node = self._tail.prev
            node.prev.next, self._tail.prev = self._tail, node.prev
            node.next, node.prev = self._head.next, self._head
            self._head.next.prev = node
            self._head.next = node


class QueuesBackwards(LinkedListPool):
    """Blocks given in one call come back last one first; FIFO is declared."""

    fault = "pool: reuse order"

    def give(self, ids: Sequence[int]) -> None:
        super().give(list(ids)[::-1])


class QueuesByNumber(LinkedListPool):
    """Five blocks and more that are given in one call are queued by number; FIFO is declared."""

    fault = "pool: reuse order"

    def give(self, ids: Sequence[int]) -> None:
        super().give(sorted(ids) if len(ids) >= 5 else ids)


class RemovedGoesToTheHead(LinkedListPool):
    """A block that was removed by number is taken first when it comes back; FIFO is declared."""

    fault = "pool: reuse order"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._removed: set[int] = set()

    def remove(self, id: int) -> None:
        super().remove(id)
        self._removed.add(id)

    def give(self, ids: Sequence[int]) -> None:
        first = [block for block in ids if block in self._removed]
        self._removed.difference_update(first)
        super().give([block for block in ids if block not in first])
        self._num_free += len(first)
        for block in first:
            node = self._nodes[block]
            node.next, node.prev = self._head.next, self._head
            self._head.next.prev = node
            self._head.next = node


class BottomOfTheStack(ListPool):
    """With four blocks left and fewer the bottom of the stack goes first; LIFO is declared."""

    fault = "pool: reuse order"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def take(self, k: int) -> list[int]:
        if not 0 < k <= len(self._free) <= 4:
            return super().take(k)
        taken, self._free = self._free[:k], self._free[k:]
        return taken


class StacksByNumber(StackPool):
    """A pool of more than 200 blocks stacks what is given by number; LIFO is declared."""

    fault = "pool: reuse order"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def give(self, ids: Sequence[int]) -> None:
        super().give(sorted(ids) if len(self._stack) > 200 else ids)


class TurnsWhenExhausted(ListPool):
    """A `take` that finds too few blocks turns the stack upside down; LIFO is declared."""

    fault = "pool: reuse order"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def take(self, k: int) -> list[int]:
        try:
            return super().take(k)
        except OutOfBlocks:
            self._free.reverse()
            raise


class HintOfTheFirst(BitmapPool):
    """The hint where to search is lowered to the first block given; lowest is declared."""

    fault = "pool: reuse order"
    reuse_order: ClassVar[ReuseOrder] = "lowest"

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids)
        if len(ids):
            self._cursor = min(self._cursor, ids[0])


class HintFallsByAWord(BitmapPool):
    """The hint is lowered by 64 blocks at most in one call; lowest is declared."""

    fault = "pool: reuse order"
    reuse_order: ClassVar[ReuseOrder] = "lowest"

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids)
        if len(ids):
            self._cursor = max(min(self._cursor, *ids), self._cursor - 64)


class RemoveMovesTheCursor(BitmapPool):
    """`remove` begins the next search behind the block removed; next-fit is declared."""

    fault = "pool: reuse order"

    def remove(self, id: int) -> None:
        super().remove(id)
        self._cursor = id + 1


class BeginsAtOne(BitmapPool):
    """Around the end the search goes on with block 1; next-fit is declared."""

    fault = "pool: reuse order"

    def take(self, k: int) -> list[int]:
        if self._cursor >= self._total:
            self._cursor = 1
        return super().take(k)
