"""Blocks that go back to the pool although a table still names them, or twice."""

from __future__ import annotations

from blockmark_impls.contract import Copy
from blockmark_impls.python.vector import VectorManager


class FreesLastBlockTwice(VectorManager):
    """`free` gives the last block back twice."""

    fault = "double free"

    def free(self, seq: int) -> None:
        last = self._table_of(seq)[-1]
        super().free(seq)
        if self._refs[last] == 0:
            self._free.append(last)


class DropsFrontTwice(VectorManager):
    """A second `drop_front` gives back again what the first one dropped."""

    fault = "double free"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        before = self._table_of(seq)[:num_blocks]
        already = self._first[seq]
        super().drop_front(seq, num_blocks)
        self._free += before[:already]


class TruncateFreesTooMuch(VectorManager):
    """`truncate` gives the new last block back too."""

    fault = "double free"

    def truncate(self, seq: int, num_tokens: int) -> None:
        long = len(self._table_of(seq))
        super().truncate(seq, num_tokens)
        if len(self._tables[seq]) < long:
            self._give([self._tables[seq][-1]])


class FreesSharedBlocks(VectorManager):
    """`free` gives blocks back that a fork still holds."""

    fault = "double free"

    def free(self, seq: int) -> None:
        shared = [b for b in self.block_table(seq) if self._refs[b] > 1]
        super().free(seq)
        self._free += shared


class CopyFreesItsSource(VectorManager):
    """Copy-on-write gives the source back although others still read it."""

    fault = "double free"

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        if made:
            self._free.append(made.src)
        return made
