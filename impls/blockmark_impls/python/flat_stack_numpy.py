"""flat-stack/numpy: the flat table and the stack in NumPy arrays, for whole steps.

`append_slots`, `lookup_slots` and `write_block_tables` are a fixed number of vector
operations whatever the batch. The operations on one sequence go through memory views
of the same arrays, which hand out plain ints and are read faster than NumPy scalars.
Entries that no sequence holds are zero, so rows can be packed as they lie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..contract import (
    BlockManagerError,
    Copy,
    OutOfBlocks,
    Profile,
    SequenceTooLong,
    UnknownSequence,
)
from .manager import RowManager
from .sizes import id_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..contract import PoolConfig

    Places = NDArray[np.intp]


def _slots(seqs: NDArray[np.int32]) -> Places:
    """`seqs` as indices; a negative one becomes too large instead of counting from the end."""
    return seqs.astype(np.uint32).astype(np.intp)


class FlatStackNumpyManager(RowManager):
    """Block manager over arrays. See `contract.BlockManager` and `BatchOperations`."""

    profile: ClassVar[Profile] = Profile(id_type="uint16")

    def __init__(self, config: PoolConfig) -> None:
        stored = id_type(config.id_bits)
        super().__init__(config, stored)
        self._stride = self._max_blocks
        ids = np.dtype(stored)
        self._table: NDArray[Any] = np.zeros(self._max_seqs * self._stride, ids)
        self._rows = self._table.reshape(self._max_seqs, self._stride)
        # Beside the table, for each row: where its kept blocks start and end in the
        # table (both at the row's start: no such sequence), and the token slots left
        # in the last block (-1: no such sequence).
        self._start = np.arange(self._max_seqs, dtype=np.intp) * self._stride
        self._end = self._start.copy()
        self._rooms = np.full(self._max_seqs, -1, np.intp)
        self._stack: NDArray[Any] = np.arange(self._total)[::-1].astype(ids)
        self._counts = np.zeros(self._total, np.int32)
        # Where in a batch each sequence stands, to find one that is named twice.
        self._seen = np.zeros(self._max_seqs, np.intp)
        self._order = np.arange(self._max_seqs, dtype=np.intp)
        self._table_view = self._table.data
        self._start_view = self._start.data
        self._end_view = self._end.data
        self._room = self._rooms.data
        self._stack_view = self._stack.data
        self._refs = self._counts.data

    def append_slots(self, seqs: NDArray[np.int32]) -> list[Copy]:
        count = len(seqs)
        slots = _slots(seqs)
        order = self._order[:count]
        # Anything out of the ordinary is left to the loop, which stops at the first
        # sequence that cannot append: one unknown, named twice, too long, no blocks.
        if count > self._max_seqs:
            return self._append_in_turn(seqs)
        try:
            self._seen[slots] = order
        except IndexError:
            return self._append_in_turn(seqs)
        if np.count_nonzero(self._seen[slots] != order):
            return self._append_in_turn(seqs)
        left = self._rooms[slots]
        ends = self._end[slots]
        takes = left < 1  # at a block boundary, or no such sequence
        last = self._table[ends - 1]
        copies = self._counts[last] > 1
        copies &= ~takes
        if np.count_nonzero(copies):
            self._spare_last_sharers(copies, last)
        which = np.flatnonzero(takes | copies)
        left -= 1
        if not len(which):
            self._rooms[slots] = left
            return []
        grows = takes[which]
        bounds = which[grows]
        rows = slots[bounds]
        full = ends[bounds] == (rows + 1) * self._stride
        top = self._top - len(which)
        if top < 0 or np.count_nonzero(full | (left[bounds] < -1)):
            return self._append_in_turn(seqs)
        taken = self._stack[top : self._top][::-1]
        self._top = top
        self._counts[taken] = 1
        self._table[ends[which] - ~grows] = taken
        left[bounds] = self._block_size - 1
        self._rooms[slots] = left
        self._end[rows] += 1
        if len(bounds) == len(which):
            return []
        sources = last[copies]
        np.subtract.at(self._counts, sources, 1)
        return list(map(Copy, sources.tolist(), taken[~grows].tolist()))

    def _spare_last_sharers(self, copies: NDArray[np.bool_], last: NDArray[Any]) -> None:
        """Unmark in `copies` each sequence that is the last to hold its block in its turn.

        Of n holders of a block, the first n - 1 to append copy it, and the last one
        keeps it.
        """
        which = np.flatnonzero(copies)
        blocks = last[which]
        by_block = np.argsort(blocks, kind="stable")
        blocks = blocks[by_block]
        begins = np.flatnonzero(np.concatenate(([True], blocks[1:] != blocks[:-1])))
        sizes = np.diff(begins, append=len(blocks))
        turn = np.arange(len(blocks)) - np.repeat(begins, sizes)
        copies[which[by_block]] = turn < self._counts[blocks] - 1

    def _append_in_turn(self, seqs: NDArray[np.int32]) -> list[Copy]:
        """`append_slots` as a loop, undone from the end when a sequence cannot append."""
        done: list[tuple[int, int, Copy | None]] = []
        try:
            for seq in seqs.tolist():
                top = self._top
                copy = self.append_slot(seq)
                done.append((seq, top - self._top, copy))
        except BlockManagerError:
            for seq, taken, copy in reversed(done):
                last = self._end_view[seq] - 1
                self._top += taken
                if copy is not None:
                    self._refs[copy.dst] = 0
                    self._refs[copy.src] += 1
                    self._table_view[last] = copy.src
                elif taken:
                    self._refs[self._table_view[last]] = 0
                    self._table_view[last] = 0
                    self._end_view[seq] = last
                    self._room[seq] = -1
                self._room[seq] += 1
            raise
        return [copy for _, _, copy in done if copy is not None]

    def lookup_slots(
        self, seqs: NDArray[np.int32], logicals: NDArray[np.int32], out: NDArray[np.int32]
    ) -> None:
        slots = _slots(seqs)
        places = slots * self._stride + logicals
        try:
            known = (self._start[slots] <= places) & (places < self._end[slots])
        except IndexError:
            known = np.zeros(len(slots), np.bool_)
        if np.count_nonzero(known) < len(known):
            for seq, logical in zip(seqs.tolist(), logicals.tolist(), strict=True):
                self.lookup(seq, logical)
        out[:] = self._table[places]

    def lookup(self, seq: int, logical: int) -> int:
        if 0 <= seq < self._max_seqs:
            place = seq * self._stride + logical
            if self._start_view[seq] <= place < self._end_view[seq]:
                return self._table_view[place]
        raise UnknownSequence(f"sequence {seq} has no block {logical}")

    def append_slot(self, seq: int) -> Copy | None:
        room = self._room
        left = room[seq] if 0 <= seq < self._max_seqs else -1
        if left > 0:
            last = self._end_view[seq] - 1
            src = self._table_view[last]
            refs = self._refs
            if refs[src] == 1:
                room[seq] = left - 1
                return None
            top = self._top - 1
            if top < 0:
                raise OutOfBlocks("no free block for a copy")
            self._top = top
            dst = self._stack_view[top]
            refs[src] -= 1
            refs[dst] = 1
            self._table_view[last] = dst
            room[seq] = left - 1
            return Copy(src, dst)
        if left < 0:
            raise UnknownSequence(f"sequence {seq} does not exist")
        end = self._end_view[seq]
        if end == (seq + 1) * self._stride:
            raise SequenceTooLong(
                f"sequence {seq} is at {self._stride} blocks, the most there can be"
            )
        top = self._top - 1
        if top < 0:
            raise OutOfBlocks("no free block")
        self._top = top
        block = self._stack_view[top]
        self._refs[block] = 1
        self._table_view[end] = block
        self._end_view[seq] = end + 1
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
        last = self._end_view[seq] - 1
        src = self._table_view[last]
        shared = left > 0 and refs[src] > 1
        taken = self._take(count + shared)
        copies = []
        if shared:
            dst = int(taken[0])
            self._table_view[last] = dst
            refs[src] -= 1
            copies.append(Copy(src, dst))
        self._put(seq, taken[int(shared) :])
        self._room[seq] = left + count * self._block_size - num_tokens
        return copies

    def truncate(self, seq: int, num_tokens: int) -> None:
        left = self._room_of(seq)
        keep = -(-num_tokens // self._block_size)
        if not 1 <= num_tokens <= self._logical(seq) * self._block_size - left:
            raise ValueError(f"num_tokens = {num_tokens} must be between 1 and the length")
        new_end, end = seq * self._stride + keep, self._end_view[seq]
        if new_end <= self._start_view[seq]:
            raise ValueError(f"{num_tokens} tokens lie in blocks that were dropped")
        self._give(self._table[new_end:end][::-1])
        self._table[new_end:end] = 0
        self._end_view[seq] = new_end
        self._room[seq] = keep * self._block_size - num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        self._room_of(seq)
        if not 0 <= num_blocks < self._logical(seq):
            raise ValueError(f"num_blocks = {num_blocks} must leave the last block")
        start, new_start = self._start_view[seq], seq * self._stride + num_blocks
        if new_start > start:
            self._give(self._table[start:new_start])
            self._table[start:new_start] = 0
            self._start_view[seq] = new_start

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        left = self._room_of(parent)
        self._check_new(child)
        row, start, end = parent * self._stride, self._start_view[parent], self._end_view[parent]
        if num_blocks is not None:
            if not start < row + num_blocks <= end - (left > 0):
                raise ValueError(f"num_blocks = {num_blocks} must be a prefix of full, kept blocks")
            end, left = row + num_blocks, 0
        shared = self._table[start:end]
        self._counts[shared] += 1
        away = child * self._stride - row
        self._table[start + away : end + away] = shared
        self._start_view[child], self._end_view[child] = start + away, end + away
        self._room[child] = left

    def free(self, seq: int) -> None:
        self._room_of(seq)
        start, end = self._start_view[seq], self._end_view[seq]
        self._give(self._table[start:end])
        self._table[start:end] = 0
        self._start_view[seq] = self._end_view[seq] = seq * self._stride
        self._room[seq] = -1

    def block_table(self, seq: int) -> list[int]:
        self._room_of(seq)
        table: list[int] = self._table[self._start_view[seq] : self._end_view[seq]].tolist()
        return table

    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        slots = _slots(seqs)
        count, width = out.shape
        try:
            totals = self._end[slots] - slots * self._stride
        except IndexError:
            totals = np.zeros(len(slots), np.intp)
        if count != len(slots):
            raise ValueError(f"out has {count} rows for {len(slots)} sequences")
        if np.count_nonzero(totals) < count:
            for seq in seqs.tolist():
                self._room_of(seq)
        widest = int(totals.max(initial=0))
        if widest > width:
            raise ValueError(f"a table of {widest} blocks is wider than out ({width})")
        out[:, :widest] = self._rows[slots, :widest]
        out[:, widest:] = 0
        lengths[:] = totals

    def table_bytes(self) -> int:
        """The whole table, and what is kept beside it for each row; neither grows with use."""
        beside = (self._start, self._end, self._rooms, self._seen, self._order)
        return self._table.nbytes + sum(array.nbytes for array in beside)

    def pool_bytes(self) -> int:
        """The stack and the ref counts."""
        return self._stack.nbytes + self._counts.nbytes

    def _logical(self, seq: int) -> int:
        return self._end_view[seq] - seq * self._stride

    def _put(self, seq: int, blocks: NDArray[Any]) -> None:
        end = self._end_view[seq]
        self._table[end : end + len(blocks)] = blocks
        self._end_view[seq] = end + len(blocks)

    def _take(self, count: int) -> NDArray[Any]:
        """A view of `count` free blocks, each with ref count 1. Raises OutOfBlocks."""
        top = self._top - count
        if top < 0:
            raise OutOfBlocks(f"{count} blocks wanted, {self._top} free")
        taken = self._stack[top : self._top][::-1]
        self._counts[taken] = 1
        self._top = top
        return taken

    def _give(self, blocks: NDArray[Any]) -> None:
        """Take one name off each block; those without a name left go back, in order."""
        left = self._counts[blocks] - 1
        self._counts[blocks] = left
        gone = blocks[left == 0]
        self._stack[self._top : self._top + len(gone)] = gone
        self._top += len(gone)
