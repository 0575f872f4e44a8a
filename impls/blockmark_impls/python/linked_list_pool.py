"""A free pool that is a doubly linked list with an object for every block."""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING, ClassVar

from ..contract import OutOfBlocks, ReuseOrder
from . import free_runs
from .sizes import check_total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contract import Copy


class _Node:
    """A block, with the links of the free list in it; to itself while it is taken."""

    __slots__ = ("block", "next", "prev")

    def __init__(self, block: int) -> None:
        self.block = block
        self.next = self
        self.prev = self


class LinkedListPool:
    """Taken from the head, given to the tail (FIFO), removed from the middle in O(1).

    The shape that engines in Python have: the objects live as long as the pool, so that a
    block on its way in or out changes links and allocates nothing.
    """

    reuse_order: ClassVar[ReuseOrder] = "FIFO"

    def __init__(self, total_blocks: int) -> None:
        check_total(total_blocks, "int object")
        self._nodes = [_Node(block) for block in range(total_blocks)]
        self._head, self._tail = _Node(-1), _Node(-1)
        before = self._head
        for node in self._nodes:
            before.next, node.prev = node, before
            before = node
        before.next, self._tail.prev = self._tail, before
        self._num_free = total_blocks

    def take(self, k: int) -> list[int]:
        """Take `k` blocks. Raises OutOfBlocks, and ValueError if `k` is negative."""
        if k < 0:
            raise ValueError(f"cannot take {k} blocks")
        if k > self._num_free:
            raise OutOfBlocks(f"{k} blocks wanted, {self._num_free} free")
        self._num_free -= k
        taken = []
        node = self._head.next
        for _ in range(k):
            taken.append(node.block)
            after = node.next
            node.next = node.prev = node
            node = after
        self._head.next, node.prev = node, self._head
        return taken

    def give(self, ids: Sequence[int]) -> None:
        """Give blocks back; the first one named is the first of them to be taken again."""
        nodes = self._nodes
        last = self._tail.prev
        for block in ids:
            node = nodes[block]
            last.next, node.prev = node, last
            last = node
        last.next, self._tail.prev = self._tail, last
        self._num_free += len(ids)

    def remove(self, id: int) -> None:
        """Take one block out of the middle. Raises ValueError if it is not free."""
        node = self._nodes[id] if 0 <= id < len(self._nodes) else None
        if node is None or node.next is node:
            raise ValueError(f"block {id} is not free")
        node.prev.next, node.next.prev = node.next, node.prev
        node.next = node.prev = node
        self._num_free -= 1

    def find_contiguous(self, k: int) -> int | None:
        """The lowest block from which on `k` are free, or None; sorts the free ids first."""
        return free_runs.lowest_run(self._free_ids(), k)

    def plan_compaction(self, blocks: int) -> list[Copy]:
        """As `free_runs.plan_compaction`, of the free ids in a list."""
        return free_runs.plan_compaction(self._free_ids(), len(self._nodes), blocks)

    @property
    def num_free(self) -> int:
        """The number of free blocks."""
        return self._num_free

    def pool_bytes(self) -> int:
        """Bytes of the list of nodes, the nodes, and an int object in each."""
        each = getsizeof(self._head) + getsizeof(1 << 16)
        return getsizeof(self._nodes) + len(self._nodes) * each

    def _free_ids(self) -> list[int]:
        ids = []
        node = self._head.next
        while node is not self._tail:
            ids.append(node.block)
            node = node.next
        return ids
