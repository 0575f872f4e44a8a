"""Admission, preemption and windows as engines had them wrong; a number is the issue of it."""

from __future__ import annotations

from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig, SequenceExists
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.vector import VectorManager


class CountsFreeTokens(VectorManager):
    """`can_allocate` counts token slots, also those left in blocks that others began."""

    fault = "exhaustion"

    def can_allocate(self, num_blocks: int) -> bool:
        begun = sum(room for room in self._room if room > 0)
        return num_blocks * self._block_size <= len(self._free) * self._block_size + begun


class AsksForAWindow(HashMapManager):
    """`can_allocate` asks for a window of eight blocks at most (vLLM #7470)."""

    fault = "exhaustion"

    def can_allocate(self, num_blocks: int) -> bool:
        return super().can_allocate(min(num_blocks, 8))


class RefusesWhatFits(FlatStackManager):
    """`extend` asks for blocks as if the last one had no room (inference-sim #492)."""

    fault = "exhaustion"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        left, size = self._room_of(seq), self._block_size
        blocks, needed = -(-num_tokens // size), -(-(num_tokens - left) // size)
        if needed <= self._top < blocks and self._logical(seq) + needed <= self._stride:
            raise OutOfBlocks(f"{blocks} blocks wanted, {self._top} free")
        return super().extend(seq, num_tokens)


class FreesNextTime(VectorManager):
    """What `free` gives back is free with the next `free` (deferred as in vllm-ascend #16315)."""

    fault = "leak"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._waiting: list[int] = []

    def free(self, seq: int) -> None:
        free = len(self._free)
        super().free(seq)
        back = self._free[free:]
        self._free[free:] = self._waiting
        self._waiting = back


class KeepsTheOldLength(VectorManager):
    """One that was preempted and starts again has its old length if that was longer."""

    fault = "use after free"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._lengths: dict[int, int] = {}

    def free(self, seq: int) -> None:
        self._lengths[seq] = self.num_tokens(seq)
        super().free(seq)

    def num_tokens(self, seq: int) -> int:
        return max(super().num_tokens(seq), self._lengths.get(seq, 0))


class KeepsTheOldFront(VectorManager):
    """A slot that is used again begins behind the blocks that its last sequence dropped."""

    fault = "use after free"

    def free(self, seq: int) -> None:
        table, first = self._table_of(seq), self._first[seq]
        self._give(table[first:])
        self._tables[seq], self._room[seq] = [], -1

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        self._first[seq] = min(self._first[seq], len(self._tables[seq]) - 1)


class NullBlockComesBack(VectorManager):
    """`free` gives the null block 0 back for each that was dropped (as ucm #1053 in vLLM)."""

    fault = "double free"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        if self._total < 2:
            raise ValueError("a block is reserved, and there is only one")
        self._free.remove(0)

    @property
    def usable_blocks(self) -> int:
        return self._total - 1

    def free(self, seq: int) -> None:
        nulls = self._table_of(seq)[: self._first[seq]]
        super().free(seq)
        self._free += nulls


class DropsOptimistically(FlatStackManager):
    """`drop_front` after `extend` counts drafts: it drops one block more (vLLM #47728)."""

    fault = "drop_front"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._drafted: set[int] = set()

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        made = super().extend(seq, num_tokens)
        if num_tokens > 1:
            self._drafted.add(seq)
        return made

    def free(self, seq: int) -> None:
        super().free(seq)
        self._drafted.discard(seq)

    def drop_front(self, seq: int, num_blocks: int) -> None:
        super().drop_front(seq, num_blocks)
        if seq in self._drafted and 0 < num_blocks < self._logical(seq) - 1:
            super().drop_front(seq, num_blocks + 1)
        self._drafted.discard(seq)


class TableIsThereAlready(HashMapManager):
    """A child that ended cannot start again: its table exists, it says (vLLM #10013)."""

    fault = "use after free"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._forked: set[int] = set()

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._forked.add(child)

    def allocate(self, seq: int, num_tokens: int) -> None:
        if seq in self._forked and seq not in self._tables:
            self._forked.discard(seq)
            raise SequenceExists(f"sequence {seq} has a table")
        super().allocate(seq, num_tokens)
