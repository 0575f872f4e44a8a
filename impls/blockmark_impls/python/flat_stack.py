"""flat-stack: one preallocated table for all sequences and a preallocated stack.

The table is one `array` of 16, 32 or 64-bit ids with a row per sequence. Free
blocks are the part of a fixed list below a top index, ref counts a fixed list:
lists, because Python reads them three times as fast as arrays. No container grows
after construction. Entries that no sequence holds are zero, so rows can be packed
as they lie.
"""

from __future__ import annotations

from array import array
from sys import getsizeof
from typing import TYPE_CHECKING, ClassVar

from ..contract import (
    Copy,
    OutOfBlocks,
    Profile,
    SequenceTooLong,
    UnknownSequence,
)
from .manager import INT_BYTES, StackManager
from .sizes import TYPECODES, id_type

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract import PoolConfig


class FlatStackManager(StackManager):
    """Block manager over one flat table. See `contract.BlockManager` for every operation."""

    profile: ClassVar[Profile] = Profile(id_type="uint16")

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config, id_type(config.id_bits))
        self._stride = self._max_blocks
        typecode = TYPECODES[config.id_bits]
        self._table = array(typecode, [0]) * (self._max_seqs * self._stride)
        self._zeros = array(typecode, [0]) * self._stride
        # Beside the table, for each row: where its kept blocks start and end in the
        # table (both at the row's start: no such sequence), so that an append needs no
        # multiplication.
        self._start = list(range(0, self._max_seqs * self._stride, self._stride))
        self._end = self._start.copy()

    def lookup(self, seq: int, logical: int) -> int:
        place = seq * self._stride + logical
        try:
            # A negative index would count from the end.
            if seq >= 0 and self._start[seq] <= place < self._end[seq]:
                return self._table[place]
        except IndexError:
            pass
        raise UnknownSequence(f"sequence {seq} has no block {logical}")

    def append_slot(self, seq: int) -> Copy | None:
        room = self._room
        left = room[seq] if 0 <= seq < self._max_seqs else -1
        if left > 0:
            last = self._end[seq] - 1
            src = self._table[last]
            refs = self._refs
            if refs[src] == 1:
                room[seq] = left - 1
                return None
            top = self._top - 1
            if top < 0:
                raise OutOfBlocks("no free block for a copy")
            self._top = top
            dst = self._stack[top]
            refs[src] -= 1
            refs[dst] = 1
            self._table[last] = dst
            room[seq] = left - 1
            return Copy(src, dst)
        if left < 0:
            raise UnknownSequence(f"sequence {seq} does not exist")
        end = self._end[seq]
        if end == (seq + 1) * self._stride:
            raise SequenceTooLong(
                f"sequence {seq} is at {self._stride} blocks, the most there can be"
            )
        top = self._top - 1
        if top < 0:
            raise OutOfBlocks("no free block")
        self._top = top
        block = self._stack[top]
        self._refs[block] = 1
        self._table[end] = block
        self._end[seq] = end + 1
        room[seq] = self._block_size - 1
        return None

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        left, refs = self._room_of(seq), self._refs
        if num_tokens < 0:
            raise ValueError(f"num_tokens = {num_tokens} must not be negative")
        if num_tokens == 0:
            return []
        logical = self._logical(seq)
        count = -(-(num_tokens - left) // self._block_size) if num_tokens > left else 0
        if logical + count > self._stride:
            raise SequenceTooLong(f"{logical + count} blocks are more than {self._stride}")
        last = self._end[seq] - 1
        src = self._table[last]
        shared = left > 0 and refs[src] > 1
        taken = self._take(count + shared)
        copies = []
        if shared:
            dst = self._table[last] = taken.pop(0)
            refs[src] -= 1
            copies.append(Copy(src, dst))
        self._put(seq, taken)
        self._room[seq] = left + count * self._block_size - num_tokens
        return copies

    def truncate(self, seq: int, num_tokens: int) -> None:
        left = self._room_of(seq)
        keep = -(-num_tokens // self._block_size)
        if not 1 <= num_tokens <= self._logical(seq) * self._block_size - left:
            raise ValueError(f"num_tokens = {num_tokens} must be between 1 and the length")
        new_end, end = seq * self._stride + keep, self._end[seq]
        if new_end <= self._start[seq]:
            raise ValueError(f"{num_tokens} tokens lie in blocks that were dropped")
        self._give(reversed(self._table[new_end:end]))
        self._table[new_end:end] = self._zeros[: end - new_end]
        self._end[seq] = new_end
        self._room[seq] = keep * self._block_size - num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        self._room_of(seq)
        if not 0 <= num_blocks < self._logical(seq):
            raise ValueError(f"num_blocks = {num_blocks} must leave the last block")
        start, new_start = self._start[seq], seq * self._stride + num_blocks
        if new_start > start:
            self._give(self._table[start:new_start])
            self._table[start:new_start] = self._zeros[: new_start - start]
            self._start[seq] = new_start

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        left = self._room_of(parent)
        self._check_new(child)
        start, end, row = self._start[parent], self._end[parent], parent * self._stride
        if num_blocks is not None:
            if not start < row + num_blocks <= end - (left > 0):
                raise ValueError(f"num_blocks = {num_blocks} must be a prefix of full, kept blocks")
            end, left = row + num_blocks, 0
        shared = self._table[start:end]
        refs = self._refs
        for block in shared:
            refs[block] += 1
        away = child * self._stride - row
        self._table[start + away : end + away] = shared
        self._start[child], self._end[child], self._room[child] = start + away, end + away, left

    def free(self, seq: int) -> None:
        self._room_of(seq)
        start, end = self._start[seq], self._end[seq]
        self._give(self._table[start:end])
        self._table[start:end] = self._zeros[: end - start]
        self._start[seq] = self._end[seq] = seq * self._stride
        self._room[seq] = -1

    def block_table(self, seq: int) -> list[int]:
        self._room_of(seq)
        return self._table[self._start[seq] : self._end[seq]].tolist()

    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        import numpy as np

        end, stride, slots = self._end, self._stride, range(self._max_seqs)
        totals = [end[seq] - seq * stride if seq in slots else 0 for seq in seqs.tolist()]
        if 0 in totals:
            raise UnknownSequence(f"sequence {seqs[totals.index(0)]} does not exist")
        count, width = out.shape
        widest = max(totals, default=0)
        if count != len(totals):
            raise ValueError(f"out has {count} rows for {len(totals)} sequences")
        if widest > width:
            raise ValueError(f"a table of {widest} blocks is wider than out ({width})")
        # One gather over the table's own memory: what a flat table is good for.
        table = np.frombuffer(self._table, self._table.typecode)
        rows = table.reshape(self._max_seqs, self._stride)
        out[:, :widest] = rows[seqs, :widest]
        out[:, widest:] = 0
        lengths[:] = totals

    def table_bytes(self) -> int:
        """The whole table, and what is kept beside it for each row; neither grows with use."""
        lists = sum(map(getsizeof, (self._start, self._end, self._room)))
        return len(self._table) * self._table.itemsize + lists + 2 * self._max_seqs * INT_BYTES

    def _logical(self, seq: int) -> int:
        return self._end[seq] - seq * self._stride

    def _put(self, seq: int, blocks: list[int]) -> None:
        end = self._end[seq]
        new_end = end + len(blocks)
        self._table[end:new_end] = array(self._table.typecode, blocks)
        self._end[seq] = new_end
