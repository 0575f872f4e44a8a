"""Packed rows that are too many, too wide, or of ids too large, for their field."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class LengthsInEightBits(HashMapManager):
    """The length beside a packed row wraps round at 256 blocks; the row is right."""

    fault = "sizes"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        lengths &= 0xFF


class RowsInSevenBits(FlatStackNumpyManager):
    """Row 128 of a batch is written over row 0, and stays empty itself."""

    fault = "sizes"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        for row in range(128, len(seqs)):
            out[row & 0x7F] = out[row]
            out[row] = 0


class ZeroesFiveHundredAndTwelve(VectorManager):
    """Tails are zeroed as far as column 512, and no further."""

    fault = "sizes"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        before = out[:, 512:].copy()
        super().write_block_tables(seqs, out, lengths)
        for row, length in enumerate(lengths.tolist()):
            start = max(length, 512)
            out[row, start:] = before[row, start - 512 :]


class LastColumnOfAPower(TwoLevelManager):
    """In rows of 64, 128, 256, ... columns the last is a 0 that ends them, whatever is there."""

    fault = "sizes"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        width = out.shape[1]
        if width >= 64 and width & (width - 1) == 0:
            out[:, -1] = 0


class RowsInTwelveBits(FlatStackManager):
    """Packed ids have twelve bits: block 4,096 is block 0 in a row, and in no other answer."""

    fault = "sizes"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        out &= 0xFFF


class RowsOfShorts(FlatStackNumpyManager):
    """Rows are packed as signed 16-bit numbers: block 32,768 is negative there alone."""

    fault = "16-bit overflow"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        out[:] = out.astype(np.int16)


class PlacesInSixteenBits(VectorManager):
    """Places in `out` are counted in sixteen bits: what lies behind 65,536 of them is left."""

    fault = "sizes"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        count, width = out.shape
        reached = count if width == 0 else min(count, 0x10000 // width)
        before = out[reached:].copy()
        super().write_block_tables(seqs, out, lengths)
        out[reached:] = before
