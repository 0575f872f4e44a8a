"""SGLang's allocators: free slots or pages are an int64 tensor, sliced and concatenated.

`TokenToKVPoolAllocator` numbers token slots, so its block is one token;
`PagedTokenToKVPoolAllocator` takes pages and hands out every slot of each. Slot or page 0
is never given out, and is not counted. A call makes tensors whatever the batch; a return
copies the free list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from sglang.srt.mem_cache.allocator import (
    PagedTokenToKVPoolAllocator,
    TokenToKVPoolAllocator,
)

from .fitting import call_fitting, must_have

if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE = 16


class _Slots:
    """What both have in common. A hand-out is a tensor of token slots, int64."""

    def __init__(self, make: Any, total_blocks: int, page: int) -> None:
        torch.set_num_threads(1)
        known = {
            "=size": total_blocks * page,
            "page_size": page,
            "=dtype": torch.float16,
            "=device": "cpu",
            "=kvcache": None,
            "need_sort": False,
        }
        self._pool = call_fitting(make, known, f"SGLang's {make.__name__}")
        must_have(self._pool, ("alloc", "free", "available_size"), "SGLang's allocator")
        # Its Triton kernels need a GPU.
        self._pool.use_triton_kernels = False
        self._page = page

    @property
    def num_free(self) -> int:
        return int(self._pool.available_size()) // self._page

    def ids_of(self, handout: torch.Tensor) -> list[int]:
        """The slots or pages of a hand-out, from 0."""
        return [slot // self._page - 1 for slot in handout[:: self._page].tolist()]

    def handout_of(self, ids: Iterable[int]) -> torch.Tensor:
        """Every token slot of these slots or pages, as `give` takes them."""
        slots = [(block + 1) * self._page + at for block in ids for at in range(self._page)]
        return torch.tensor(slots, dtype=torch.int64)


class SglangToken(_Slots):
    """A block is a token slot; `take` and `give` are the allocator's own methods."""

    def __init__(self, total_blocks: int) -> None:
        super().__init__(TokenToKVPoolAllocator, total_blocks, 1)
        self.take = self._pool.alloc
        self.give = self._pool.free


class SglangPaged(_Slots):
    """A block is a page of 16 token slots."""

    def __init__(self, total_blocks: int) -> None:
        super().__init__(PagedTokenToKVPoolAllocator, total_blocks, _PAGE)
        self._alloc = self._pool.alloc
        # As a request's end does it, where there is such a way: without looking for
        # slots of the same page.
        segment = getattr(self._pool, "free_segment", None)
        self.give = self._pool.free if segment is None else self._give_segment
        self._free_segment = segment

    def take(self, k: int) -> Any:
        return self._alloc(k * _PAGE)

    def _give_segment(self, handout: torch.Tensor) -> None:
        self._free_segment(handout, start_pos=0)  # type: ignore[misc]
