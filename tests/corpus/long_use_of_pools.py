"""Pools that wear out: stamps, losses and a cursor after thousands of calls."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import ClassVar

from blockmark_impls.contract import OutOfBlocks, ReuseOrder
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool


class StampsInFifteenBits(ListPool):
    """Blocks are queued by stamps of fifteen bits: after 32,768 the newest come out first."""

    fault = "pool: reuse order"
    reuse_order: ClassVar[ReuseOrder] = "FIFO"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._clock = 0
        self._heap = [(-1, block) for block in range(total_blocks)]
        heapify(self._heap)

    def take(self, k: int) -> list[int]:
        super().take(k)
        taken = [heappop(self._heap)[1] for _ in range(k)]
        self._free = [block for _, block in self._heap]
        return taken

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids)
        for block in ids:
            heappush(self._heap, (self._clock, int(block)))
            self._clock = (self._clock + 1) & 0x7FFF


class WornByExhaustion(StackPool):
    """Every 500th `take` that finds too few blocks loses one for good."""

    fault = "pool: late"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._refused = 0

    def take(self, k: int) -> list[int]:
        try:
            return super().take(k)
        except OutOfBlocks:
            self._refused += 1
            if self._refused % 500 == 0 and self._top:
                self._top -= 1
            raise


class CursorWearsOut(BitmapPool):
    """After 10,000 blocks the cursor stays where it is (next-fit declared)."""

    fault = "pool: reuse order"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._handed_out = 0

    def take(self, k: int) -> list[int]:
        cursor = self._cursor
        taken = super().take(k)
        self._handed_out += k
        if self._handed_out > 10_000:
            self._cursor = cursor
        return taken
