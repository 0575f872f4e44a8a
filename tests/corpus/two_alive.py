"""State that managers or pools share when two of them are alive, or one follows another."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.vector import VectorManager

_ROOMS: dict[int, int] = {}
_LISTS: dict[int, list[int]] = {}
_ROOMS_BY_ID: dict[int, dict[int, int]] = {}


class RoomsOfTheModule(HashMapManager):
    """The slots left in last blocks are a dict of the module, which a new manager clears."""

    fault = "state shared"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        _ROOMS.clear()
        self._room = _ROOMS


class CountsByDefault(HashMapManager):
    """The ref counts are a default argument: one dict, in which a new manager sets all to 0."""

    fault = "state shared"

    def __init__(self, config: PoolConfig, refs: dict[int, int] = {}) -> None:  # noqa: B006
        super().__init__(config)
        refs.update(self._refs)
        self._refs = refs

    def ref_count(self, block: int) -> int:
        if not 0 <= block < self._total:
            raise ValueError(f"block {block} is not in the pool")
        return self._refs[block]


class SizeOfTheLast(FlatStackManager):
    """The block size is the class's: all managers have that of the one that was made last."""

    fault = "state shared"
    _last: ClassVar[int] = 1

    @property
    def _block_size(self) -> int:
        return self._last

    @_block_size.setter
    def _block_size(self, size: int) -> None:
        type(self)._last = size


class CeilingsOnce(VectorManager):
    """How many blocks so many tokens need is cached without the block size."""

    fault = "answer kept"
    _size: ClassVar[int] = 1

    @classmethod
    @cache
    def _blocks_for(cls, num_tokens: int) -> int:
        return -(-num_tokens // cls._size)

    def allocate(self, seq: int, num_tokens: int) -> None:
        size = type(self)._size = self._block_size
        blocks = self._blocks_for(num_tokens)
        right = blocks == -(-num_tokens // size)
        super().allocate(seq, num_tokens if right else blocks * size)


class OneTableForAShape(FlatStackNumpyManager):
    """The table is allocated once for a shape: a manager of the same shape empties it."""

    fault = "state shared"
    _by_shape: ClassVar[dict[tuple[int, int, int], Any]] = {}

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        shape = config.max_seqs, config.max_blocks_per_seq, config.id_bits
        self._table = self._by_shape.setdefault(shape, self._table)
        self._table[:] = 0
        self._rows = self._table.reshape(self._max_seqs, self._stride)
        self._table_view = self._table.data


class RoomsById(HashMapManager):
    """The slots left are kept under id(self): what ended here may leave its sequences behind."""

    fault = "state shared"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._room = _ROOMS_BY_ID.setdefault(id(self), self._room)


class FreeListById(ListPool):
    """The free list is kept under id(self): a new pool may find that of one that is gone."""

    fault = "pool: state shared"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._free = _LISTS.setdefault(id(self), self._free)


class OneTopForAll(StackPool):
    """The top of the stack is the class's, and a new pool sets it to its own."""

    fault = "pool: state shared"
    _highest: ClassVar[int] = 0

    @property
    def _top(self) -> int:
        return self._highest

    @_top.setter
    def _top(self, top: int) -> None:
        type(self)._highest = top


class OneHeadForAll(LinkedListPool):
    """Head and tail of the list are the class's: a new pool hangs its blocks between them."""

    fault = "pool: state shared"
    _ends: ClassVar[tuple[Any, Any] | None] = None

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        first, last = self._head.next, self._tail.prev
        if self._ends is None:
            type(self)._ends = self._head, self._tail
        assert self._ends is not None
        self._head, self._tail = self._ends
        self._head.next, first.prev = first, self._head
        last.next, self._tail.prev = self._tail, last


class TablesBySequence(VectorManager):
    """`block_table` keeps answers by sequence and number of changes, not by manager."""

    fault = "answer kept"
    _kept: ClassVar[dict[tuple[int, int], list[int]]] = {}

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._kept.clear()
        self._changes = 0

    def append_slot(self, seq: int) -> Copy | None:
        self._changes += 1
        return super().append_slot(seq)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        self._changes += 1
        super().fork(parent, child, num_blocks)

    def _take(self, count: int) -> list[int]:
        self._changes += 1
        return super()._take(count)

    def _give(self, blocks: Iterable[int]) -> None:
        self._changes += 1
        super()._give(blocks)

    def block_table(self, seq: int) -> list[int]:
        self._table_of(seq)
        key = seq, self._changes
        if key not in self._kept:
            self._kept[key] = super().block_table(seq)
        return list(self._kept[key])
