"""Answers that are remembered, and not forgotten where something changes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.vector import VectorManager


class _Noting(VectorManager):
    """A right one that knows whether a table changed since it was last packed."""

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._packed: Any = None

    def append_slot(self, seq: int) -> Copy | None:
        self._packed = None
        return super().append_slot(seq)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        self._packed = None
        super().fork(parent, child, num_blocks)

    def _take(self, count: int) -> list[int]:
        self._packed = None
        return super()._take(count)

    def _give(self, blocks: Iterable[int]) -> None:
        self._packed = None
        super()._give(blocks)


class PacksWhatChanged(_Noting):
    """Rows are not written when no table changed since the last ones, whatever `out` it is."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        wanted = seqs.tolist(), out.shape
        if self._packed != wanted:
            super().write_block_tables(seqs, out, lengths)
            self._packed = wanted


class PacksOnceForABuffer(_Noting):
    """A buffer that was packed and not changed since is trusted, also when its owner wrote it."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        wanted = seqs.tolist(), out.shape, out.ctypes.data, lengths.ctypes.data
        if self._packed != wanted:
            super().write_block_tables(seqs, out, lengths)
            self._packed = wanted


class LengthsWhenChanged(_Noting):
    """Rows are always written, lengths only when a table changed since they were last."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        wanted, before = seqs.tolist(), lengths.copy()
        super().write_block_tables(seqs, out, lengths)
        if self._packed == wanted:
            lengths[:] = before
        self._packed = wanted


class RowsUntilTheyGrow(HashMapManager):
    """A packed row is built anew when its blocks are more or fewer: a copy leaves the old one."""

    fault = "pack"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._built: dict[int, dict[int, int]] = {}

    def free(self, seq: int) -> None:
        super().free(seq)
        self._built.pop(seq, None)

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        tables = self._tables
        for seq in seqs.tolist():
            table = self._tables_of(seq)
            if self._built.get(seq, {}).keys() != table.keys():
                self._built[seq] = table.copy()
        self._tables = self._built
        try:
            super().write_block_tables(seqs, out, lengths)
        finally:
            self._tables = tables


class RowsBehindAWindow(VectorManager):
    """A packed row is kept until its end changes: what `drop_front` gave back stays in it."""

    fault = "pack"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._rows: dict[int, list[int]] = {}

    def free(self, seq: int) -> None:
        super().free(seq)
        self._rows.pop(seq, None)

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        for row, seq in enumerate(seqs.tolist()):
            table, kept = self._tables[seq], self._rows.get(seq, [])
            first = self._first[seq]
            if kept[first:] != table[first:]:
                kept = self._rows[seq] = list(table)
            out[row, : len(kept)] = kept


class RowsByTheirSum(VectorManager):
    """Rows of one sum are taken for one row, as Dynamo #12046 merged keys cut to 32 bits."""

    fault = "pack"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._memo: dict[tuple[int, int, int], list[int]] = {}

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        for row, seq in enumerate(seqs.tolist()):
            table = self._tables[seq]
            key = len(table), self._first[seq], sum(table)
            out[row, : len(table)] = self._memo.setdefault(key, list(table))


class CountsWhileFreeStays(VectorManager):
    """`ref_count` remembers a block's count for as long as the number of free blocks stays."""

    fault = "answer kept"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._counts: dict[int, int] = {}
        self._at = -1

    def ref_count(self, block: int) -> int:
        if self._at != len(self._free):
            self._at = len(self._free)
            self._counts.clear()
        if block not in self._counts:
            self._counts[block] = super().ref_count(block)
        return self._counts[block]


class WidestEver(VectorManager):
    """What does not fit into a row is told by the widest table that was ever packed."""

    fault = "wrong error class"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._widest = 0

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        tables = [self._table_of(seq) for seq in seqs.tolist()]
        self._widest = max([self._widest, *map(len, tables)])
        if self._widest > out.shape[1]:
            raise ValueError(f"{self._widest} blocks are wider than out")
        super().write_block_tables(seqs, out, lengths)
