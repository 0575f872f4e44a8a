"""A preallocated free stack in a NumPy array: cheap a block, dear a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..contract import OutOfBlocks
from .sizes import check_total, id_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class NumpyStackPool:
    """The pool of flat-stack/numpy: blocks below the top are free, last in first out."""

    def __init__(self, total_blocks: int, id_bits: int = 32) -> None:
        stored = id_type(id_bits)
        check_total(total_blocks, stored)
        self._stack = np.arange(total_blocks)[::-1].astype(stored)
        self._top = total_blocks

    def take(self, k: int) -> NDArray[np.int64]:
        """Take `k` blocks. Raises OutOfBlocks, and ValueError if `k` is negative."""
        top = self._top
        if k < 0:
            raise ValueError(f"cannot take {k} blocks")
        if k > top:
            raise OutOfBlocks(f"{k} blocks wanted, {top} free")
        self._top = top - k
        # A copy, since the places above the top are written again by `give`; wide,
        # so that a caller's arithmetic on ids does not wrap.
        return self._stack[top - k : top][::-1].astype(np.int64)

    def give(self, ids: NDArray[np.int64] | Sequence[int]) -> None:
        """Give blocks back; the last one named is the first to be taken again.

        Raises ValueError if that would be more blocks than there are: the stack
        never grows.
        """
        top = self._top
        end = top + len(ids)
        if end > len(self._stack):
            raise ValueError(f"{len(ids)} blocks given back, {len(self._stack) - top} are out")
        self._stack[top:end] = ids
        self._top = end

    @property
    def num_free(self) -> int:
        """The number of free blocks."""
        return self._top

    def pool_bytes(self) -> int:
        """Bytes of the stack."""
        return self._stack.nbytes
