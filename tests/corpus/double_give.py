"""Pools that promise to refuse what is not out, and do not keep the promise.

`refuses_double_give = True`: `give` raises ValueError, and changes nothing, for a block that is
not out, or that is named twice in one call.
"""

from __future__ import annotations

from collections.abc import Sequence

from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool


class NamedTwiceInOneCall(ListPool):
    """`give([1, 1])` is accepted, and 1 is handed out twice after it (vLLM #42571)."""

    fault = "pool: double give"
    refuses_double_give = True

    def give(self, ids: Sequence[int]) -> None:
        for block in ids:
            if block in self._free or not 0 <= block < self._total:
                raise ValueError(f"block {block} is not out")
        super().give(ids)


class GivenInTwoCalls(ListPool):
    """A block named twice in one call is refused, in two calls it is not (SGLang #40305)."""

    fault = "pool: double give"
    refuses_double_give = True

    def give(self, ids: Sequence[int]) -> None:
        if len(set(ids)) < len(ids) or any(not 0 <= block < self._total for block in ids):
            raise ValueError(f"{list(ids)} name a block twice, or none")
        super().give(ids)


class GivesUntilItRefuses(LinkedListPool):
    """`give` that finds a block that is not out keeps those before it, and raises."""

    fault = "pool: double give"
    refuses_double_give = True

    def give(self, ids: Sequence[int]) -> None:
        for block in ids:
            node = self._nodes[block] if 0 <= block < len(self._nodes) else None
            if node is None or node.next is not node:
                raise ValueError(f"block {block} is not out")
            super().give([block])


class RefusesAtTheBrim(StackPool):
    """`give` refuses only what would be more blocks than there are, whichever they are."""

    fault = "pool: double give"
    refuses_double_give = True


class RefusesByKeyError(ListPool):
    """`give` of a block that is not out raises KeyError."""

    fault = "pool: double give"
    refuses_double_give = True

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._out: set[int] = set()

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        self._out.update(taken)
        return taken

    def give(self, ids: Sequence[int]) -> None:
        if len(set(ids)) < len(ids):
            raise ValueError(f"{list(ids)} name a block twice")
        left = self._out.copy()
        for block in ids:
            left.remove(block)
        super().give(ids)
        self._out = left


class MinusOneIsTheLast(BitmapPool):
    """`give([-1])` is taken for the last block, if that is out."""

    fault = "pool: double give"
    refuses_double_give = True

    def give(self, ids: Sequence[int]) -> None:
        out = [not self._levels[0][block >> 6] >> (block & 63) & 1 for block in range(self._total)]
        for block in ids:
            if not -len(out) <= block < len(out) or not out[block]:
                raise ValueError(f"block {block} is not out")
            out[block] = False
        super().give([block % len(out) for block in ids])
