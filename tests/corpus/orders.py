"""Blocks that come back in another order than the class declares."""

from __future__ import annotations

from typing import ClassVar

from blockmark_impls.contract import Copy, ReuseOrder
from blockmark_impls.python.vector import VectorManager


class DeclaresFifo(VectorManager):
    """Last in, first out, declared as FIFO."""

    fault = "reuse order"
    reuse_order: ClassVar[ReuseOrder] = "FIFO"


class DeclaresLowest(VectorManager):
    """Last in, first out, declared as the lowest id first."""

    fault = "reuse order"
    reuse_order: ClassVar[ReuseOrder] = "lowest"


class AppendsFromTheBottom(VectorManager):
    """`append_slot` takes the block that was free the longest; LIFO is declared."""

    fault = "reuse order"

    def append_slot(self, seq: int) -> Copy | None:
        self._free.reverse()
        made = super().append_slot(seq)
        self._free.reverse()
        return made


class FreesBelow(VectorManager):
    """`free` puts blocks under the stack; LIFO is declared."""

    fault = "reuse order"

    def free(self, seq: int) -> None:
        before = len(self._free)
        super().free(seq)
        self._free = self._free[before:] + self._free[:before]
