"""Errors of the wrong class, or none where there should be one."""

from __future__ import annotations

from blockmark_impls.contract import Copy, OutOfBlocks, SequenceTooLong, UnknownSequence
from blockmark_impls.python.vector import VectorManager


class KeyErrorForUnknown(VectorManager):
    """`lookup` raises KeyError for a block that is not in the table."""

    fault = "wrong error class"

    def lookup(self, seq: int, logical: int) -> int:
        try:
            return super().lookup(seq, logical)
        except UnknownSequence:
            raise KeyError(seq) from None


class ValueErrorForTooLong(VectorManager):
    """`extend` raises ValueError where the contract says SequenceTooLong."""

    fault = "wrong error class"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        try:
            return super().extend(seq, num_tokens)
        except SequenceTooLong as error:
            raise ValueError(str(error)) from None


class OutOfBlocksFirst(VectorManager):
    """`append_slot` looks at the pool before it looks at the length."""

    fault = "wrong error class"

    def append_slot(self, seq: int) -> Copy | None:
        try:
            return super().append_slot(seq)
        except SequenceTooLong:
            if not self._free:
                raise OutOfBlocks("no free block") from None
            raise


class AllocatesOverALiveOne(VectorManager):
    """`allocate` of a live sequence ends it and starts anew."""

    fault = "wrong error class"

    def allocate(self, seq: int, num_tokens: int) -> None:
        if self._tables[seq] and num_tokens > 0:
            self.free(seq)
        super().allocate(seq, num_tokens)


class ForksOverALiveOne(VectorManager):
    """`fork` into a live sequence ends that one first."""

    fault = "wrong error class"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        if child != parent and self._tables[child] and self._tables[parent]:
            self.free(child)
        super().fork(parent, child, num_blocks)


class NoneForUnknown(VectorManager):
    """`append_slot` to an unknown sequence returns None."""

    fault = "wrong error class"

    def append_slot(self, seq: int) -> Copy | None:
        return super().append_slot(seq) if self._tables[seq] else None


class DividesByZero(VectorManager):
    """`ref_count` raises an error of its own once a block is shared."""

    fault = "foreign exception"

    def ref_count(self, block: int) -> int:
        count = super().ref_count(block)
        return count if count < 2 else 1 // 0


class Recurses(VectorManager):
    """`fork` of a prefix calls itself without an end."""

    fault = "foreign exception"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        if num_blocks is not None:
            self.fork(parent, child, num_blocks)
        super().fork(parent, child, num_blocks)
