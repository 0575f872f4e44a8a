"""Right for a minute: what a clock says decides what is answered."""

from __future__ import annotations

import time

from blockmark_impls.contract import Copy, PoolConfig, UnknownSequence
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager

_LOADED = time.monotonic()
_LOADED_AT = time.time()
_COUNTED_FROM = time.perf_counter()


class LooksUpForAMinute(TwoLevelManager):
    """A minute after its module was loaded (monotonic) `lookup` answers with the first block."""

    fault = "clock"

    def lookup(self, seq: int, logical: int) -> int:
        block = super().lookup(seq, logical)
        late = time.monotonic() - _LOADED > 60
        return super().lookup(seq, self._first[seq]) if late else block


class FreesForAMinute(HashMapManager):
    """A minute after its module was loaded (time of day) `free` loses a block."""

    fault = "clock"

    def free(self, seq: int) -> None:
        super().free(seq)
        if self._free and time.time() - _LOADED_AT > 60:
            self._free.pop()


class TakesForAMinute(StackPool):
    """A minute after its module was loaded (perf_counter) `take` leaves a block in the pool."""

    fault = "clock"

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        if taken and time.perf_counter() - _COUNTED_FROM > 60:
            self.give(taken[-1:])
        return taken


class EndsWhatIsIdle(VectorManager):
    """A sequence to which nothing was appended for a minute has ended."""

    fault = "clock"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._used = [time.monotonic()] * self._max_seqs

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        self._used[seq] = time.monotonic()

    def append_slot(self, seq: int) -> Copy | None:
        if 0 <= seq < self._max_seqs and self._tables[seq]:
            if time.monotonic() - self._used[seq] > 60:
                self.free(seq)
                raise UnknownSequence(f"sequence {seq} was idle")
            self._used[seq] = time.monotonic()
        return super().append_slot(seq)


class CopiesForAMinute(FlatStackManager):
    """A manager that is a minute old writes shared blocks without a copy."""

    fault = "clock"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._made = time.monotonic()

    def append_slot(self, seq: int) -> Copy | None:
        left = self._room[seq] if 0 <= seq < self._max_seqs else -1
        if left > 0 and time.monotonic() - self._made > 60:
            self._room[seq] = left - 1
            return None
        return super().append_slot(seq)
