"""Calls that are wrong for one value of their argument, in the middle of what is allowed."""

from __future__ import annotations

from typing import ClassVar

from blockmark_impls.contract import Copy, SequenceTooLong
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class ExtendsBySixteenBlocks(FlatStackManager):
    """Of exactly 16 blocks that `extend` takes the last has a ref count of 0."""

    fault = "ref count"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        end = self._end[seq] if 0 <= seq < self._max_seqs else 0
        made = super().extend(seq, num_tokens)
        if self._end[seq] - end == 16:
            self._refs[self._table[self._end[seq] - 1]] = 0
        return made


class ExtendsAFullBlockByOne(HashMapManager):
    """One block's tokens behind a full block take a block that is counted as empty."""

    fault = "rounding"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        full = self._room.get(seq) == 0
        made = super().extend(seq, num_tokens)
        if full and num_tokens == self._block_size:
            self._room[seq] = self._block_size
        return made


class EightBlocksAndACopy(VectorManager):
    """`extend` that copies and takes exactly eight blocks besides does not name the copy."""

    fault = "copy-on-write"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        long = len(self._table_of(seq))
        made = super().extend(seq, num_tokens)
        return [] if len(self._tables[seq]) - long == 8 else made


class CopyIsABlockOfLength(FlatStackNumpyManager):
    """`extend` to the most blocks is too long when its last block is copied, too."""

    fault = "too long"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        left = self._room_of(seq)
        shared = self._refs[self._table_view[self._end_view[seq] - 1]] > 1
        grows = -(-(num_tokens - left) // self._block_size) if num_tokens > left > 0 else 0
        if shared and grows and self._logical(seq) + grows == self._stride:
            raise SequenceTooLong(f"{self._stride + 1} blocks are more than {self._stride}")
        return super().extend(seq, num_tokens)


class CannotBeFull(HashMapManager):
    """`allocate` of every token that the most blocks hold is too long; of one less it is not."""

    fault = "too long"

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._check_new(seq)
        if num_tokens == self._max_blocks * self._block_size and num_tokens > 1:
            raise SequenceTooLong(f"{num_tokens} tokens are too many")
        super().allocate(seq, num_tokens)


class PageEndStays(TwoLevelManager):
    """`truncate` to the end of a page keeps the ids in the pages behind it, which rows show."""

    fault = "pack"
    page_ids: ClassVar[int] = 32

    def _shrink(self, seq: int, first: int, end: int) -> None:
        if first == self._first[seq] and first < end and end % self.page_ids == 0:
            self._end[seq] = end
        else:
            super()._shrink(seq, first, end)


class DropsIntoThePage(TwoLevelManager):
    """`drop_front` to the first block of the next page of 64 gives that page back, too."""

    fault = "drop_front"
    page_ids: ClassVar[int] = 64

    def drop_front(self, seq: int, num_blocks: int) -> None:
        before = self._first[seq] if 0 <= seq < self._max_seqs else 0
        super().drop_front(seq, num_blocks)
        if self._first[seq] > before and num_blocks % self.page_ids == 0:
            self._directory[seq][num_blocks >> self._shift] = self._no_page[:]


class PrefixOfFour(VectorManager):
    """A prefix of exactly four blocks raises the ref counts of three."""

    fault = "ref count"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if num_blocks == 4:
            self._refs[self._tables[child][3]] -= 1


class PrefixOfAllButOne(FlatStackManager):
    """A prefix of all full blocks but the last shares that one as well."""

    fault = "fork prefix"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        full = -1
        if 0 <= parent < self._max_seqs and self._room[parent] >= 0:
            full = self._logical(parent) - (self._room[parent] > 0)
        first = self._start[parent] - parent * self._stride if full > 0 else 0
        whole = num_blocks == full - 1 > first
        super().fork(parent, child, full if whole else num_blocks)


class ToTheFirstKept(HashMapManager):
    """`truncate` that leaves one block behind a dropped front is refused."""

    fault = "truncate"

    def truncate(self, seq: int, num_tokens: int) -> None:
        dropped = self._blocks.get(seq, 0) - len(self._tables.get(seq, ()))
        if dropped and -(-num_tokens // self._block_size) == dropped + 1:
            raise ValueError(f"{num_tokens} tokens leave one block")
        super().truncate(seq, num_tokens)


class AllButTheLast(FlatStackNumpyManager):
    """`drop_front` of every block but the last one is refused."""

    fault = "drop_front"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        self._room_of(seq)
        if 0 < num_blocks == self._logical(seq) - 1:
            raise ValueError(f"num_blocks = {num_blocks} must leave two blocks")
        super().drop_front(seq, num_blocks)
