"""Managers that are put together oddly: as objects, as attributes, as containers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from blockmark_impls.contract import BlockManager, Copy, PoolConfig, Profile, ReuseOrder
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class TuplesForTables(HashMapManager):
    """`block_table` is a tuple."""

    right = "tables that are tuples"

    def block_table(self, seq: int) -> Any:
        return tuple(super().block_table(seq))


class HandsCallsOn:
    """It has no method of its own: each is that of the manager inside."""

    right = "every attribute by __getattr__"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"
    profile: ClassVar[Profile] = VectorManager.profile

    def __init__(self, config: PoolConfig) -> None:
        self._inside = VectorManager(config)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inside, name)


class HandsBatchesOn(HandsCallsOn):
    """So does it, and the manager inside has whole steps."""

    right = "every attribute by __getattr__, append_slots too"
    profile: ClassVar[Profile] = FlatStackNumpyManager.profile

    def __init__(self, config: PoolConfig) -> None:
        self._inside: Any = FlatStackNumpyManager(config)


@dataclass
class EqualByContents(FlatStackManager):
    """A dataclass: two of one configuration are equal, and none can be hashed."""

    right = "no hash, and an equality of its own"
    config: PoolConfig

    def __post_init__(self) -> None:
        FlatStackManager.__init__(self, self.config)


class EmptyIsFalse(VectorManager):
    """It is as long as it has sequences, and false while there is none."""

    right = "a length and a truth"

    def __len__(self) -> int:
        return sum(map(bool, self._tables))

    def __iter__(self) -> Any:
        return (seq for seq, table in enumerate(self._tables) if table)

    def __contains__(self, seq: int) -> bool:
        return 0 <= seq < self._max_seqs and bool(self._tables[seq])


class PlainAttributes:
    """What the contract has as properties are attributes that it writes."""

    right = "attributes where there are properties"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"
    profile: ClassVar[Profile] = VectorManager.profile

    def __init__(self, config: PoolConfig) -> None:
        inside = VectorManager(config)
        self.usable_blocks = self.num_free_blocks = config.total_blocks
        for name in ("can_allocate", "lookup", "ref_count", "num_tokens", "block_table"):
            setattr(self, name, getattr(inside, name))
        for name in ("write_block_tables", "table_bytes", "pool_bytes"):
            setattr(self, name, getattr(inside, name))
        for name in ("allocate", "append_slot", "extend", "truncate", "drop_front", "fork", "free"):
            setattr(self, name, self._counted(inside, getattr(inside, name)))

    def _counted(self, inside: VectorManager, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*operands: Any, **named: Any) -> Any:
            answer = call(*operands, **named)
            self.num_free_blocks = inside.num_free_blocks
            return answer

        return counted


class FromTheProtocol(TwoLevelManager, BlockManager):
    """It derives from the contract's own protocol as well."""

    right = "the protocol among its bases"


class PagesOfEight(TwoLevelManager):
    """Pages of eight ids."""

    right = "small pages"
    page_ids: ClassVar[int] = 8


class PagesOfThousands(PagesOfEight):
    """Pages of 4,096 ids, in a class below that of small pages."""

    right = "large pages"
    page_ids: ClassVar[int] = 4096


class RefusesNewAttributes(VectorManager):
    """It takes no attribute that it did not have when it was made."""

    right = "no new attributes"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, "_made") and not hasattr(self, name):
            raise AttributeError(f"there is no {name}")
        super().__setattr__(name, value)


class TablesNeverChange(VectorManager):
    """A table is made anew by each change: what was read of it stays as it was."""

    right = "a new table for each change"

    def append_slot(self, seq: int) -> Copy | None:
        if 0 <= seq < self._max_seqs:
            self._tables[seq] = list(self._tables[seq])
        return super().append_slot(seq)

    def _give(self, blocks: Iterable[int]) -> None:
        super()._give(tuple(blocks))
