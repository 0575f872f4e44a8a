"""vector: a growing list per sequence, whose index is the logical block.

Free blocks are a growing list, ref counts a list.
"""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, ClassVar

from ..contract import (
    Copy,
    OutOfBlocks,
    Profile,
    SequenceTooLong,
    UnknownSequence,
)
from .manager import INT_BYTES, ListManager
from .rows import write_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract import PoolConfig


class VectorManager(ListManager):
    """Block manager over lists. See `contract.BlockManager` for every operation."""

    profile: ClassVar[Profile] = Profile(id_type="int object")

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config, "int object")
        # An empty table is a sequence that does not exist. Dropped entries are 0.
        self._tables: list[list[int]] = [[] for _ in range(self._max_seqs)]
        # Beside the tables: the first block that was not dropped.
        self._first = [0] * self._max_seqs
        self._room: list[int] = [-1] * self._max_seqs
        self._refs: list[int] = [0] * self._total

    def lookup(self, seq: int, logical: int) -> int:
        try:
            # A negative index would count from the end.
            if seq >= 0 and logical >= self._first[seq]:
                return self._tables[seq][logical]
        except IndexError:
            pass
        raise UnknownSequence(f"sequence {seq} has no block {logical}")

    def append_slot(self, seq: int) -> Copy | None:
        room = self._room
        left = room[seq] if 0 <= seq < self._max_seqs else -1
        if left > 0:
            table = self._tables[seq]
            src = table[-1]
            refs = self._refs
            if refs[src] == 1:
                room[seq] = left - 1
                return None
            if not self._free:
                raise OutOfBlocks("no free block for a copy")
            dst = self._free.pop()
            refs[src] -= 1
            refs[dst] = 1
            table[-1] = dst
            room[seq] = left - 1
            return Copy(src, dst)
        if left < 0:
            raise UnknownSequence(f"sequence {seq} does not exist")
        table = self._tables[seq]
        if len(table) == self._max_blocks:
            raise SequenceTooLong(
                f"sequence {seq} is at {len(table)} blocks, the most there can be"
            )
        if not self._free:
            raise OutOfBlocks("no free block")
        block = self._free.pop()
        self._refs[block] = 1
        table.append(block)
        room[seq] = self._block_size - 1
        return None

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._check_new(seq)
        if num_tokens < 1:
            raise ValueError(f"num_tokens = {num_tokens} must be at least 1")
        count = -(-num_tokens // self._block_size)
        if count > self._max_blocks:
            raise SequenceTooLong(f"{count} blocks are more than {self._max_blocks}")
        self._tables[seq] = self._take(count)
        self._room[seq] = count * self._block_size - num_tokens

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        table, left, refs = self._table_of(seq), self._room[seq], self._refs
        if num_tokens < 0:
            raise ValueError(f"num_tokens = {num_tokens} must not be negative")
        if num_tokens == 0:
            return []
        count = -(-(num_tokens - left) // self._block_size) if num_tokens > left else 0
        if len(table) + count > self._max_blocks:
            raise SequenceTooLong(f"{len(table) + count} blocks are more than {self._max_blocks}")
        src = table[-1]
        shared = left > 0 and refs[src] > 1
        taken = self._take(count + shared)
        copies = []
        if shared:
            dst = table[-1] = taken.pop(0)
            refs[src] -= 1
            copies.append(Copy(src, dst))
        table += taken
        self._room[seq] = left + count * self._block_size - num_tokens
        return copies

    def truncate(self, seq: int, num_tokens: int) -> None:
        table = self._table_of(seq)
        keep = -(-num_tokens // self._block_size)
        if not 1 <= num_tokens <= len(table) * self._block_size - self._room[seq]:
            raise ValueError(f"num_tokens = {num_tokens} must be between 1 and the length")
        if keep <= self._first[seq]:
            raise ValueError(f"{num_tokens} tokens lie in blocks that were dropped")
        self._give(reversed(table[keep:]))
        del table[keep:]
        self._room[seq] = keep * self._block_size - num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        table, first = self._table_of(seq), self._first[seq]
        if not 0 <= num_blocks < len(table):
            raise ValueError(
                f"num_blocks = {num_blocks} must leave the last of {len(table)} blocks"
            )
        if num_blocks > first:
            self._give(table[first:num_blocks])
            table[first:num_blocks] = [0] * (num_blocks - first)
            self._first[seq] = num_blocks

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        table, first, left = self._table_of(parent), self._first[parent], self._room[parent]
        self._check_new(child)
        if num_blocks is not None:
            if not first < num_blocks <= len(table) - (left > 0):
                raise ValueError(f"num_blocks = {num_blocks} must be a prefix of full, kept blocks")
            left = 0
        shared = table[:num_blocks]
        refs = self._refs
        for block in shared[first:] if first else shared:
            refs[block] += 1
        self._tables[child], self._first[child], self._room[child] = shared, first, left

    def free(self, seq: int) -> None:
        table, first = self._table_of(seq), self._first[seq]
        self._give(table[first:] if first else table)
        self._tables[seq], self._first[seq], self._room[seq] = [], 0, -1

    def block_table(self, seq: int) -> list[int]:
        return self._table_of(seq)[self._first[seq] :]

    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        write_rows([(0, self._table_of(seq)) for seq in seqs.tolist()], out, lengths)

    def table_bytes(self) -> int:
        """Lists, spare capacity included, what is kept beside them, and the ids' int objects."""
        lists = sum(map(getsizeof, (self._tables, self._first, self._room, *self._tables)))
        return lists + (self._total - len(self._free)) * INT_BYTES

    def pool_bytes(self) -> int:
        """The free list and its int objects, and the list of ref counts."""
        return getsizeof(self._free) + len(self._free) * INT_BYTES + getsizeof(self._refs)

    def _logical(self, seq: int) -> int:
        return len(self._tables[seq])

    def _table_of(self, seq: int) -> list[int]:
        table = self._tables[seq] if 0 <= seq < self._max_seqs else []
        if not table:
            raise UnknownSequence(f"sequence {seq} does not exist")
        return table
