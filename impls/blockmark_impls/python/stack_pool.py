"""A free pool that is a preallocated stack with a top index."""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING

from ..contract import OutOfBlocks
from . import free_runs
from .sizes import check_total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contract import Copy


class StackPool:
    """The pool of flat-stack: blocks below the top are free, last in first out."""

    def __init__(self, total_blocks: int) -> None:
        check_total(total_blocks, "int object")
        self._stack = list(range(total_blocks - 1, -1, -1))
        self._top = total_blocks

    def take(self, k: int) -> list[int]:
        """Take `k` blocks. Raises OutOfBlocks, and ValueError if `k` is negative."""
        top = self._top
        if k < 0:
            raise ValueError(f"cannot take {k} blocks")
        if k > top:
            raise OutOfBlocks(f"{k} blocks wanted, {top} free")
        self._top = top - k
        taken = self._stack[top - k : top]
        taken.reverse()
        return taken

    def give(self, ids: Sequence[int]) -> None:
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

    def find_contiguous(self, k: int) -> int | None:
        """The lowest block from which on `k` are free, or None; sorts the free ids first."""
        return free_runs.lowest_run(self._stack[: self._top], k)

    def plan_compaction(self, blocks: int) -> list[Copy]:
        """As `free_runs.plan_compaction`, of the free ids."""
        return free_runs.plan_compaction(self._stack[: self._top], len(self._stack), blocks)

    @property
    def num_free(self) -> int:
        """The number of free blocks."""
        return self._top

    def pool_bytes(self) -> int:
        """Bytes of the stack and of the int object in each of its places."""
        return getsizeof(self._stack) + len(self._stack) * getsizeof(1 << 16)
