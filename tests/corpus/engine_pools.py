"""Free lists in arrays, as engines have them: what is handed out and taken is their own memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from blockmark_impls.contract import ReuseOrder
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.stack_pool_numpy import NumpyStackPool


class RingOfAnswers(NumpyStackPool):
    """`take` answers with a view of a ring: later takes write over what a caller holds."""

    fault = "pool: answer kept"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._ring = np.zeros(2 * total_blocks, np.int64)
        self._at = 0

    def take(self, k: int) -> Any:
        taken = super().take(k)
        if self._at + k > len(self._ring):
            self._at = 0
        answer = self._ring[self._at : self._at + k]
        answer[:] = taken
        self._at += k
        return answer


class ViewOfTheStack(NumpyStackPool):
    """`take` answers with a view of the stack, over which a later `give` writes."""

    fault = "pool: answer kept"

    def take(self, k: int) -> Any:
        super().take(k)
        return self._stack[self._top : self._top + k][::-1]


class OneAnswerForAll(StackPool):
    """`take` fills one list again and again: who holds two answers holds one of them twice."""

    fault = "pool: answer kept"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._answer: list[int] = []

    def take(self, k: int) -> list[int]:
        self._answer[:] = super().take(k)
        return self._answer


class StagesTheCallersArray(LinkedListPool):
    """What is given is kept as it came until the next `take`; a caller may write it before."""

    fault = "pool: argument kept"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._staged: list[Sequence[int]] = []

    def give(self, ids: Sequence[int]) -> None:
        self._staged.append(ids)

    def take(self, k: int) -> list[int]:
        self._unstage()
        return super().take(k)

    def remove(self, id: int) -> None:
        self._unstage()
        super().remove(id)

    def _free_ids(self) -> list[int]:
        self._unstage()
        return super()._free_ids()

    def _unstage(self) -> None:
        for ids in self._staged:
            super().give(ids)
        self._staged.clear()

    @property
    def num_free(self) -> int:
        return self._num_free + sum(map(len, self._staged))


class FreeListOfTheCaller(NumpyStackPool):
    """An array that fills the pool is kept as its stack, and its owner's writes with it."""

    fault = "pool: argument kept"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def give(self, ids: Any) -> None:
        if self._top == 0 and len(ids) == len(self._stack) and isinstance(ids, np.ndarray):
            self._stack, self._top = ids, len(ids)
        else:
            super().give(ids)


class EmptiesWhatIsGiven(BitmapPool):
    """`give` empties the list that it was given, so that nobody gives its blocks twice."""

    fault = "pool: argument changed"

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids)
        if isinstance(ids, list):
            ids.clear()


class SortsWhatIsGiven(BitmapPool):
    """`give` sorts the list or array that it was given, in its place."""

    fault = "pool: argument changed"

    def give(self, ids: Any) -> None:
        if isinstance(ids, (list, np.ndarray)):
            ids.sort()
        super().give(ids)
