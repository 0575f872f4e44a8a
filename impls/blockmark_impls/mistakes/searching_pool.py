"""The mistake: no free list. A block is free if its ref count is zero, and taking one looks
for the first such from the beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..contract import Copy, OutOfBlocks, ReuseOrder
from ..python.flat_stack import FlatStackManager

if TYPE_CHECKING:
    from collections.abc import Iterable


class SearchingPoolManager(FlatStackManager):
    """flat-stack whose free blocks are found by a search; `_top` still counts them."""

    reuse_order: ClassVar[ReuseOrder] = "lowest"

    @property
    def search_length(self) -> int:
        """Ref counts that the next block taken would look at; all if nothing is free."""
        return self._refs.index(0) + 1 if self._top else self._total

    def append_slot(self, seq: int) -> Copy | None:
        copies = self.extend(seq, 1)
        return copies[0] if copies else None

    def pool_bytes(self) -> int:
        """The ref counts are all there is."""
        from sys import getsizeof

        return getsizeof(self._refs)

    def _take(self, count: int) -> list[int]:
        refs = self._refs
        if count > self._top:
            raise OutOfBlocks(f"{count} blocks wanted, {self._top} free")
        taken = []
        for _ in range(count):
            block = refs.index(0)
            refs[block] = 1
            taken.append(block)
        self._top -= count
        return taken

    def _give(self, blocks: Iterable[int]) -> None:
        refs = self._refs
        for block in blocks:
            refs[block] -= 1
            if not refs[block]:
                self._top += 1
