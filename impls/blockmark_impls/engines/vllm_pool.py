"""vLLM's free pool: `BlockPool.get_new_blocks` and `free_blocks`.

An object a block, a doubly linked list of the free ones, a ref count in each object. With
caching on, a block that is taken is looked for in the prefix cache, and blocks without a
hash come back to the front of the list, those with one to its end. Block 0 is never given
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm.v1.core.block_pool import BlockPool

from .fitting import call_fitting, must_have

if TYPE_CHECKING:
    from collections.abc import Iterable


class VllmPool:
    """The pool as it is. A hand-out is the engine's: a list of block objects.

    `take` and `give` are the engine's own methods, so nothing is added to a call.
    """

    def __init__(self, total_blocks: int, *, caching: bool) -> None:
        known = {
            # One more, as the first is its own.
            "=num_gpu_blocks": total_blocks + 1,
            "=enable_caching": caching,
            "hash_block_size": 16,
            "enable_kv_cache_events": False,
        }
        pool = call_fitting(BlockPool, known, "vLLM's BlockPool")
        must_have(pool, ("get_new_blocks", "free_blocks", "get_num_free_blocks"), "vLLM's pool")
        self._pool = pool
        self.take = pool.get_new_blocks
        self.give = pool.free_blocks

    @property
    def num_free(self) -> int:
        return int(self._pool.get_num_free_blocks())

    def ids_of(self, handout: Iterable[Any]) -> list[int]:
        """The numbers of a hand-out's blocks, from 0."""
        return [block.block_id - 1 for block in handout]

    def handout_of(self, ids: Iterable[int]) -> list[Any]:
        """The blocks of these numbers, as `give` takes them."""
        return [self._pool.blocks[block + 1] for block in ids]
