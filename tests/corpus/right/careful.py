"""Managers that do more than is asked of them: they copy, collect, remember, lock and check."""

from __future__ import annotations

import gc
import logging
import threading
import warnings
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class CopiesEverything(FlatStackNumpyManager):
    """Every array that it is given, and every list that it hands out, is copied first."""

    right = "a copy of every array and list"

    def append_slots(self, seqs: Any) -> list[Copy]:
        return [Copy(*copy) for copy in super().append_slots(seqs.copy())]

    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        found = np.empty(len(seqs), np.int32)
        super().lookup_slots(seqs.copy(), logicals.copy(), found)
        out[:] = found.copy()

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        rows, sizes = out.copy(), lengths.copy()
        super().write_block_tables(seqs.copy(), rows, sizes)
        out[:], lengths[:] = rows.copy(), sizes.copy()

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        return [Copy(*copy) for copy in super().extend(seq, num_tokens)]

    def block_table(self, seq: int) -> list[int]:
        return list(super().block_table(seq))


class CollectsGarbage(VectorManager):
    """Each `free` collects the youngest garbage."""

    right = "garbage is collected by each free"

    def free(self, seq: int) -> None:
        super().free(seq)
        gc.collect(0)


class KeepsTheLastFew(HashMapManager):
    """The last 64 tables that ended are kept, to look at them."""

    right = "a history that is bounded"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._past: deque[tuple[int, ...]] = deque(maxlen=64)

    def free(self, seq: int) -> None:
        table = tuple(self.block_table(seq))
        super().free(seq)
        self._past.append(table)


class LocksEveryCall(FlatStackManager):
    """Calls that change something take a lock, as several threads would need it."""

    right = "a lock around calls"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._lock = threading.RLock()

    def allocate(self, seq: int, num_tokens: int) -> None:
        with self._lock:
            super().allocate(seq, num_tokens)

    def append_slot(self, seq: int) -> Copy | None:
        with self._lock:
            return super().append_slot(seq)

    def free(self, seq: int) -> None:
        with self._lock:
            super().free(seq)


class LogsAndCounts(TwoLevelManager):
    """Every tenth allocation is logged, and all are counted."""

    right = "a log and a counter"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self.allocations = 0

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        self.allocations += 1
        if self.allocations % 10 == 0:
            logging.getLogger("blockmark.right").debug("%d allocations", self.allocations)


class ChecksItself(VectorManager):
    """What is given back is looked at first, and the free count after it."""

    right = "assertions of its own"

    def _give(self, blocks: Iterable[int]) -> None:
        given, before = list(blocks), len(self._free)
        assert all(self._refs[block] > 0 for block in given)
        assert len(set(given)) == len(given)
        super()._give(given)
        assert before <= len(self._free) <= before + len(given) <= self._total + len(given)


class ClearsWhatIsGone(VectorManager):
    """Tables that end are cleared before they are let go, and so is the list read of them."""

    right = "what it lets go of is emptied"

    def free(self, seq: int) -> None:
        table = self._tables[seq] if 0 <= seq < self._max_seqs else []
        super().free(seq)
        table.clear()


class SilencesWarnings(HashMapManager):
    """A copy is made with warnings turned off, and they are as before after it."""

    right = "settings of the process that are put back"

    def append_slot(self, seq: int) -> Copy | None:
        if not self._room.get(seq):
            return super().append_slot(seq)
        if self._refs[self._tables[seq][self._blocks[seq] - 1]] == 1:
            return super().append_slot(seq)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().append_slot(seq)


class OwnRandomNumbers(FlatStackNumpyManager):
    """The stack is filled in an order that a generator of its own draws, and nobody else's."""

    right = "a random order at first"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        np.random.default_rng(5).shuffle(self._stack)
