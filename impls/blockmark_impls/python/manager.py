"""What the managers in Python have in common: sizes, slots, ref counts, and the free blocks as
a growing list or as a preallocated stack.

What is called for every token (`lookup`, `append_slot`) each of them writes out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from sys import getsizeof
from typing import TYPE_CHECKING, Any, ClassVar

from ..contract import OutOfBlocks, ReuseOrder, SequenceExists, SequenceTooLong, UnknownSequence
from .sizes import check_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..contract import PoolConfig

# An int object of a few digits, as all but the first ids are.
INT_BYTES = getsizeof(1 << 16)


class SlotManager(ABC):
    """Sequences in numbered slots. `_room` are the token slots left in the last block of each
    (below 0: no such sequence), so that an append needs no division; `_refs` are ref counts.
    """

    reuse_order: ClassVar[ReuseOrder] = "LIFO"
    # In lists, dicts or memory views: whatever gives an int for a number.
    _room: Any
    _refs: Any

    def __init__(self, config: PoolConfig, stored: str) -> None:
        check_sizes(config, stored)
        self._total = config.total_blocks
        self._block_size = config.block_size
        self._max_seqs = config.max_seqs
        self._max_blocks = config.max_blocks_per_seq

    @property
    def usable_blocks(self) -> int:
        return self._total

    def ref_count(self, block: int) -> int:
        if not 0 <= block < self._total:
            raise ValueError(f"block {block} is not in the pool")
        held: int = self._refs[block]
        return held

    def num_tokens(self, seq: int) -> int:
        left = self._room_of(seq)
        return self._logical(seq) * self._block_size - left

    @abstractmethod
    def _logical(self, seq: int) -> int:
        """Logical blocks, dropped ones included."""

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


class ListManager(SlotManager):
    """Free blocks are a growing list."""

    def __init__(self, config: PoolConfig, stored: str) -> None:
        super().__init__(config, stored)
        self._free = list(range(self._total - 1, -1, -1))

    @property
    def num_free_blocks(self) -> int:
        return len(self._free)

    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks <= len(self._free)

    def _take(self, count: int) -> list[int]:
        """`count` free blocks, each with ref count 1. Raises OutOfBlocks."""
        free, refs = self._free, self._refs
        left = len(free) - count
        if left < 0:
            raise OutOfBlocks(f"{count} blocks wanted, {len(free)} free")
        taken = free[left:]
        del free[left:]
        taken.reverse()
        for block in taken:
            refs[block] = 1
        return taken

    def _give(self, blocks: Iterable[int]) -> None:
        """Take one name off each block; those without a name left go back, in order."""
        free, refs = self._free, self._refs
        for block in blocks:
            count = refs[block] - 1
            refs[block] = count
            if not count:
                free.append(block)


class RowManager(SlotManager):
    """Each sequence has a row for its blocks; free blocks are the part of a fixed stack below
    a top index.
    """

    def __init__(self, config: PoolConfig, stored: str) -> None:
        super().__init__(config, stored)
        self._top = self._total

    @property
    def num_free_blocks(self) -> int:
        return self._top

    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks <= self._top

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._check_new(seq)
        if num_tokens < 1:
            raise ValueError(f"num_tokens = {num_tokens} must be at least 1")
        count = -(-num_tokens // self._block_size)
        if count > self._max_blocks:
            raise SequenceTooLong(f"{count} blocks are more than {self._max_blocks}")
        self._put(seq, self._take(count))
        self._room[seq] = count * self._block_size - num_tokens

    @abstractmethod
    def _put(self, seq: int, blocks: Any) -> None:
        """Write `blocks` behind the row's last entry."""

    @abstractmethod
    def _take(self, count: int) -> Any:
        """`count` free blocks, each with ref count 1. Raises OutOfBlocks."""


class StackManager(RowManager):
    """Stack and ref counts are lists, which Python reads three times as fast as arrays."""

    def __init__(self, config: PoolConfig, stored: str) -> None:
        super().__init__(config, stored)
        self._room: list[int] = [-1] * self._max_seqs
        self._stack = list(range(self._total - 1, -1, -1))
        self._refs: list[int] = [0] * self._total

    def pool_bytes(self) -> int:
        """The stack with an int object in each place, and the list of ref counts."""
        return getsizeof(self._stack) + self._total * INT_BYTES + getsizeof(self._refs)

    def _take(self, count: int) -> list[int]:
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
