"""A free pool that is a growing list of block ids, used as a stack."""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING

from ..contract import OutOfBlocks
from . import free_runs
from .sizes import check_total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contract import Copy


class ListPool:
    """The pool of hash-map and vector: `pop` takes, `append` gives, last in first out."""

    def __init__(self, total_blocks: int) -> None:
        check_total(total_blocks, "int object")
        self._total = total_blocks
        self._free = list(range(total_blocks - 1, -1, -1))

    def take(self, k: int) -> list[int]:
        """Take `k` blocks. Raises OutOfBlocks, and ValueError if `k` is negative."""
        free = self._free
        left = len(free) - k
        if k < 0:
            raise ValueError(f"cannot take {k} blocks")
        if left < 0:
            raise OutOfBlocks(f"{k} blocks wanted, {len(free)} free")
        taken = free[left:]
        del free[left:]
        taken.reverse()
        return taken

    def give(self, ids: Sequence[int]) -> None:
        """Give blocks back; the last one named is the first to be taken again."""
        self._free += ids

    def find_contiguous(self, k: int) -> int | None:
        """The lowest block from which on `k` are free, or None; sorts the free ids first."""
        return free_runs.lowest_run(self._free, k)

    def plan_compaction(self, blocks: int) -> list[Copy]:
        """As `free_runs.plan_compaction`, of the free ids."""
        return free_runs.plan_compaction(self._free, self._total, blocks)

    @property
    def num_free(self) -> int:
        """The number of free blocks."""
        return len(self._free)

    def pool_bytes(self) -> int:
        """Bytes of the list and of the int objects of the free ids."""
        return getsizeof(self._free) + len(self._free) * getsizeof(1 << 16)
