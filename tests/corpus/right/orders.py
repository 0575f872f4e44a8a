"""Managers that reuse blocks in other orders than a stack, and declare them."""

from __future__ import annotations

import random
from bisect import insort
from collections import deque
from heapq import heappop, heappush
from typing import Any, ClassVar

from blockmark_impls.contract import OutOfBlocks, PoolConfig, ReuseOrder
from blockmark_impls.python.vector import VectorManager


class _OneByOne(VectorManager):
    """Takes blocks one after another from whatever `_free` is."""

    def _take(self, count: int) -> list[int]:
        if count > len(self._free):
            raise OutOfBlocks(f"{count} blocks wanted, {len(self._free)} free")
        taken = [self._free.pop() for _ in range(count)]
        for block in taken:
            self._refs[block] = 1
        return taken


class _Free:
    """Free blocks in some container; `pop` takes one out, `append` puts one in."""

    def __init__(self, blocks: Any) -> None:
        self.blocks = blocks

    def __len__(self) -> int:
        return len(self.blocks)

    def pop(self) -> int:
        return int(self.blocks.pop())

    def append(self, block: int) -> None:
        self.blocks.append(block)


class _Heap(_Free):
    def pop(self) -> int:
        return int(heappop(self.blocks))

    def append(self, block: int) -> None:
        heappush(self.blocks, block)


class _Highest(_Free):
    def append(self, block: int) -> None:
        insort(self.blocks, block)


class _Queue(_Free):
    def pop(self) -> int:
        return int(self.blocks.popleft())


class _BothEnds(_Free):
    def append(self, block: int) -> None:
        self.blocks.rotate(1)
        self.blocks.append(block)


class _Lots(_Free):
    def __init__(self, blocks: Any) -> None:
        super().__init__(blocks)
        self._rng = random.Random(0)

    def pop(self) -> int:
        place = self._rng.randrange(len(self.blocks))
        self.blocks[place], self.blocks[-1] = self.blocks[-1], self.blocks[place]
        return super().pop()


class _Flags(_Free):
    """A byte for every block, 1 while it is free."""

    def __init__(self, total: int, *, next_fit: bool) -> None:
        super().__init__(bytearray(b"\1") * total)
        self._left, self._from, self._next_fit = total, 0, next_fit

    def __len__(self) -> int:
        return self._left

    def pop(self) -> int:
        block = self.blocks.find(1, self._from)
        if block < 0:
            block = self.blocks.find(1)
        self.blocks[block] = 0
        self._left -= 1
        if self._next_fit:
            self._from = block + 1
        return int(block)

    def append(self, block: int) -> None:
        self.blocks[block] = 1
        self._left += 1


class LowestFirst(_OneByOne):
    """The free blocks are a heap."""

    right = "the lowest block first"
    reuse_order: ClassVar[ReuseOrder] = "lowest"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free: Any = _Heap(list(range(self._total)))


class ScansFromZero(_OneByOne):
    """Every block is sought from number 0 on."""

    right = "the lowest block first, by a scan of all"
    reuse_order: ClassVar[ReuseOrder] = "lowest"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free: Any = _Flags(self._total, next_fit=False)


class BehindTheLast(_OneByOne):
    """Every block is sought from the last one on, and around the end."""

    right = "the next free block by number"
    reuse_order: ClassVar[ReuseOrder] = "next-fit"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free: Any = _Flags(self._total, next_fit=True)


class OldestFirst(_OneByOne):
    """The free blocks are a queue."""

    right = "the block that was free the longest first"
    reuse_order: ClassVar[ReuseOrder] = "FIFO"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free: Any = _Queue(deque(range(self._total)))


class OldestFromTheTop(_OneByOne):
    """The free blocks are a queue, in which at first the highest number stands in front."""

    right = "first in, first out, from the highest block down"
    reuse_order: ClassVar[ReuseOrder] = "FIFO"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free: Any = _Queue(deque(range(self._total - 1, -1, -1)))


class DrawsLots(_OneByOne):
    """Any free block may be next."""

    right = "a block at random"
    reuse_order: ClassVar[ReuseOrder] = "unspecified"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free: Any = _Lots(list(range(self._total)))


class HighestFirst(_OneByOne):
    """The free blocks are kept in order, and the highest number is taken."""

    right = "the highest block first"
    reuse_order: ClassVar[ReuseOrder] = "unspecified"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free: Any = _Highest(list(range(self._total)))


class TurnsItsQueue(_OneByOne):
    """Each block that comes back turns the queue by one before it is put at its end."""

    right = "an order that has no name"
    reuse_order: ClassVar[ReuseOrder] = "unspecified"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free: Any = _BothEnds(deque(range(self._total)))


class FromTheTop(VectorManager):
    """A stack in which at first the highest number lies on top."""

    right = "last in, first out, from the highest block down"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free.reverse()


class ShuffledAtFirst(VectorManager):
    """A stack that is shuffled once, before anything is taken from it."""

    right = "last in, first out, from a stack that was shuffled"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        random.Random(7).shuffle(self._free)


class UndeclaredStack(VectorManager):
    """A stack that promises nothing."""

    right = "last in, first out, and declares no order"
    reuse_order: ClassVar[ReuseOrder] = "unspecified"
