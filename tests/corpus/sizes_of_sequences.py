"""Sequences that are too many, too long or too wide for the field that counts them."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class RoomInSignedBytes(FlatStackManager):
    """The slots left in a block are signed bytes: one token in a block of 200 overflows them."""

    fault = "sizes"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._room: Any = array("b", [-1]) * self._max_seqs


class RoomInSixBits(HashMapManager):
    """What `truncate` leaves of a last block is kept in six bits: 64 slots and more are less."""

    fault = "sizes"

    def truncate(self, seq: int, num_tokens: int) -> None:
        super().truncate(seq, num_tokens)
        self._room[seq] &= 0x3F


class TokensInTwelveBits(TwoLevelManager):
    """`num_tokens` begins at 0 again with 4,096 tokens."""

    fault = "sizes"

    def num_tokens(self, seq: int) -> int:
        return super().num_tokens(seq) & 0xFFF


class TokensInHalfFloats(FlatStackManager):
    """`num_tokens` goes through a float of 16 bits, which has no odd numbers above 2,048."""

    fault = "sizes"

    def num_tokens(self, seq: int) -> int:
        return int(np.float16(super().num_tokens(seq)))


class TruncatesInTenBits(HashMapManager):
    """`truncate` compares with ten bits of the length: a sequence of 1,024 tokens has none."""

    fault = "sizes"

    def truncate(self, seq: int, num_tokens: int) -> None:
        if num_tokens > self.num_tokens(seq) & 0x3FF:
            raise ValueError(f"num_tokens = {num_tokens} is more than the length")
        super().truncate(seq, num_tokens)


class FirstKeptInEightBits(TwoLevelManager):
    """The first block that was not dropped is kept in eight bits: 256 of them are none."""

    fault = "sizes"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        super().drop_front(seq, num_blocks)
        self._first[seq] &= 0xFF


class DropsInSixBits(HashMapManager):
    """`drop_front` looks at six bits of its number: of 64 blocks it drops none."""

    fault = "sizes"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        if 0 <= num_blocks < self._blocks.get(seq, 0):
            num_blocks &= 0x3F
        super().drop_front(seq, num_blocks)


class ChildInTenBits(VectorManager):
    """`fork` keeps ten bits of the child's number: child 1,024 is made in slot 0."""

    fault = "sizes"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        here = child & 0x3FF if 0 <= child < self._max_seqs else child
        super().fork(parent, here, num_blocks)


class FreesInNineBits(HashMapManager):
    """`free` keeps nine bits of a sequence's number: in the place of 512 it ends 0."""

    fault = "sizes"

    def free(self, seq: int) -> None:
        super().free(seq & 0x1FF if seq in self._tables else seq)


class LivesInThirteenBits(TwoLevelManager):
    """Whether a new slot is in use is asked of thirteen bits: 8,192 is taken once 0 is."""

    fault = "sizes"

    def _check_new(self, seq: int) -> None:
        super()._check_new(seq & 0x1FFF if 0 <= seq < self._max_seqs else seq)


class LookupsInSignedBytes(FlatStackNumpyManager):
    """`lookup_slots` reads sequences as signed bytes: 128 is one that does not exist."""

    fault = "sizes"

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        super().lookup_slots(seqs.astype(np.int8).astype(np.int32), logicals, out)


class AppendsInBytes(FlatStackNumpyManager):
    """`append_slots` reads sequences as bytes: a token for 300 goes to 44."""

    fault = "sizes"

    def append_slots(self, seqs: Any) -> list[Copy]:
        return super().append_slots(seqs.astype(np.uint8).astype(np.int32))


class PagesInThreeBits(TwoLevelManager):
    """`lookup` knows eight pages of a sequence: block 2,048 is answered with block 0."""

    fault = "sizes"

    def lookup(self, seq: int, logical: int) -> int:
        super().lookup(seq, logical)
        return self._directory[seq][logical >> self._shift & 7][logical & self._last_slot]


class GrowsOneShort(VectorManager):
    """A table that an append brings past 512 blocks moves 511 of them, and repeats the last."""

    fault = "sizes"

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        table = self._tables[seq]
        if len(table) == 513 and self._room[seq] == self._block_size - 1:
            table[511] = table[510]
        return made
