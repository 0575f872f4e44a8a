"""Forks, copies and counts as engines had them wrong; a number is the issue that tells of it."""

from __future__ import annotations

from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig, UnknownSequence
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.vector import VectorManager


class CopyIsTakenOffTwice(VectorManager):
    """`free` takes a name off the block that was copied from once more (vLLM #1556)."""

    fault = "double free"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._sources: dict[int, int] = {}

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        if made:
            self._sources[seq] = made.src
        return made

    def free(self, seq: int) -> None:
        super().free(seq)
        src = self._sources.pop(seq, None)
        if src is not None and self._refs[src] > 0:
            self._give([src])


class TouchesBeforeItChecks(VectorManager):
    """`extend` that finds no block has raised the last block's ref count (vLLM #11565)."""

    fault = "exhaustion changes state"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        try:
            return super().extend(seq, num_tokens)
        except OutOfBlocks:
            self._refs[self._tables[seq][-1]] += 1
            raise


class ForksWhatWasDropped(VectorManager):
    """A fork raises the ref counts of what its parent dropped, too (vLLM #20512)."""

    fault = "ref count"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._dropped: dict[int, list[int]] = {}

    def drop_front(self, seq: int, num_blocks: int) -> None:
        before, first = list(self._table_of(seq)), self._first[seq]
        super().drop_front(seq, num_blocks)
        self._dropped.setdefault(seq, []).extend(before[first:num_blocks])

    def free(self, seq: int) -> None:
        super().free(seq)
        self._dropped.pop(seq, None)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        for block in self._dropped.get(parent, ()):
            self._refs[block] += 1


class NoDropWhereShared(HashMapManager):
    """`drop_front` of a shared block does nothing, in silence, as an option in SGLang #37584."""

    fault = "drop_front"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        table, logical = self._tables_of(seq), self._blocks[seq]
        first = logical - len(table)
        if first < num_blocks < logical and self._refs[table[first]] > 1:
            return
        super().drop_front(seq, num_blocks)


class NamesOffTheEnded(VectorManager):
    """`free` of one that ended takes names off the blocks it had, then raises: below zero."""

    fault = "ref count"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._had: dict[int, list[int]] = {}

    def free(self, seq: int) -> None:
        try:
            blocks = self.block_table(seq)
            super().free(seq)
            self._had[seq] = blocks
        except UnknownSequence:
            for block in self._had.pop(seq, ()):
                self._refs[block] -= 1
            raise


class TailGoesWithItsHead(VectorManager):
    """`free` takes all behind a block that is free again for free: a child loses its tail."""

    fault = "double free"

    def free(self, seq: int) -> None:
        blocks, gone = self.block_table(seq), False
        for block in blocks:
            gone = gone or self._refs[block] == 1
            if gone:
                self._refs[block] = 1
        super().free(seq)


class OwnersFreeForAll(FlatStackManager):
    """A block belongs to the sequence that took it: when that ends, its children lose it."""

    fault = "double free"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._children: dict[int, set[int]] = {}

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._children.setdefault(parent, set()).add(child)

    def free(self, seq: int) -> None:
        if self._children.pop(seq, None):
            for block in self.block_table(seq):
                self._refs[block] = 1
        super().free(seq)
        for children in self._children.values():
            children.discard(seq)


class BlockZeroIsNeverCopied(FlatStackManager):
    """Block 0 is taken for a null block, and written although others read it."""

    fault = "copy-on-write"

    def append_slot(self, seq: int) -> Copy | None:
        left = self._room[seq] if 0 <= seq < self._max_seqs else -1
        if left > 0 and self._table[self._end[seq] - 1] == 0:
            self._room[seq] = left - 1
            return None
        return super().append_slot(seq)


class CopiesTheHigherNumber(HashMapManager):
    """A shared block is copied if its number is above that of the first block in its table."""

    fault = "copy-on-write"

    def append_slot(self, seq: int) -> Copy | None:
        if self._room.get(seq):
            table = list(self._tables[seq].values())
            if len(table) > 1 and table[-1] < table[0]:
                self._room[seq] -= 1
                return None
        return super().append_slot(seq)
