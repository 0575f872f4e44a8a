"""Ref counts that do not say how many tables name a block."""

from __future__ import annotations

from blockmark_impls.contract import Copy
from blockmark_impls.python.vector import VectorManager


class ForkCountsNothing(VectorManager):
    """`fork` raises no ref count."""

    fault = "ref count"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        before = list(self._refs)
        super().fork(parent, child, num_blocks)
        self._refs = before


class ForkCountsTwice(VectorManager):
    """`fork` raises every ref count by two."""

    fault = "ref count"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        for block in self.block_table(child):
            self._refs[block] += 1


class ForkForgetsTheLast(VectorManager):
    """`fork` raises every ref count but that of the last block."""

    fault = "ref count"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._refs[self.block_table(child)[-1]] -= 1


class PrefixCountsTheWhole(VectorManager):
    """The fork of a prefix raises the ref counts of the whole table."""

    fault = "ref count"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        for block in self._tables[parent][len(self._tables[child]) :]:
            self._refs[block] += 1


class BelowZero(VectorManager):
    """A block that is free has a ref count of -1."""

    fault = "ref count"

    def free(self, seq: int) -> None:
        blocks = self.block_table(seq)
        super().free(seq)
        for block in blocks:
            if self._refs[block] == 0:
                self._refs[block] = -1


class EightBits(VectorManager):
    """A ref count wraps round at 256 forks."""

    fault = "ref count"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        for block in self.block_table(child):
            self._refs[block] &= 0xFF


class CopyKeepsItsCount(VectorManager):
    """Copy-on-write takes no name off the source."""

    fault = "ref count"

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        if made:
            self._refs[made.src] += 1
        return made
