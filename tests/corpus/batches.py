"""Whole steps at once that are not the single calls in their order."""

from __future__ import annotations

from typing import Any

from blockmark_impls.contract import Copy, UnknownSequence
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.vector import VectorManager


class HalfABatch(VectorManager):
    """`append_slots` that fails keeps the appends before the one that failed."""

    fault = "append_slots"

    def append_slots(self, seqs: Any) -> list[Copy]:
        return [made for seq in seqs.tolist() if (made := self.append_slot(seq))]


class EachSequenceOnce(FlatStackNumpyManager):
    """`append_slots` appends one token to a sequence that is named twice."""

    fault = "append_slots"

    def append_slots(self, seqs: Any) -> list[Copy]:
        import numpy as np

        _, first = np.unique(seqs, return_index=True)
        return super().append_slots(seqs[np.sort(first)])


class CopiesOutOfOrder(FlatStackNumpyManager):
    """`append_slots` returns its copies last one first."""

    fault = "append_slots"

    def append_slots(self, seqs: Any) -> list[Copy]:
        return super().append_slots(seqs)[::-1]


class ZeroForUnknown(FlatStackNumpyManager):
    """`lookup_slots` writes 0 for a block that is not in the table."""

    fault = "lookup_slots"

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        for place, (seq, logical) in enumerate(zip(seqs.tolist(), logicals.tolist(), strict=True)):
            try:
                out[place] = self.lookup(seq, logical)
            except UnknownSequence:
                out[place] = 0
