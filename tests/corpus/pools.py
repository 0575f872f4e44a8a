"""Free pools alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from blockmark_impls.contract import OutOfBlocks, ReuseOrder
from blockmark_impls.python.list_pool import ListPool


class PeeksInsteadOfTaking(ListPool):
    """`take` of one block leaves it in the pool."""

    fault = "pool: block out twice"

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        if k == 1:
            self._free += taken
        return taken


class GivesTwice(ListPool):
    """`give` puts the first block into the pool twice."""

    fault = "pool: block out twice"

    def give(self, ids: Sequence[int]) -> None:
        super().give([ids[0], *ids])


class SameBlockTwice(ListPool):
    """`take` of two blocks and more names the first one twice."""

    fault = "pool: block out twice"

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        return [taken[0], *taken[:-1]] if k > 1 else taken


class LosesTheLast(ListPool):
    """`give` of several blocks forgets the last one."""

    fault = "pool: leak"

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids[: max(1, len(ids) - 1)])


class StartsOneShort(ListPool):
    """A new pool has one block less than it was asked for."""

    fault = "pool: leak"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._free.pop(0)


class ExhaustionEmpties(ListPool):
    """`take` of too many blocks loses those there were."""

    fault = "pool: exhaustion"

    def take(self, k: int) -> list[int]:
        if k > len(self._free):
            self._free.clear()
        return super().take(k)


class ShortTake(ListPool):
    """`take` of too many blocks returns those there are."""

    fault = "pool: exhaustion"

    def take(self, k: int) -> list[int]:
        return super().take(min(k, len(self._free)))


class IndexErrorWhenEmpty(ListPool):
    """`take` of too many blocks raises IndexError."""

    fault = "pool: exhaustion"

    def take(self, k: int) -> list[int]:
        try:
            return super().take(k)
        except OutOfBlocks:
            raise IndexError("pop from an empty list") from None


class CountsFreeOnce(ListPool):
    """`num_free` is what it was when the pool was made."""

    fault = "pool: num_free"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._at_first = total_blocks

    @property
    def num_free(self) -> int:
        return self._at_first


class NumbersFromOne(ListPool):
    """Ids run from 1 to the total."""

    fault = "pool: id out of range"

    def take(self, k: int) -> list[int]:
        return [block + 1 for block in super().take(k)]

    def give(self, ids: Sequence[int]) -> None:
        super().give([block - 1 for block in ids])


class PoolOfSixteenBits(ListPool):
    """Ids are kept in 16 bits."""

    fault = "pool: 16-bit overflow"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._free = [block & 0xFFFF for block in self._free]


class QueueDeclaredAsStack(ListPool):
    """First in, first out, declared as LIFO."""

    fault = "pool: reuse order"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def give(self, ids: Sequence[int]) -> None:
        self._free[:0] = reversed(ids)


class LowestDeclared(ListPool):
    """Last in, first out, declared as the lowest id first."""

    fault = "pool: reuse order"
    reuse_order: ClassVar[ReuseOrder] = "lowest"


class RemovesNothing(ListPool):
    """`remove` leaves the block where it is, and counts it out."""

    fault = "pool: remove"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._removed = 0

    def remove(self, block: int) -> None:
        self._removed += 1

    @property
    def num_free(self) -> int:
        return len(self._free) - self._removed


class OneListForAll(ListPool):
    """All pools of a size have one free list."""

    fault = "pool: state shared"
    _lists: ClassVar[dict[int, list[int]]] = {}

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._free = self._lists.setdefault(total_blocks, self._free)
