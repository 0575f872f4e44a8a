"""two-level: a short row of pages for each sequence, and pages of ids taken as needed.

A page is an `array` of 16, 32 or 64-bit ids. It belongs to one sequence from its first
block there to its last, then goes back to a list of free pages, which keeps it; so the
tables hold what is used and not what could be. Free blocks are the part of a fixed list
below a top index, ref counts a fixed list. Places that no block holds are zero, so
pages can be packed as they lie.
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
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ..contract import PoolConfig


class TwoLevelManager(StackManager):
    """Block manager over pages of ids. See `contract.BlockManager` for every operation."""

    profile: ClassVar[Profile] = Profile(id_type="uint16")
    # A power of two; what native/tables/two_level.hpp measured.
    page_ids: ClassVar[int] = 256

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config, id_type(config.id_bits))
        self._shift = self.page_ids.bit_length() - 1
        self._last_slot = self.page_ids - 1
        # Stands where a row has no page, and is never written, so that packing needs to
        # ask for nothing.
        self._no_page = array(TYPECODES[config.id_bits], [0]) * self.page_ids
        row_pages = -(-self._max_blocks // self.page_ids)
        self._directory = [[self._no_page] * row_pages for _ in range(self._max_seqs)]
        self._free_pages: list[array[int]] = []
        self._num_pages = 0  # in use or free
        # Beside the directory: the first block that was not dropped, and the block behind
        # the last one.
        self._first = [0] * self._max_seqs
        self._end = [0] * self._max_seqs

    def lookup(self, seq: int, logical: int) -> int:
        try:
            # A negative index would count from the end.
            if seq >= 0 and self._first[seq] <= logical < self._end[seq]:
                return self._directory[seq][logical >> self._shift][logical & self._last_slot]
        except IndexError:
            pass
        raise UnknownSequence(f"sequence {seq} has no block {logical}")

    def append_slot(self, seq: int) -> Copy | None:
        room = self._room
        left = room[seq] if 0 <= seq < self._max_seqs else -1
        if left > 0:
            last = self._end[seq] - 1
            page = self._directory[seq][last >> self._shift]
            src = page[last & self._last_slot]
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
            page[last & self._last_slot] = dst
            room[seq] = left - 1
            return Copy(src, dst)
        if left < 0:
            raise UnknownSequence(f"sequence {seq} does not exist")
        end = self._end[seq]
        if end == self._max_blocks:
            raise SequenceTooLong(f"sequence {seq} is at {end} blocks, the most there can be")
        top = self._top - 1
        if top < 0:
            raise OutOfBlocks("no free block")
        self._top = top
        block = self._stack[top]
        self._refs[block] = 1
        page = self._directory[seq][end >> self._shift]
        if page is self._no_page:
            page = self._take_page(seq, end >> self._shift)
        page[end & self._last_slot] = block
        self._end[seq] = end + 1
        room[seq] = self._block_size - 1
        return None

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        left, refs = self._room_of(seq), self._refs
        if num_tokens < 0:
            raise ValueError(f"num_tokens = {num_tokens} must not be negative")
        if num_tokens == 0:
            return []
        end = self._end[seq]
        count = -(-(num_tokens - left) // self._block_size) if num_tokens > left else 0
        if end + count > self._max_blocks:
            raise SequenceTooLong(f"{end + count} blocks are more than {self._max_blocks}")
        page, slot = self._directory[seq][(end - 1) >> self._shift], (end - 1) & self._last_slot
        src = page[slot]
        shared = left > 0 and refs[src] > 1
        taken = self._take(count + shared)
        copies = []
        if shared:
            dst = page[slot] = taken.pop(0)
            refs[src] -= 1
            copies.append(Copy(src, dst))
        self._put(seq, taken)
        self._room[seq] = left + count * self._block_size - num_tokens
        return copies

    def truncate(self, seq: int, num_tokens: int) -> None:
        left, end = self._room_of(seq), self._end[seq]
        keep = -(-num_tokens // self._block_size)
        if not 1 <= num_tokens <= end * self._block_size - left:
            raise ValueError(f"num_tokens = {num_tokens} must be between 1 and the length")
        if keep <= self._first[seq]:
            raise ValueError(f"{num_tokens} tokens lie in blocks that were dropped")
        self._give(reversed(self._blocks(seq, keep, end)))
        self._shrink(seq, self._first[seq], keep)
        self._room[seq] = keep * self._block_size - num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        self._room_of(seq)
        if not 0 <= num_blocks < self._end[seq]:
            raise ValueError(f"num_blocks = {num_blocks} must leave the last block")
        if num_blocks > self._first[seq]:
            self._give(self._blocks(seq, self._first[seq], num_blocks))
            self._shrink(seq, num_blocks, self._end[seq])

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        left = self._room_of(parent)
        self._check_new(child)
        first, end = self._first[parent], self._end[parent]
        if num_blocks is not None:
            if not first < num_blocks <= end - (left > 0):
                raise ValueError(f"num_blocks = {num_blocks} must be a prefix of full, kept blocks")
            end, left = num_blocks, 0
        refs = self._refs
        for number, start, stop in self._stretches(first, end):
            shared = self._directory[parent][number][start:stop]
            for block in shared:
                refs[block] += 1
            self._take_page(child, number)[start:stop] = shared
        self._first[child], self._end[child], self._room[child] = first, end, left

    def free(self, seq: int) -> None:
        self._room_of(seq)
        end = self._end[seq]
        self._give(self._blocks(seq, self._first[seq], end))
        self._shrink(seq, end, end)
        self._first[seq] = self._end[seq] = 0
        self._room[seq] = -1

    def block_table(self, seq: int) -> list[int]:
        self._room_of(seq)
        return self._blocks(seq, self._first[seq], self._end[seq])

    def write_block_tables(
        self, seqs: NDArray[np.int32], out: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> None:
        import numpy as np

        wanted, slots = seqs.tolist(), range(self._max_seqs)
        totals = [self._end[seq] if seq in slots else 0 for seq in wanted]
        if 0 in totals:
            raise UnknownSequence(f"sequence {wanted[totals.index(0)]} does not exist")
        count, width = out.shape
        widest = max(totals, default=0)
        if count != len(totals):
            raise ValueError(f"out has {count} rows for {len(totals)} sequences")
        if widest > width:
            raise ValueError(f"a table of {widest} blocks is wider than out ({width})")
        if not totals:
            return
        # Pages one behind another, as many for every row as the longest one has.
        pages = -(-widest // self.page_ids)
        joined = b"".join([page for seq in wanted for page in self._directory[seq][:pages]])
        rows = np.frombuffer(joined, self._no_page.typecode).reshape(count, -1)
        out[:, :widest] = rows[:, :widest]
        out[:, widest:] = 0
        lengths[:] = totals

    def table_bytes(self) -> int:
        """The directory, every page that was ever taken, and what is kept for each row."""
        lists = (self._directory, *self._directory, self._free_pages)
        state = (self._first, self._end, self._room)
        pages = (self._num_pages + 1) * getsizeof(self._no_page)
        return sum(map(getsizeof, (*lists, *state))) + pages + 2 * self._max_seqs * INT_BYTES

    def _logical(self, seq: int) -> int:
        return self._end[seq]

    def _stretches(self, first: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The blocks [first, end) page by page: number in the row, first slot, slot behind."""
        while first < end:
            start = first & self._last_slot
            stop = min(start + end - first, self.page_ids)
            yield first >> self._shift, start, stop
            first += stop - start

    def _blocks(self, seq: int, first: int, end: int) -> list[int]:
        """Physical blocks of the logical ones [first, end)."""
        row = self._directory[seq]
        blocks: list[int] = []
        for number, start, stop in self._stretches(first, end):
            blocks += row[number][start:stop]
        return blocks

    def _put(self, seq: int, blocks: list[int]) -> None:
        end, row, done = self._end[seq], self._directory[seq], 0
        for number, start, stop in self._stretches(end, end + len(blocks)):
            page = row[number]
            if page is self._no_page:
                page = self._take_page(seq, number)
            page[start:stop] = array(page.typecode, blocks[done : done + stop - start])
            done += stop - start
        self._end[seq] = end + done

    def _shrink(self, seq: int, first: int, end: int) -> None:
        """Leave the blocks [first, end): other places become zero, empty pages go back."""
        row = self._directory[seq]
        kept = range(first >> self._shift, -(-end >> self._shift) if first < end else 0)
        gone = ((self._first[seq], first), (end, self._end[seq]))
        for number, start, stop in (s for part in gone for s in self._stretches(*part)):
            row[number][start:stop] = self._no_page[start:stop]
            if number not in kept:
                self._free_pages.append(row[number])
                row[number] = self._no_page
        self._first[seq], self._end[seq] = first, end

    def _take_page(self, seq: int, number: int) -> array[int]:
        """A page of zeros, in its place in the directory."""
        if self._free_pages:
            page = self._free_pages.pop()
        else:
            page = self._no_page[:]
            self._num_pages += 1
        self._directory[seq][number] = page
        return page
