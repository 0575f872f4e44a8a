"""Pools that are wrong for one number of blocks, or where a word of their bitmap ends."""

from __future__ import annotations

from collections.abc import Sequence

from blockmark_impls.contract import Copy, OutOfBlocks
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.stack_pool_numpy import NumpyStackPool

_ALL = (1 << 64) - 1


class HalfThePool(StackPool):
    """`take` of exactly half of the blocks that there are leaves one of them in the pool."""

    fault = "pool: block out twice"

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        if k > 0 and 2 * k == len(self._stack):
            self.give(taken[-1:])
        return taken


class TakesSixteen(NumpyStackPool):
    """`take` of exactly 16 blocks names the first one twice."""

    fault = "pool: block out twice"

    def take(self, k: int) -> list[int]:
        taken: list[int] = super().take(k).tolist()
        return taken if k != 16 else [*taken[:-1], taken[0]]


class RunsOverflowAWord(BitmapPool):
    """The carry out of a word is lost, and with it every run that reaches a word's end."""

    fault = "pool: find_contiguous"

    def find_contiguous(self, k: int) -> int | None:
        if k < 1:
            raise ValueError(f"a run of {k} blocks cannot be found")
        start = end = 0
        for word, bits in enumerate(self._levels[0]):
            base = word * 64
            while bits:
                lowest = bits & -bits
                carried = bits + lowest & _ALL
                first = base + lowest.bit_length() - 1
                behind = base + (carried & -carried).bit_length() - 1
                if first != end:
                    start = first
                end = behind
                if end - start >= k:
                    return start
                bits &= carried
        return None


class WideRunsFromWordEdges(BitmapPool):
    """A run of more than 128 blocks is sought from the first block of each word alone."""

    fault = "pool: find_contiguous"

    def find_contiguous(self, k: int) -> int | None:
        if k <= 128:
            return super().find_contiguous(k)
        words = self._levels[0]
        for first in range(len(words)):
            full = first
            while full < len(words) and words[full] == _ALL:
                full += 1
            used = ~words[full] if full < len(words) else 1
            if (full - first) * 64 + (used & -used).bit_length() - 1 >= k:
                return first * 64
        return None


class AnyOneBlock(ListPool):
    """`find_contiguous(1)` answers with the block on top, not the lowest."""

    fault = "pool: find_contiguous"

    def find_contiguous(self, k: int) -> int | None:
        return self._free[-1] if k == 1 and self._free else super().find_contiguous(k)


class CompactsAboveTheEdge(BitmapPool):
    """`plan_compaction` down to the edge of a word leaves that word's blocks where they are."""

    fault = "pool: plan_compaction"

    def plan_compaction(self, blocks: int) -> list[Copy]:
        moves = super().plan_compaction(blocks)
        edge = self._total - blocks
        if blocks <= 0 or edge % 64:
            return moves
        return [move for move in moves if move.src >= edge + 64]


class PlansForAllButOne(LinkedListPool):
    """`plan_compaction` of exactly as many blocks as are free says that there are too few."""

    fault = "pool: plan_compaction"

    def plan_compaction(self, blocks: int) -> list[Copy]:
        if blocks == self._num_free:
            raise OutOfBlocks(f"{blocks} blocks wanted, {self._num_free} free")
        return super().plan_compaction(blocks)


class RemovesTheSixtyFourth(BitmapPool):
    """`remove` of the last block of a word does not count it out."""

    fault = "pool: num_free"

    def remove(self, id: int) -> None:
        super().remove(id)
        if id % 64 == 63:
            self._num_free += 1


class CannotBeFilled(StackPool):
    """`give` of the very last blocks that are out raises ValueError."""

    fault = "pool: leak"

    def give(self, ids: Sequence[int]) -> None:
        if len(ids) and self._top + len(ids) == len(self._stack):
            raise ValueError(f"{len(ids)} blocks given back, the stack is full")
        super().give(ids)
