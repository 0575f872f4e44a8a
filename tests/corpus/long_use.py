"""Faults that come after thousands of calls: counters, tombstones, and hooks."""

from __future__ import annotations

from collections.abc import Iterable

from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class ProbesPastTombstones(VectorManager):
    """Sequences are hashed into 4,096 places; one that ended leaves a mark that nothing reuses."""

    fault = "late"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._places: list[int | None] = [None] * 4096

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        place = self._place_of(seq, None)
        if place is None:
            super().free(seq)
            raise OutOfBlocks("there is no place for a sequence")
        self._places[place] = seq

    def free(self, seq: int) -> None:
        super().free(seq)
        place = self._place_of(seq, seq)
        if place is not None:  # a child of `fork` has none
            self._places[place] = -1

    def _place_of(self, seq: int, mark: int | None) -> int | None:
        if self._max_seqs > 2048:
            return 0
        places, start = self._places, seq * 37
        steps = ((start + step) % len(places) for step in range(len(places)))
        return next((place for place in steps if places[place] == mark), None)


class EveryThousandthTruncate(FlatStackManager):
    """Every thousandth `truncate` that gives blocks back loses one of them."""

    fault = "late"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._truncates = 0

    def truncate(self, seq: int, num_tokens: int) -> None:
        top = self._top
        super().truncate(seq, num_tokens)
        if self._top > top:
            self._truncates += 1
            self._top -= self._truncates % 1000 == 0


class EveryThousandthCopy(HashMapManager):
    """Every thousandth copy that `append_slot` makes is not named."""

    fault = "late"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._made = 0

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        self._made += made is not None
        return None if made and self._made % 1000 == 0 else made


class EveryTwoThousandthDrop(VectorManager):
    """Every two thousandth `drop_front` that drops blocks gives the first one back twice."""

    fault = "late"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._drops = 0

    def drop_front(self, seq: int, num_blocks: int) -> None:
        free = len(self._free)
        super().drop_front(seq, num_blocks)
        if len(self._free) > free:
            self._drops += 1
            if self._drops % 2000 == 0:
                self._free.append(self._free[free])


class OwnersInSixteenBits(TwoLevelManager):
    """Owners are numbered in sixteen bits, 0 is nobody: the 65,536th allocation takes nothing."""

    fault = "late"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._owners = 0

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        self._owners = (self._owners + 1) & 0xFFFF
        if not self._owners:
            self.free(seq)


class HundredThousandTokens(FlatStackManager):
    """The 100,000th token of all that `append_slot` makes room for is not counted."""

    fault = "late"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._tokens = 0

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        self._tokens = (self._tokens + 1) % 100_000
        self._room[seq] += not self._tokens
        return made


class HooksUponHooks(VectorManager):
    """`free` hangs a hook behind those before it, until their calls are too deep for Python."""

    fault = "late"

    def free(self, seq: int) -> None:
        super().free(seq)
        before = self._give

        def hooked(blocks: Iterable[int]) -> None:
            before(blocks)

        self._give = hooked  # type: ignore[method-assign]
