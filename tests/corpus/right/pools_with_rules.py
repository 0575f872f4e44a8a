"""Free pools with a promise or a limit of their own, and of orders that have no name."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar

from blockmark_impls.contract import OutOfBlocks, ReuseOrder
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool


class RefusesWhatIsNotOut(ListPool):
    """What is given is looked up in the set of what is out before anything changes."""

    right = "double gives are refused"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"
    refuses_double_give = True

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._out: set[int] = set()

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        self._out.update(taken)
        return taken

    def give(self, ids: Sequence[int]) -> None:
        given = set(ids)
        if len(given) < len(ids) or not given <= self._out:
            raise ValueError(f"{list(ids)} name a block that is not out, or one twice")
        self._out -= given
        super().give(ids)


class RefusesByItsLinks(LinkedListPool):
    """A node that is linked is free, and is refused."""

    right = "double gives are refused, by the nodes' links"
    refuses_double_give = True

    def give(self, ids: Sequence[int]) -> None:
        named = set()
        for block in ids:
            node = self._nodes[block] if 0 <= block < len(self._nodes) else None
            if node is None or node.next is not node or block in named:
                raise ValueError(f"block {block} is not out")
            named.add(block)
        super().give(ids)


class RefusesByItsBits(BitmapPool):
    """A bit that is set is a free block, and is refused."""

    right = "double gives are refused, by the bitmap"
    refuses_double_give = True

    def give(self, ids: Sequence[int]) -> None:
        words = self._levels[0]
        wrong = [b for b in ids if not 0 <= b < self._total or words[b >> 6] >> (b & 63) & 1]
        if wrong or len(set(ids)) < len(ids):
            raise ValueError(f"{wrong or list(ids)} cannot be given back")
        super().give(ids)


class ShuffledStack(StackPool):
    """A stack that is shuffled before anything is taken."""

    right = "last in, first out, from a stack that was shuffled"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        random.Random(11).shuffle(self._stack)


class TwoStacks:
    """Even and odd blocks lie on a stack each; the higher stack is taken from."""

    right = "an order that has no name"
    reuse_order: ClassVar[ReuseOrder] = "unspecified"

    def __init__(self, total_blocks: int) -> None:
        self._stacks = [list(range(0, total_blocks, 2)), list(range(1, total_blocks, 2))]

    def take(self, k: int) -> list[int]:
        if k < 0:
            raise ValueError(f"cannot take {k} blocks")
        if k > self.num_free:
            raise OutOfBlocks(f"{k} blocks wanted, {self.num_free} free")
        return [max(self._stacks, key=len).pop() for _ in range(k)]

    def give(self, ids: Sequence[int]) -> None:
        for block in ids:
            self._stacks[block % 2].append(block)

    @property
    def num_free(self) -> int:
        return sum(map(len, self._stacks))


class WholeWords(BitmapPool):
    """A pool has whole words of 64 blocks."""

    right = "pools of a multiple of 64 blocks"

    def __init__(self, total_blocks: int) -> None:
        if total_blocks % 64:
            raise ValueError("total_blocks must be a multiple of 64")
        super().__init__(total_blocks)


class PlainNumbers:
    """Its free count is an attribute, and its blocks are taken from the highest down."""

    right = "an attribute where there is a property"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"

    def __init__(self, total_blocks: int) -> None:
        self._stack = list(range(total_blocks))
        self.num_free = total_blocks

    def take(self, k: int) -> list[int]:
        if k < 0:
            raise ValueError(f"cannot take {k} blocks")
        if k > self.num_free:
            raise OutOfBlocks(f"{k} blocks wanted, {self.num_free} free")
        self.num_free -= k
        return [self._stack.pop() for _ in range(k)]

    def give(self, ids: Sequence[int]) -> None:
        self._stack.extend(ids)
        self.num_free += len(ids)
