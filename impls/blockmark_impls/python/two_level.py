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
    ReuseOrder,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)
from .sizes import TYPECODES, check_sizes, id_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ..contract import PoolConfig

# An int object of a few digits, as all but the first ids are.
_INT_BYTES = getsizeof(1 << 16)


class TwoLevelManager:
    """Block manager over pages of ids. See `contract.BlockManager` for every operation."""

    reuse_order: ClassVar[ReuseOrder] = "LIFO"
    profile: ClassVar[Profile] = Profile(id_type="uint16")
    # A power of two; what native/tables/two_level.hpp measured.
    page_ids: ClassVar[int] = 256

    def __init__(self, config: PoolConfig) -> None:
        check_sizes(config, id_type(config.id_bits))
        self._total = config.total_blocks
        self._block_size = config.block_size
        self._max_seqs = config.max_seqs
        self._max_blocks = config.max_blocks_per_seq
        self._shift = self.page_ids.bit_length() - 1
        self._last_slot = self.page_ids - 1
        # Stands where a row has no page, and is never written, so that packing needs to
        # ask for nothing.
        self._no_page = array(TYPECODES[config.id_bits], [0]) * self.page_ids
        row_pages = -(-self._max_blocks // self.page_ids)
        self._directory = [[self._no_page] * row_pages for _ in range(self._max_seqs)]
        self._free_pages: list[array[int]] = []
        self._num_pages = 0  # in use or free
        # Beside the directory: the first block that was not dropped, the block behind the
        # last one, and the token slots left in the last block (-1: no such sequence).
        self._first = [0] * self._max_seqs
        self._end = [0] * self._max_seqs
        self._room = [-1] * self._max_seqs
        self._stack = list(range(self._total - 1, -1, -1))
        self._top = self._total
        self._refs = [0] * self._total

    @property
    def usable_blocks(self) -> int:
        return self._total

    @property
    def num_free_blocks(self) -> int:
        return self._top

    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks <= self._top

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

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._check_new(seq)
        if num_tokens < 1:
            raise ValueError(f"num_tokens = {num_tokens} must be at least 1")
        count = -(-num_tokens // self._block_size)
        if count > self._max_blocks:
            raise SequenceTooLong(f"{count} blocks are more than {self._max_blocks}")
        self._put(seq, self._take(count))
        self._room[seq] = count * self._block_size - num_tokens

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

    def ref_count(self, block: int) -> int:
        if not 0 <= block < self._total:
            raise ValueError(f"block {block} is not in the pool")
        return self._refs[block]

    def num_tokens(self, seq: int) -> int:
        left = self._room_of(seq)
        return self._end[seq] * self._block_size - left

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
        return sum(map(getsizeof, (*lists, *state))) + pages + 2 * self._max_seqs * _INT_BYTES

    def pool_bytes(self) -> int:
        """The stack with an int object in each place, and the list of ref counts."""
        return getsizeof(self._stack) + self._total * _INT_BYTES + getsizeof(self._refs)

    def _check_new(self, seq: int) -> None:
        if not 0 <= seq < self._max_seqs:
            raise ValueError(f"sequence {seq} is not a slot: there are {self._max_seqs}")
        if self._room[seq] >= 0:
            raise SequenceExists(f"sequence {seq} exists already")

    def _room_of(self, seq: int) -> int:
        left = self._room[seq] if 0 <= seq < self._max_seqs else -1
        if left < 0:
            raise UnknownSequence(f"sequence {seq} does not exist")
        return left

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
        """Write `blocks` behind the last one."""
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

    def _take(self, count: int) -> list[int]:
        """`count` free blocks, each with ref count 1. Raises OutOfBlocks."""
        top, refs = self._top, self._refs
        if count > top:
            raise OutOfBlocks(f"{count} blocks wanted, {top} free")
        taken = self._stack[top - count : top]
        taken.reverse()
        for block in taken:
            refs[block] = 1
        self._top = top - count
        return taken

    def _give(self, blocks: Iterable[int]) -> None:
        """Take one name off each block; those without a name left go back, in order."""
        stack, top, refs = self._stack, self._top, self._refs
        for block in blocks:
            count = refs[block] - 1
            refs[block] = count
            if not count:
                stack[top] = block
                top += 1
        self._top = top
