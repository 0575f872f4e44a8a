"""Implementations that break in their own ways; named as targets by path in the tests."""

from __future__ import annotations

import os
import signal
from typing import Any

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.vector import VectorManager


class Right(VectorManager):
    """A user's manager with nothing wrong."""


class Wrong(VectorManager):
    """Returns another sequence's block once tables are long enough."""

    def lookup(self, seq: int, logical: int) -> int:
        return super().lookup(seq, 0)


class Crashes(VectorManager):
    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        os.kill(os.getpid(), signal.SIGSEGV)


class Hangs(VectorManager):
    def append_slot(self, seq: int) -> Copy | None:
        while True:
            pass


class BlowsUp(VectorManager):
    """Takes memory until there is no more."""

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._hoard = []
        while True:
            self._hoard.append(bytes(1 << 30))


class Raises(VectorManager):
    def __init__(self, config: PoolConfig) -> None:
        raise RuntimeError("no license\nfound")


class Prints(VectorManager):
    """Writes to stdout, where only the answer belongs."""

    def __init__(self, config: PoolConfig) -> None:
        print("hello from the implementation", flush=True)
        super().__init__(config)


class OnlyTables:
    """A part of the contract: no lookup, no fork, no packing."""

    reuse_order = "LIFO"

    def __init__(self, config: PoolConfig) -> None:
        self._all = VectorManager(config)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    @property
    def num_free_blocks(self) -> int:
        return self._all.num_free_blocks

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._all.allocate(seq, num_tokens)

    def append_slot(self, seq: int) -> Copy | None:
        return self._all.append_slot(seq)

    def free(self, seq: int) -> None:
        self._all.free(seq)

    def block_table(self, seq: int) -> list[int]:
        return self._all.block_table(seq)
