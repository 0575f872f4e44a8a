"""A free pool that is a bitmap: words of 64 bits below words that sum them up."""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, ClassVar

from ..contract import Copy, OutOfBlocks, ReuseOrder
from .free_runs import check_top
from .sizes import check_total

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALL = (1 << 64) - 1


class BitmapPool:
    """A bit for every block, set while it is free, and levels of words above them.

    A bit of a level says whether any bit of a word of the level below is set. Blocks are
    handed out in ascending order from where the last hand-out ended, and around the end.
    Python has no instruction for the lowest set bit, so it is isolated (`x & -x`) and
    measured (`bit_length`): two new int objects for every block.
    """

    reuse_order: ClassVar[ReuseOrder] = "next-fit"

    def __init__(self, total_blocks: int) -> None:
        check_total(total_blocks, "int object")
        self._total = total_blocks
        self._num_free = total_blocks
        self._cursor = 0
        self._levels: list[list[int]] = []
        bits = total_blocks
        while True:
            words = [_ALL] * (bits // 64)
            if bits % 64:
                words.append((1 << bits % 64) - 1)
            self._levels.append(words)
            bits = len(words)
            if bits == 1:
                break

    def take(self, k: int) -> list[int]:
        """Take `k` blocks. Raises OutOfBlocks, and ValueError if `k` is negative."""
        if k < 0:
            raise ValueError(f"cannot take {k} blocks")
        if k > self._num_free:
            raise OutOfBlocks(f"{k} blocks wanted, {self._num_free} free")
        self._num_free -= k
        words = self._levels[0]
        cursor = self._cursor
        taken: list[int] = []
        while k:
            cursor = self._next_free(cursor)
            word, offset = divmod(cursor, 64)
            offered = words[word] >> offset << offset
            left = offered
            base = word * 64 - 1
            while left and k:
                lowest = left & -left
                taken.append(base + lowest.bit_length())
                left ^= lowest
                k -= 1
            words[word] ^= offered ^ left
            cursor = taken[-1] + 1
            if not words[word]:
                self._clear_above(word)
        self._cursor = cursor
        return taken

    def give(self, ids: Sequence[int]) -> None:
        """Give blocks back; which is taken next is decided by their numbers."""
        words = self._levels[0]
        for block in ids:
            word = block >> 6
            before = words[word]
            words[word] = before | 1 << (block & 63)
            if not before:
                self._set_above(word)
        self._num_free += len(ids)

    def remove(self, id: int) -> None:
        """Take one block by its number. Raises ValueError if it is not free."""
        word = id >> 6
        if not 0 <= id < self._total or not self._levels[0][word] >> (id & 63) & 1:
            raise ValueError(f"block {id} is not free")
        self._num_free -= 1
        self._levels[0][word] ^= 1 << (id & 63)
        if not self._levels[0][word]:
            self._clear_above(word)

    def find_contiguous(self, k: int) -> int | None:
        """The lowest block from which on `k` are free, or None. Raises ValueError if k < 1.

        Words are asked a run at a time: adding the lowest bit of a run to a word carries
        through it.
        """
        if k < 1:
            raise ValueError(f"a run of {k} blocks cannot be found")
        start = end = 0  # the run that the words so far end with
        for word, bits in enumerate(self._levels[0]):
            base = word * 64
            while bits:
                lowest = bits & -bits
                carried = bits + lowest
                first = base + lowest.bit_length() - 1
                behind = base + (carried & -carried).bit_length() - 1
                if first != end:
                    start = first
                end = behind
                if end - start >= k:
                    return start
                bits &= carried
        return None

    def plan_compaction(self, blocks: int) -> list[Copy]:
        """The moves that free the `blocks` highest blocks, the uppermost used one first.

        Each goes to the lowest free block that is left. Raises OutOfBlocks if fewer blocks
        are free, ValueError if `blocks` is negative.
        """
        check_top(blocks, self._num_free)
        words = self._levels[0]
        boundary = self._total - blocks
        moves: list[Copy] = []
        low, holes = 0, words[0]
        for high in range(len(words) - 1, boundary // 64 - 1, -1):
            base = high * 64
            width = min(64, self._total - base)
            used = ~words[high] & ((1 << width) - 1)
            if base < boundary:
                used = used >> (boundary - base) << (boundary - base)
            while used:
                bit = used.bit_length() - 1
                used ^= 1 << bit
                while not holes:
                    low += 1
                    holes = words[low]
                lowest = holes & -holes
                holes ^= lowest
                moves.append(Copy(base + bit, low * 64 + lowest.bit_length() - 1))
        return moves

    @property
    def num_free(self) -> int:
        """The number of free blocks."""
        return self._num_free

    def pool_bytes(self) -> int:
        """Bytes of the lists and of a full word's int object in each of their places."""
        return sum(getsizeof(words) + len(words) * getsizeof(_ALL) for words in self._levels)

    def _next_free(self, start: int) -> int:
        """The lowest free block from `start` on, else the lowest of all; one must be free."""
        levels = self._levels
        at, level = start, 0
        while True:
            word, offset = divmod(at, 64)
            if word < len(levels[level]):
                bits = levels[level][word] >> offset << offset
                if bits:
                    at = word * 64 + (bits & -bits).bit_length() - 1
                    break
            at = word + 1
            level += 1
            if level == len(levels):
                at = level = 0
        while level:
            level -= 1
            bits = levels[level][at]
            at = at * 64 + (bits & -bits).bit_length() - 1
        return at

    def _set_above(self, word: int) -> None:
        for level in self._levels[1:]:
            bit = 1 << (word & 63)
            word >>= 6
            before = level[word]
            level[word] = before | bit
            if before:
                return

    def _clear_above(self, word: int) -> None:
        for level in self._levels[1:]:
            bit = 1 << (word & 63)
            word >>= 6
            level[word] ^= bit
            if level[word]:
                return
