"""Sequences and blocks that are over and are used all the same."""

from __future__ import annotations

from blockmark_impls.contract import Copy, PoolConfig, UnknownSequence
from blockmark_impls.python.vector import VectorManager


class StaleCache(VectorManager):
    """`lookup` remembers answers and does not forget them when the sequence ends."""

    fault = "use after free"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._cache: dict[tuple[int, int], int] = {}

    def lookup(self, seq: int, logical: int) -> int:
        if (seq, logical) not in self._cache:
            self._cache[seq, logical] = super().lookup(seq, logical)
        return self._cache[seq, logical]


class LooksUpTruncated(VectorManager):
    """`lookup` still answers for the block behind the end of a truncated table."""

    fault = "use after free"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._cut: dict[tuple[int, int], int] = {}

    def truncate(self, seq: int, num_tokens: int) -> None:
        before = list(self._table_of(seq))
        super().truncate(seq, num_tokens)
        for logical in range(len(self._tables[seq]), len(before)):
            self._cut[seq, logical] = before[logical]

    def lookup(self, seq: int, logical: int) -> int:
        try:
            return super().lookup(seq, logical)
        except UnknownSequence:
            if (seq, logical) in self._cut:
                return self._cut[seq, logical]
            raise


class LooksUpDropped(VectorManager):
    """`lookup` of a dropped block answers 0 instead of raising."""

    fault = "use after free"

    def lookup(self, seq: int, logical: int) -> int:
        return self._table_of(seq)[logical] if logical == 0 else super().lookup(seq, logical)


class AppendRevives(VectorManager):
    """`append_slot` starts a sequence that does not exist."""

    fault = "use after free"

    def append_slot(self, seq: int) -> Copy | None:
        if not self._tables[seq]:
            self.allocate(seq, 1)
            return None
        return super().append_slot(seq)


class FreesTheUnknown(VectorManager):
    """`free` of a sequence that is over raises nothing."""

    fault = "use after free"

    def free(self, seq: int) -> None:
        if self._tables[seq]:
            super().free(seq)
