"""Blocks that begin or end a token too early or too late."""

from __future__ import annotations

from blockmark_impls.contract import Copy
from blockmark_impls.python.vector import VectorManager


class BoundaryTooEarly(VectorManager):
    """`append_slot` takes the next block when one token slot is still left."""

    fault = "block boundary"

    def append_slot(self, seq: int) -> Copy | None:
        if self._room[seq] == 1 and self._block_size > 1:
            self._room[seq] = 0
        return super().append_slot(seq)


class BoundaryTooLate(VectorManager):
    """A block that `append_slot` takes holds a token too many."""

    fault = "block boundary"

    def append_slot(self, seq: int) -> Copy | None:
        long = len(self._tables[seq])
        made = super().append_slot(seq)
        if len(self._tables[seq]) > long:
            self._room[seq] += 1
        return made


class RoundsDown(VectorManager):
    """`allocate` takes floor(tokens / block_size) blocks, but one at least."""

    fault = "rounding"

    def allocate(self, seq: int, num_tokens: int) -> None:
        size = self._block_size
        super().allocate(seq, num_tokens if num_tokens < size else num_tokens // size * size)


class RoundsUpTwice(VectorManager):
    """`allocate` takes tokens // block_size + 1 blocks, one too many at a multiple."""

    fault = "rounding"

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        if self._room[seq] == 0 and self._free and len(self._tables[seq]) < self._max_blocks:
            self._tables[seq] += self._take(1)
            self._room[seq] = self._block_size


class ExtendIgnoresRoom(VectorManager):
    """`extend` does not see the slots that are left in the last block."""

    fault = "rounding"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        table = self._table_of(seq)
        if num_tokens and self._room[seq] and self._free and len(table) < self._max_blocks:
            table += self._take(1)
            self._room[seq] += self._block_size
        return super().extend(seq, num_tokens)


class TruncateKeepsABlock(VectorManager):
    """`truncate` to a multiple of the block size keeps one block more."""

    fault = "truncate"

    def truncate(self, seq: int, num_tokens: int) -> None:
        if num_tokens % self._block_size == 0 and num_tokens < self.num_tokens(seq):
            super().truncate(seq, num_tokens + 1)
            self._room[seq] += 1
        else:
            super().truncate(seq, num_tokens)


class TruncateForgetsRoom(VectorManager):
    """`truncate` inside the last block changes nothing."""

    fault = "truncate"

    def truncate(self, seq: int, num_tokens: int) -> None:
        long, room = len(self._table_of(seq)), self._room[seq]
        super().truncate(seq, num_tokens)
        if len(self._tables[seq]) == long:
            self._room[seq] = room
