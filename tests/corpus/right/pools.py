"""Free pools of many structures and orders."""

from __future__ import annotations

import random
from array import array
from bisect import bisect_left, insort
from collections import OrderedDict, deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar

import numpy as np

from blockmark_impls.contract import Copy, OutOfBlocks, ReuseOrder
from blockmark_impls.python.free_runs import lowest_run, plan_compaction
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.stack_pool_numpy import NumpyStackPool


def _check(k: int, free: int) -> None:
    if k < 0:
        raise ValueError(f"cannot take {k} blocks")
    if k > free:
        raise OutOfBlocks(f"{k} blocks wanted, {free} free")


class SetAndLots:
    """A set, from which blocks are drawn by lot."""

    right = "a block at random"
    reuse_order: ClassVar[ReuseOrder] = "unspecified"

    def __init__(self, total_blocks: int) -> None:
        self._free = set(range(total_blocks))
        self._rng = random.Random(3)

    def take(self, k: int) -> list[int]:
        _check(k, len(self._free))
        taken = self._rng.sample(sorted(self._free), k)
        self._free.difference_update(taken)
        return taken

    def give(self, ids: Sequence[int]) -> None:
        self._free.update(ids)

    @property
    def num_free(self) -> int:
        return len(self._free)


class HeapPool:
    """A heap, whose lowest block is next."""

    right = "the lowest block first"
    reuse_order: ClassVar[ReuseOrder] = "lowest"

    def __init__(self, total_blocks: int) -> None:
        self._heap = list(range(total_blocks))

    def take(self, k: int) -> list[int]:
        _check(k, len(self._heap))
        return [heappop(self._heap) for _ in range(k)]

    def give(self, ids: Sequence[int]) -> None:
        for block in ids:
            heappush(self._heap, block)

    def remove(self, id: int) -> None:
        self._heap.remove(id)  # which raises ValueError if it is not there
        heapify(self._heap)

    @property
    def num_free(self) -> int:
        return len(self._heap)


class QueuePool:
    """A deque: first in, first out."""

    right = "the block that was free the longest first"
    reuse_order: ClassVar[ReuseOrder] = "FIFO"

    def __init__(self, total_blocks: int) -> None:
        self._queue = deque(range(total_blocks))

    def take(self, k: int) -> list[int]:
        _check(k, len(self._queue))
        return [self._queue.popleft() for _ in range(k)]

    def give(self, ids: Sequence[int]) -> None:
        self._queue.extend(ids)

    def remove(self, id: int) -> None:
        self._queue.remove(id)

    @property
    def num_free(self) -> int:
        return len(self._queue)


class OrderedPool:
    """A dict in the order of insertion: first in, first out, and any block by its number."""

    right = "a dict for a queue"
    reuse_order: ClassVar[ReuseOrder] = "FIFO"

    def __init__(self, total_blocks: int) -> None:
        self._free = OrderedDict.fromkeys(range(total_blocks))

    def take(self, k: int) -> list[int]:
        _check(k, len(self._free))
        return [self._free.popitem(last=False)[0] for _ in range(k)]

    def give(self, ids: Sequence[int]) -> None:
        self._free.update(dict.fromkeys(ids))

    def remove(self, id: int) -> None:
        if id not in self._free:
            raise ValueError(f"block {id} is not free")
        del self._free[id]

    def find_contiguous(self, k: int) -> int | None:
        return lowest_run(self._free, k)

    @property
    def num_free(self) -> int:
        return len(self._free)


class SortedPool:
    """A list in the order of numbers, from whose beginning blocks are cut."""

    right = "the lowest block first, from a sorted list"
    reuse_order: ClassVar[ReuseOrder] = "lowest"

    def __init__(self, total_blocks: int) -> None:
        self._total = total_blocks
        self._free = list(range(total_blocks))

    def take(self, k: int) -> list[int]:
        _check(k, len(self._free))
        taken, self._free = self._free[:k], self._free[k:]
        return taken

    def give(self, ids: Sequence[int]) -> None:
        for block in ids:
            insort(self._free, block)

    def remove(self, id: int) -> None:
        place = bisect_left(self._free, id)
        if self._free[place : place + 1] != [id]:
            raise ValueError(f"block {id} is not free")
        del self._free[place]

    def plan_compaction(self, blocks: int) -> list[Copy]:
        return plan_compaction(self._free, self._total, blocks)

    @property
    def num_free(self) -> int:
        return len(self._free)


class BytePool:
    """A byte for each block; the next free one from the last on is taken."""

    right = "the next free block by number, found among bytes"
    reuse_order: ClassVar[ReuseOrder] = "next-fit"

    def __init__(self, total_blocks: int) -> None:
        self._flags = bytearray(b"\1") * total_blocks
        self._next, self._left = 0, total_blocks

    def take(self, k: int) -> list[int]:
        _check(k, self._left)
        taken = []
        for _ in range(k):
            block = self._flags.find(1, self._next)
            if block < 0:
                block = self._flags.find(1)
            self._flags[block], self._next = 0, block + 1
            taken.append(block)
        self._left -= k
        return taken

    def give(self, ids: Sequence[int]) -> None:
        for block in ids:
            self._flags[block] = 1
        self._left += len(ids)

    def find_contiguous(self, k: int) -> int | None:
        if k < 1:
            raise ValueError(f"a run of {k} blocks")
        start = self._flags.find(b"\1" * k)
        return None if start < 0 else start

    @property
    def num_free(self) -> int:
        return self._left


class TakesTuples(StackPool):
    """`take` answers with a tuple."""

    right = "answers that are tuples"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def take(self, k: int) -> Any:
        return tuple(super().take(k))


class TakesArrays(ListPool):
    """`take` answers with an array of the standard library."""

    right = "answers that are arrays of 64-bit ids"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def take(self, k: int) -> Any:
        return array("q", super().take(k))


class TakesFreshCopies(NumpyStackPool):
    """`take` answers with an array of 32-bit ids that nobody else has."""

    right = "answers that are NumPy arrays of 32-bit ids"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def take(self, k: int) -> Any:
        return np.array(super().take(k), dtype=np.int32)
