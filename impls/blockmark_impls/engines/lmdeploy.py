"""LMDeploy's allocator: NumPy arrays of free blocks, ref counts and times of last use.

`LogicalAllocator` takes logical blocks and, for each, a physical one from an allocator of
the same kind; both have a free stack in an array. A call touches several arrays whatever
the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from lmdeploy.pytorch.paging.block_manager.base_block_manager import LogicalAllocator

from .fitting import call_fitting, must_have

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class LmdeployAllocator:
    """A hand-out is an int64 array of logical blocks. The methods are the allocator's own."""

    def __init__(self, total_blocks: int) -> None:
        known = {"=num_cpu_blocks": 0, "=num_gpu_blocks": total_blocks, "num_gpu_reserved": 0}
        self._pool: Any = call_fitting(LogicalAllocator, known, "LMDeploy's LogicalAllocator")
        must_have(self._pool, ("allocate", "free", "get_num_free_blocks"), "LMDeploy's allocator")
        self.take = self._pool.allocate
        self.give = self._pool.free

    @property
    def num_free(self) -> int:
        return int(self._pool.get_num_free_blocks())

    def ids_of(self, handout: NDArray[np.int64]) -> list[int]:
        """The blocks of a hand-out."""
        return [int(block) for block in handout]

    def handout_of(self, ids: Iterable[int]) -> NDArray[np.int64]:
        """These blocks as `give` takes them."""
        return np.array(list(ids), dtype=np.int64)
