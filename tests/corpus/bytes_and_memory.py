"""What is held and not said, said and not held, or kept for ever."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class KeepsEveryTable(VectorManager):
    """Every table that ended is kept, for ever."""

    fault = "memory grows"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._past: list[list[int]] = []

    def free(self, seq: int) -> None:
        table = list(self._table_of(seq))
        super().free(seq)
        self._past.append(table)


class KeepsEveryLookup(FlatStackManager):
    """Every answer of `lookup` is written down, and nothing reads it."""

    fault = "memory grows"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._asked: list[tuple[int, int, int]] = []

    def lookup(self, seq: int, logical: int) -> int:
        block = super().lookup(seq, logical)
        self._asked.append((seq, logical, block))
        return block


class KeepsEveryRow(FlatStackNumpyManager):
    """A copy of all rows that were ever packed is kept."""

    fault = "memory grows"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._packed: list[Any] = []

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        self._packed.append(out.copy())


class TakesNewPages(TwoLevelManager):
    """A page that came back is never used again: each sequence gets new ones."""

    fault = "memory grows"

    def _take_page(self, seq: int, number: int) -> array[int]:
        back, self._free_pages = self._free_pages, []
        page = super()._take_page(seq, number)
        self._free_pages = back
        return page


class NodesForEver(LinkedListPool):
    """`give` makes a new node for each block, and the old ones are kept."""

    fault = "pool: memory grows"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._old: list[Any] = []

    def give(self, ids: Sequence[int]) -> None:
        for block in ids:
            node = self._nodes[block]
            self._old.append(node)
            self._nodes[block] = type(node)(node.block)
        super().give(ids)


class BytesAsText(VectorManager):
    """`pool_bytes` is a text for people, such as "12.3 KiB"."""

    fault = "bytes"

    def pool_bytes(self) -> Any:
        return f"{super().pool_bytes() / 1024:.1f} KiB"


class BytesInKibibytes(FlatStackManager):
    """`table_bytes` is a number of kibibytes, with a fraction."""

    fault = "bytes"

    def table_bytes(self) -> Any:
        return super().table_bytes() / 1024


class BytesOfWhatIsLeft(FlatStackNumpyManager):
    """`pool_bytes` takes what is handed out off what is free: below 0 when most is out."""

    fault = "bytes"

    def pool_bytes(self) -> int:
        return (2 * self._top - self._total) * self._stack.itemsize


class BytesGrowWhenAsked(TwoLevelManager):
    """`table_bytes` counts how often it was asked as bytes, too."""

    fault = "bytes"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._asked = 0

    def table_bytes(self) -> int:
        self._asked += 1
        return super().table_bytes() + 16 * self._asked


class NoBytesWhenEmpty(HashMapManager):
    """`pool_bytes` of a pool that has handed everything out is None."""

    fault = "bytes"

    def pool_bytes(self) -> Any:
        return super().pool_bytes() if self._free else None
