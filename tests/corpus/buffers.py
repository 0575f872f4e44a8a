"""Lists and arrays of the caller's that are kept or changed, and answers that change later."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.vector import VectorManager


class OneListOfCopies(VectorManager):
    """`extend` returns one list each time: what a caller kept of it is the next answer."""

    fault = "answer kept"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._copies: list[Copy] = []

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        self._copies[:] = super().extend(seq, num_tokens)
        return self._copies


class OneBatchOfCopies(FlatStackNumpyManager):
    """`append_slots` empties the list that it returned last, and returns it again."""

    fault = "answer kept"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._copies: list[Copy] = []

    def append_slots(self, seqs: Any) -> list[Copy]:
        made = super().append_slots(seqs)
        self._copies.clear()
        self._copies += made
        return self._copies


class SameListAgain(HashMapManager):
    """`block_table` answers with the list of its last answer while the blocks are the same."""

    fault = "answer kept"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._answers: dict[int, tuple[list[int], list[int]]] = {}

    def block_table(self, seq: int) -> list[int]:
        blocks = super().block_table(seq)
        if seq not in self._answers or self._answers[seq][0] != blocks:
            self._answers[seq] = blocks, list(blocks)
        return self._answers[seq][1]


class WritesTheLastRows(VectorManager):
    """`out` is kept: a block that `append_slot` takes is written into the rows packed last."""

    fault = "argument kept"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._packed: tuple[list[int], Any] = [], None

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        self._packed = seqs.tolist(), out

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        (seqs, out), table = self._packed, self._tables[seq]
        if seq in seqs and len(table) <= out.shape[1]:
            out[seqs.index(seq), len(table) - 1] = table[-1]
        return made


class ReadsAnArrayOnce(FlatStackNumpyManager):
    """`append_slots` reads an array of sequences once; a caller who fills it anew is not seen."""

    fault = "argument kept"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._given: Any = None
        self._read: Any = None

    def append_slots(self, seqs: Any) -> list[Copy]:
        if seqs is not self._given:
            self._given, self._read = seqs, seqs.copy()
        return super().append_slots(self._read)


class MovesLogicals(FlatStackNumpyManager):
    """`lookup_slots` adds where each row begins to the caller's own logical blocks."""

    fault = "argument changed"

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        super().lookup_slots(seqs, logicals, out)
        logicals += seqs * np.int32(self._stride)


class SortsTheBatch(FlatStackNumpyManager):
    """`append_slots` leaves the array of sequences sorted."""

    fault = "argument changed"

    def append_slots(self, seqs: Any) -> list[Copy]:
        made = super().append_slots(seqs)
        seqs.sort()
        return made
