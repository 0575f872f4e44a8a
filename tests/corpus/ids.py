"""Ids that are none of the pool's."""

from __future__ import annotations

from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.vector import VectorManager


class CountsFromOne(VectorManager):
    """Ids run from 1 to the total, so that the last one is outside."""

    fault = "id out of range"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._free = list(range(self._total, 0, -1))
        self._refs.append(0)


class SixteenBits(VectorManager):
    """Tables keep 16 bits of an id; block 65,536 becomes block 0."""

    fault = "16-bit overflow"

    def _take(self, count: int) -> list[int]:
        return [block & 0xFFFF for block in super()._take(count)]


class SignedSixteenBits(VectorManager):
    """Tables keep 16 bits with a sign; block 32,768 becomes negative."""

    fault = "16-bit overflow"

    def _take(self, count: int) -> list[int]:
        return [(block + 0x8000) % 0x10000 - 0x8000 for block in super()._take(count)]


class KeepsASentinel(VectorManager):
    """Id 65,535 marks an empty place, so that this block looks as though it were not there."""

    fault = "16-bit overflow"

    def block_table(self, seq: int) -> list[int]:
        return [block for block in super().block_table(seq) if block != 0xFFFF]
