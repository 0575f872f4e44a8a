"""Faults that wait: for many operations, for long sequences, for wide pools."""

from __future__ import annotations

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.vector import VectorManager


class WrongAfterManyAppends(VectorManager):
    """After 500 appends every further one leaks a token slot."""

    fault = "late"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._appends = 0

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        self._appends += 1
        if self._appends > 500 and self._room[seq] > 0:
            self._room[seq] -= 1
        return made


class TokensInEightBits(VectorManager):
    """The length of a sequence wraps round at 256 tokens."""

    fault = "late"

    def num_tokens(self, seq: int) -> int:
        return super().num_tokens(seq) & 0xFF


class WideTablesMixUp(VectorManager):
    """Blocks 31 and 32 of a long table have changed places."""

    fault = "late"

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        table = self._tables[seq]
        if len(table) > 32:
            table[31], table[32] = table[32], table[31]

    def lookup(self, seq: int, logical: int) -> int:
        block = super().lookup(seq, logical)
        return super().lookup(seq, 63 - logical) if logical in (31, 32) else block


class LeaksWhenCrowded(VectorManager):
    """Beyond 300 blocks in use, `free` loses one."""

    fault = "late"

    def free(self, seq: int) -> None:
        crowded = self._total - len(self._free) > 300
        super().free(seq)
        if crowded and self._free:
            self._free.pop(0)
