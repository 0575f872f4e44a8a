"""Managers that put off what they can, and do it when they are asked."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig, ReuseOrder, UnknownSequence
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.vector import VectorManager


class _Logged:
    """Numbers whose changes are a log, which is worked off when one of them is read."""

    def __init__(self, count: int) -> None:
        self._numbers = [0] * count
        self._log: list[tuple[int, int]] = []

    def __setitem__(self, place: int, number: int) -> None:
        self._log.append((place, number))

    def __getitem__(self, place: int) -> int:
        for changed, number in self._log:
            self._numbers[changed] = number
        self._log.clear()
        return self._numbers[place]


class CountsWhenAsked(VectorManager):
    """A ref count is what its log says, which is read when the count is asked for."""

    right = "ref counts that are counted when asked"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._refs: Any = _Logged(self._total)


class _OneOpen:
    """Tables as arrays; the one that was read last is a list, and is put away by the next."""

    def __init__(self, count: int) -> None:
        self._closed = [array("i")] * count
        self._open, self._table = 0, list[int]()

    def __getitem__(self, seq: int) -> list[int]:
        if seq != self._open:
            self[seq] = self._closed[seq].tolist()
        return self._table

    def __setitem__(self, seq: int, table: list[int]) -> None:
        if seq != self._open:
            self._closed[self._open] = array("i", self._table)
        self._open, self._table = seq, table

    def __iter__(self) -> Iterator[array[int]]:
        self._closed[self._open] = array("i", self._table)
        return iter(self._closed)


class OneTableOpen(VectorManager):
    """All tables but one are packed, and are unpacked when they are needed."""

    right = "tables that are built when asked"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._tables: Any = _OneOpen(self._max_seqs)


class SortsWhenItTakes(VectorManager):
    """What came back is sorted in when something is taken, so that the lowest is on top."""

    right = "the lowest block first, sorted when asked"
    reuse_order: ClassVar[ReuseOrder] = "lowest"
    _in_order = True

    def _take(self, count: int) -> list[int]:
        self._sort()
        return super()._take(count)

    def append_slot(self, seq: int) -> Copy | None:
        self._sort()
        return super().append_slot(seq)

    def _give(self, blocks: Iterable[int]) -> None:
        super()._give(blocks)
        self._in_order = False

    def _sort(self) -> None:
        if not self._in_order:
            self._free.sort(reverse=True)
            self._in_order = True


class RowsByLookups(FlatStackManager):
    """A row is packed by a lookup for each of its blocks."""

    right = "rows that are looked up block by block"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        totals = []
        for seq in seqs.tolist():
            self._room_of(seq)
            totals.append(self._logical(seq))
        if len(out) != len(totals) or max(totals, default=0) > out.shape[1]:
            raise ValueError(f"out has shape {out.shape}")
        out[:] = 0
        for row, seq in enumerate(seqs.tolist()):
            lengths[row] = totals[row]
            for logical in range(totals[row]):
                try:
                    out[row, logical] = self.lookup(seq, logical)
                except UnknownSequence:
                    continue  # it was dropped


class ExtendsByAppending(HashMapManager):
    """`extend` counts what it needs, and appends token by token."""

    right = "extend as a loop of append_slot"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        if num_tokens < 1:
            return super().extend(seq, num_tokens)
        left, table, logical = self._room_of(seq), self._tables[seq], self._blocks[seq]
        more = -(-(num_tokens - left) // self._block_size) if num_tokens > left else 0
        needed = more + (left > 0 and self._refs[table[logical - 1]] > 1)
        if logical + more > self._max_blocks:
            return super().extend(seq, num_tokens)  # which raises
        if needed > len(self._free):
            raise OutOfBlocks(f"{needed} blocks wanted, {len(self._free)} free")
        made = (self.append_slot(seq) for _ in range(num_tokens))
        return [copy for copy in made if copy]
