"""Readers, forks and copies that are too many, or of ids too large, for their field."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


def _signed(block: int) -> int:
    """What sixteen bits with a sign make of an id."""
    return (block + 0x8000) % 0x10000 - 0x8000


class ReadersStopAt127(TwoLevelManager):
    """A ref count stays at 127 however many forks come, so that a block is free too early."""

    fault = "sizes"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        for block in self.block_table(child):
            self._refs[block] = min(self._refs[block], 127)


class ReadersInTenBits(HashMapManager):
    """A ref count wraps round at 1,024 readers."""

    fault = "sizes"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        for block in self._tables[child].values():
            self._refs[block] &= 0x3FF


class ReadersInSignedWords(FlatStackNumpyManager):
    """Ref counts have sixteen bits with a sign: the 32,768th reader makes them negative."""

    fault = "sizes"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._counts: Any = self._counts.astype(np.int16)
        self._refs = self._counts.data


class SoleReaderInSixBits(FlatStackManager):
    """`append_slot` sees six bits of a ref count: with 65 readers it writes without a copy."""

    fault = "sizes"

    def append_slot(self, seq: int) -> Copy | None:
        left = self._room[seq] if 0 <= seq < self._max_seqs else -1
        if left > 0:
            readers = self._refs[self._table[self._end[seq] - 1]]
            if readers > 1 and readers & 0x3F == 1:
                self._room[seq] = left - 1
                return None
        return super().append_slot(seq)


class ForksInNineBits(VectorManager):
    """Forks are numbered in nine bits, 0 means no fork: the 512th raises no ref count."""

    fault = "sizes"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._forks = 0

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._forks = (self._forks + 1) & 0x1FF
        if self._forks == 0:
            for block in self.block_table(child):
                self._refs[block] -= 1


class ChildrenOfSignedIds(VectorManager):
    """A child's table has sixteen bits with a sign: block 32,768 is negative in forks alone."""

    fault = "16-bit overflow"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._tables[child] = [_signed(block) for block in self._tables[child]]


class PrefixesInFourteenBits(FlatStackManager):
    """A fork of a prefix keeps fourteen bits of its parent's ids; a whole fork keeps all."""

    fault = "sizes"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if num_blocks is not None:
            for place in range(self._start[child], self._end[child]):
                self._table[place] &= 0x3FFF


class CopiesIntoSignedIds(VectorManager):
    """A copy's new block is kept in sixteen bits with a sign; every other block is right."""

    fault = "16-bit overflow"

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        if made is None:
            return None
        self._tables[seq][-1] = _signed(made.dst)
        return Copy(made.src, _signed(made.dst))


class NamesCopiesInThirteenBits(HashMapManager):
    """`extend` says where a copy goes in thirteen bits; the table has all of them."""

    fault = "sizes"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        return [Copy(src, dst & 0x1FFF) for src, dst in super().extend(seq, num_tokens)]
