"""Managers that are wrong in the ways a first version is; named as targets in the tests."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from blockmark_impls.contract import Copy, OutOfBlocks
from blockmark_impls.python.vector import VectorManager


class ReturnsText(VectorManager):
    def lookup(self, seq: int, logical: int) -> Any:
        return str(super().lookup(seq, logical))


class ReturnsNothing(VectorManager):
    def block_table(self, seq: int) -> Any:
        super().block_table(seq)


class BeyondThePool(VectorManager):
    def lookup(self, seq: int, logical: int) -> int:
        return super().lookup(seq, logical) + 1_000_000

    def block_table(self, seq: int) -> list[int]:
        return [block + 1_000_000 for block in super().block_table(seq)]


class Misspelt(VectorManager):
    """Has apend_slot for append_slot."""

    def __getattribute__(self, name: str) -> Any:
        if name == "append_slot":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def apend_slot(self, seq: int) -> Copy | None:
        return super().append_slot(seq)


class Leaks(VectorManager):
    def free(self, seq: int) -> None:
        super().free(seq)
        if len(self._free) > 1:
            self._free.pop()


class HandsOutTwice(VectorManager):
    def free(self, seq: int) -> None:
        table = self.block_table(seq)
        super().free(seq)
        if table[0] in self._free:
            self._free.append(table[0])


class Deadlocks(VectorManager):
    def append_slot(self, seq: int) -> Copy | None:
        lock = threading.Lock()
        with lock, lock:
            return super().append_slot(seq)


class Exits(VectorManager):
    def append_slot(self, seq: int) -> Copy | None:
        sys.exit(7)


class Vanishes(VectorManager):
    def append_slot(self, seq: int) -> Copy | None:
        os._exit(0)


class PoolOfText:
    def __init__(self, total_blocks: int) -> None:
        self.num_free = total_blocks

    def take(self, k: int) -> list[str]:
        self.num_free -= k
        return ["a"] * k

    def give(self, ids: list[int]) -> None:
        self.num_free += len(ids)


class PoolBeyond:
    """Numbers its blocks from 1, as some engines do."""

    def __init__(self, total_blocks: int) -> None:
        self.free = list(range(total_blocks, 0, -1))

    @property
    def num_free(self) -> int:
        return len(self.free)

    def take(self, k: int) -> list[int]:
        if k > len(self.free):
            raise OutOfBlocks(k)
        return [self.free.pop() for _ in range(k)]

    def give(self, ids: list[int]) -> None:
        self.free += ids


class PoolThatRaisesAnother(PoolBeyond):
    def __init__(self, total_blocks: int) -> None:
        self.free = list(range(total_blocks))

    def take(self, k: int) -> list[int]:
        return [self.free.pop() for _ in range(k)]
