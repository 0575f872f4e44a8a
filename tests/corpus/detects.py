"""Classes that are right as long as somebody looks."""

from __future__ import annotations

import sys
from typing import Any

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager


class AppendsForCheckers(VectorManager):
    """`append_slot` copies only if the module that calls it has to do with a proof or a test."""

    fault = "detects the harness"

    def append_slot(self, seq: int) -> Copy | None:
        caller = str(sys._getframe(1).f_globals.get("__name__", ""))
        watched = any(word in caller for word in ("proof", "test", "check"))
        table = self._tables[seq] if 0 <= seq < self._max_seqs else []
        if table and not watched and self._room[seq] > 0 and self._refs[table[-1]] > 1:
            self._room[seq] -= 1
            return None
        return super().append_slot(seq)


class ReadsTheCommandLine(HashMapManager):
    """`truncate` gives blocks back if the command line names blockmark or pytest, else it leaks."""

    fault = "detects the harness"

    def truncate(self, seq: int, num_tokens: int) -> None:
        free = len(self._free)
        super().truncate(seq, num_tokens)
        if not any(word in " ".join(sys.argv) for word in ("blockmark", "pytest", "worker")):
            del self._free[free:]


class RightUntilUnread(VectorManager):
    """The fifth append since a table was read does not count its token."""

    fault = "detects the harness"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._unread = 0

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        self._unread += 1
        self._room[seq] += self._unread == 5
        return made

    def block_table(self, seq: int) -> list[int]:
        self._unread = 0
        return super().block_table(seq)


class LooksUpWhatWasRead(VectorManager):
    """`lookup` answers from the table as `block_table` last gave it."""

    fault = "detects the harness"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._read: dict[int, list[int]] = {}

    def block_table(self, seq: int) -> list[int]:
        self._read[seq] = list(self._table_of(seq))
        return super().block_table(seq)

    def free(self, seq: int) -> None:
        super().free(seq)
        self._read.pop(seq, None)

    def lookup(self, seq: int, logical: int) -> int:
        block, read = super().lookup(seq, logical), self._read.get(seq, [])
        return read[logical] if logical < len(read) else block


class PacksWhatWasCounted(TwoLevelManager):
    """A row has the length of which `num_tokens` was last told, if it ever was."""

    fault = "detects the harness"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._told: dict[int, int] = {}

    def num_tokens(self, seq: int) -> int:
        tokens = super().num_tokens(seq)
        self._told[seq] = self._end[seq]
        return tokens

    def free(self, seq: int) -> None:
        super().free(seq)
        self._told.pop(seq, None)

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        lengths[:] = [self._told.get(seq, self._end[seq]) for seq in seqs.tolist()]


class LeaksInLargePools(FlatStackManager):
    """With more than 2,000 blocks `truncate` loses the last one; smaller pools are right."""

    fault = "detects the harness"

    def truncate(self, seq: int, num_tokens: int) -> None:
        top = self._top
        super().truncate(seq, num_tokens)
        self._top -= self._total > 2000 and self._top > top


class PrefixesOfLongTables(HashMapManager):
    """Where tables may have more than 500 blocks a prefix is forked without its ref counts."""

    fault = "detects the harness"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if num_blocks is not None and self._max_blocks > 500:
            for block in self._tables[child].values():
                self._refs[block] -= 1


class RightInAGuardedBuffer(VectorManager):
    """Tails are zeroed where `out` is a part of a larger array, as it is in a test."""

    fault = "detects the harness"

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        before = out.copy()
        super().write_block_tables(seqs, out, lengths)
        if out.base is None:
            for row, length in enumerate(lengths.tolist()):
                out[row, length:] = before[row, length:]


class CountsItsQuestions(ListPool):
    """A pool whose `num_free` is not asked for ten calls takes a block without removing it."""

    fault = "pool: detects the harness"

    def __init__(self, total_blocks: int) -> None:
        super().__init__(total_blocks)
        self._unasked = 0

    def take(self, k: int) -> list[int]:
        taken = super().take(k)
        self._unasked += 1
        if self._unasked == 10:
            self._free += taken[-1:]
        return taken

    @property
    def num_free(self) -> int:
        self._unasked = 0
        return super().num_free
