"""Managers that do not take every size, or do not hand out every block, and say so."""

from __future__ import annotations

import time

from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


def _refuse(wrong: bool, what: str) -> None:
    if wrong:
        raise ValueError(what)


class ReservesBlockZero(VectorManager):
    """Block 0 stands for no block, and is never handed out."""

    right = "a block is reserved"

    def __init__(self, config: PoolConfig) -> None:
        _refuse(config.total_blocks == 1, "one block is reserved, so there must be two")
        super().__init__(config)
        self._free.remove(0)

    @property
    def usable_blocks(self) -> int:
        return self._total - 1


class ReservesTheLast(HashMapManager):
    """The block of the highest number takes what is written for nobody."""

    right = "a block is reserved"

    def __init__(self, config: PoolConfig) -> None:
        _refuse(config.total_blocks == 1, "one block is reserved, so there must be two")
        super().__init__(config)
        self._free.remove(self._total - 1)

    @property
    def usable_blocks(self) -> int:
        return self._total - 1


class ReservesAnEighth(VectorManager):
    """Every eighth block is kept for others."""

    right = "many blocks are reserved"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free = [block for block in self._free if block % 8 != 7]
        self._usable = len(self._free)

    @property
    def usable_blocks(self) -> int:
        return self._usable


class BlocksOfTwoOrMore(VectorManager):
    """A block of one token is refused when it is made."""

    right = "no blocks of one token"

    def __init__(self, config: PoolConfig) -> None:
        _refuse(config.block_size == 1, "block_size must be at least 2")
        super().__init__(config)


class SixteenTokens(FlatStackManager):
    """Blocks have 16 tokens."""

    right = "one block size"

    def __init__(self, config: PoolConfig) -> None:
        _refuse(config.block_size != 16, "block_size must be 16")
        super().__init__(config)


class PowersOfTwo(FlatStackManager):
    """The tokens of a block are a power of two."""

    right = "block sizes that can be shifted"

    def __init__(self, config: PoolConfig) -> None:
        size = config.block_size
        _refuse(size < 1 or size & (size - 1) > 0, "block_size must be a power of two")
        super().__init__(config)


class SixtyFourSequences(TwoLevelManager):
    """There are 64 slots at most."""

    right = "few sequences"

    def __init__(self, config: PoolConfig) -> None:
        _refuse(config.max_seqs > 64, "max_seqs must be at most 64")
        super().__init__(config)


class EvenTotals(VectorManager):
    """Blocks come in pairs."""

    right = "pools of an even number of blocks"

    def __init__(self, config: PoolConfig) -> None:
        _refuse(config.total_blocks % 2 == 1, "total_blocks must be even")
        super().__init__(config)


class ShortTables(HashMapManager):
    """A table has 100 blocks at most."""

    right = "short tables"

    def __init__(self, config: PoolConfig) -> None:
        _refuse(config.max_blocks_per_seq > 100, "max_blocks_per_seq must be at most 100")
        super().__init__(config)


class PoolsOfThousands(FlatStackManager):
    """A pool has 60,000 blocks at most, whatever the width of an id."""

    right = "pools that are not too large"

    def __init__(self, config: PoolConfig) -> None:
        _refuse(config.total_blocks > 60_000, "total_blocks must be at most 60,000")
        super().__init__(config)


class SlowToMake(VectorManager):
    """It takes ten milliseconds to make one."""

    right = "a slow constructor"

    def __init__(self, config: PoolConfig) -> None:
        time.sleep(0.01)
        super().__init__(config)
