"""Rows for a kernel that are not what the tables say."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockmark_impls.python.vector import VectorManager


class DirtyTails(VectorManager):
    """What lies behind a row's blocks is not zeroed."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        before = out.copy()
        super().write_block_tables(seqs, out, lengths)
        for row, length in enumerate(lengths.tolist()):
            out[row, length:] = before[row, length:]


class RowOverrun(VectorManager):
    """A zero is written behind the last row."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        if len(seqs) and out.base is not None:
            out.base[len(seqs) + 1, 0] = 0


class LengthsOverrun(VectorManager):
    """One length more than there are rows is written."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        if lengths.base is not None:
            lengths.base[len(seqs) + 1] = 0


class LengthsInTokens(VectorManager):
    """Lengths are numbers of tokens."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        lengths[:] = [self.num_tokens(seq) for seq in seqs.tolist()]


class LengthsWithoutDropped(VectorManager):
    """Lengths do not count the dropped blocks."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        lengths[:] = [len(self.block_table(seq)) for seq in seqs.tolist()]


class RowsInOrderOfSequences(VectorManager):
    """Rows come in the order of the sequences' numbers, not as they were asked for."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(np.sort(seqs), out, lengths)


class Transposed(VectorManager):
    """Columns are written where rows should be."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        out[:] = out.T.reshape(out.shape)


class CutsWideTables(VectorManager):
    """A table that is wider than a row is cut, and no error is raised."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        widest = max((len(self._table_of(seq)) for seq in seqs.tolist()), default=0)
        wide = np.zeros((len(seqs), max(widest, out.shape[1])), dtype=np.int32)
        super().write_block_tables(seqs, wide, lengths)
        out[:] = wide[:, : out.shape[1]]


class DroppedStayInRows(VectorManager):
    """Dropped blocks are written as the first kept one, not as 0."""

    fault = "pack"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        for row, seq in enumerate(seqs.tolist()):
            out[row, : self._first[seq]] = self.block_table(seq)[0]
