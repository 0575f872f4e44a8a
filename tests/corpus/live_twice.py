"""One block in two places, without a fork."""

from __future__ import annotations

from typing import ClassVar

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.vector import VectorManager


class HandsOutTwice(VectorManager):
    """`allocate` names its first block at the last index too."""

    fault = "block live twice"

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        self._tables[seq][-1] = self._tables[seq][0]


class TakesWithoutRemoving(VectorManager):
    """A block that `append_slot` takes stays in the free list."""

    fault = "block live twice"

    def append_slot(self, seq: int) -> Copy | None:
        long = len(self._tables[seq])
        made = super().append_slot(seq)
        if len(self._tables[seq]) > long:
            self._free.append(self._tables[seq][-1])
        return made


class TwiceWhenNearlyFull(VectorManager):
    """The very last free block is not taken; the table names a block of another instead."""

    fault = "block live twice"

    def append_slot(self, seq: int) -> Copy | None:
        long = len(self._tables[seq])
        made = super().append_slot(seq)
        if len(self._tables[seq]) > long and not self._free and self._total > 8:
            self._tables[seq][-1] = next(t[0] for t in self._tables if t)
        return made


class SharesItsPool(VectorManager):
    """All instances of a size have one free list."""

    fault = "state shared"
    _lists: ClassVar[dict[int, list[int]]] = {}

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free = self._lists.setdefault(self._total, self._free)


class SharesTheForkedTable(VectorManager):
    """A forked child has the list of its parent, not a copy."""

    fault = "state shared"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if num_blocks is None:
            self._tables[child] = self._tables[parent]
