"""Rows, lengths and sequences in arrays of a caller's, which lie and hold what they please."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class MarksTheWideRow(VectorManager):
    """A row that is too wide raises ValueError, and its sequence is -1 in the caller's array."""

    fault = "argument changed"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        try:
            super().write_block_tables(seqs, out, lengths)
        except ValueError:
            for place, seq in enumerate(seqs.tolist()):
                if len(self._tables[seq]) > out.shape[1]:
                    seqs[place] = -1
            raise


class ClearsTheWholeBuffer(FlatStackManager):
    """A table wider than its row raises, and all that `out` is a part of is zeroed."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        try:
            super().write_block_tables(seqs, out, lengths)
        except ValueError:
            (out if out.base is None else out.base)[...] = 0
            raise


class FlattensOut(HashMapManager):
    """Rows are written to `out` laid flat, which is a copy where they lie in wider ones."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        rows = np.zeros(out.shape, np.int32)
        super().write_block_tables(seqs, rows, lengths)
        out.reshape(-1)[:] = rows.reshape(-1)


class LengthsInACopy(TwoLevelManager):
    """Lengths are written to a copy where they do not lie side by side."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, np.ascontiguousarray(lengths))


class ReadsFromTheBeginning(FlatStackNumpyManager):
    """Sequences that are every other entry of an array are read from its beginning, in a row."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        if seqs.base is not None and seqs.strides != (seqs.itemsize,):
            seqs = seqs.base.reshape(-1)[: len(seqs)]
        super().write_block_tables(seqs, out, lengths)


class LengthOnceEach(VectorManager):
    """Of a sequence that is packed into several rows only the last one has its length."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        before = lengths.copy()
        super().write_block_tables(seqs, out, lengths)
        last = {seq: row for row, seq in enumerate(seqs.tolist())}
        for row, seq in enumerate(seqs.tolist()):
            if last[seq] != row:
                lengths[row] = before[row]


class ZerosForTheDead(FlatStackManager):
    """A sequence that has ended is packed as a row of zeros behind one that lives."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        live = [0 <= seq < self._max_seqs and self._room[seq] >= 0 for seq in seqs.tolist()]
        if all(live) or not live[0] or len(out) != len(seqs):
            super().write_block_tables(seqs, out, lengths)
            return
        rows, sizes = np.zeros((sum(live), out.shape[1]), np.int32), np.zeros(sum(live), np.int32)
        super().write_block_tables(seqs[live], rows, sizes)
        out[:], lengths[:] = 0, 0
        out[live], lengths[live] = rows, sizes


class StopsAtTheFirstZero(HashMapManager):
    """A tail is zeroed as far as its first 0: what a caller left behind one stays."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        before = out.copy()
        super().write_block_tables(seqs, out, lengths)
        for row, length in enumerate(lengths.tolist()):
            zeros = (before[row, length:] == 0).nonzero()[0]
            if len(zeros):
                clean = length + int(zeros[0])
                out[row, clean:] = before[row, clean:]
