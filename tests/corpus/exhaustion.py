"""Errors that change the state, and limits that are not seen where they are."""

from __future__ import annotations

from blockmark_impls.contract import Copy, OutOfBlocks, SequenceTooLong
from blockmark_impls.python.vector import VectorManager


class TakesTheRest(VectorManager):
    """`allocate` that finds too few blocks has taken one of those there were."""

    fault = "exhaustion changes state"

    def allocate(self, seq: int, num_tokens: int) -> None:
        try:
            super().allocate(seq, num_tokens)
        except OutOfBlocks:
            if self._free:
                self._free.pop()
            raise


class CountsTheFailedToken(VectorManager):
    """`append_slot` that finds no block for a copy has counted the token."""

    fault = "exhaustion changes state"

    def append_slot(self, seq: int) -> Copy | None:
        try:
            return super().append_slot(seq)
        except OutOfBlocks:
            if self._room[seq] > 1:
                self._room[seq] -= 1
            raise


class UnsharesBeforeItCopies(VectorManager):
    """`append_slot` that finds no block for a copy has taken a name off the shared one."""

    fault = "exhaustion changes state"

    def append_slot(self, seq: int) -> Copy | None:
        try:
            return super().append_slot(seq)
        except OutOfBlocks:
            if self._room[seq] > 0:
                self._refs[self._tables[seq][-1]] -= 1
            raise


class HalfExtends(VectorManager):
    """`extend` that runs out of blocks keeps those that it got."""

    fault = "exhaustion changes state"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        try:
            return super().extend(seq, num_tokens)
        except OutOfBlocks:
            if self._free and len(self._tables[seq]) < self._max_blocks and not self._room[seq]:
                self._tables[seq] += self._take(1)
            raise


class TooLongTakesTheSlot(VectorManager):
    """A fork or an allocation that is too long leaves the sequence behind with one block."""

    fault = "too long changes state"

    def allocate(self, seq: int, num_tokens: int) -> None:
        try:
            super().allocate(seq, num_tokens)
        except SequenceTooLong:
            if self._free:
                super().allocate(seq, 1)
            raise


class TooLongEndsTheSequence(VectorManager):
    """A sequence that gets too long is freed."""

    fault = "too long changes state"

    def append_slot(self, seq: int) -> Copy | None:
        try:
            return super().append_slot(seq)
        except SequenceTooLong:
            self.free(seq)
            raise


class OneBlockTooLong(VectorManager):
    """A table may have one block more than the most."""

    fault = "too long changes state"

    def append_slot(self, seq: int) -> Copy | None:
        self._max_blocks += 1
        try:
            return super().append_slot(seq)
        finally:
            self._max_blocks -= 1


class NeverExhausted(VectorManager):
    """A pool that is empty makes more blocks."""

    fault = "exhaustion"

    def append_slot(self, seq: int) -> Copy | None:
        if not self._free and self._tables[seq]:
            self._free.append(len(self._refs))
            self._refs.append(0)
        return super().append_slot(seq)


class CannotAllocateTheLast(VectorManager):
    """`can_allocate` says no to exactly as many blocks as are free."""

    fault = "exhaustion"

    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks < len(self._free)


class KeepsOneBack(VectorManager):
    """`allocate` refuses the last free block."""

    fault = "exhaustion"

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._check_new(seq)
        blocks = -(-num_tokens // self._block_size)
        if 0 < blocks <= self._max_blocks and blocks == len(self._free):
            raise OutOfBlocks("the last one is kept")
        super().allocate(seq, num_tokens)
