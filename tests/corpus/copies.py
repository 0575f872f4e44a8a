"""Copy-on-write that is missing, needless, or of the wrong block."""

from __future__ import annotations

from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.vector import VectorManager


class NeverCopies(VectorManager):
    """A shared last block is written without a copy."""

    fault = "copy-on-write"

    def append_slot(self, seq: int) -> Copy | None:
        table = self._tables[seq]
        if table and self._room[seq] > 0 and self._refs[table[-1]] > 1:
            self._room[seq] -= 1
            return None
        return super().append_slot(seq)


class ExtendNeverCopies(VectorManager):
    """`extend` writes a shared last block without a copy; `append_slot` is right."""

    fault = "copy-on-write"

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        table = self._table_of(seq)
        if 0 < num_tokens <= self._room[seq] and self._refs[table[-1]] > 1:
            self._room[seq] -= num_tokens
            return []
        return super().extend(seq, num_tokens)


class CopiesFullBlocks(VectorManager):
    """A shared last block is copied although it is full and will not be written."""

    fault = "copy-on-write"

    def append_slot(self, seq: int) -> Copy | None:
        table = self._tables[seq]
        if table and self._room[seq] == 0 and self._refs[table[-1]] > 1 and len(self._free) > 1:
            src, dst = table[-1], self._free.pop()
            self._refs[src] -= 1
            self._refs[dst] = 1
            table[-1] = dst
            super().append_slot(seq)
            return Copy(src, dst)
        return super().append_slot(seq)


class CopiesByNumber(VectorManager):
    """A copy is made in the second logical block, whatever its ref count."""

    fault = "copy-on-write"

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        table = self._tables[seq]
        return made or (Copy(table[0], table[1]) if len(table) == 2 else None)


class CopiesBackwards(VectorManager):
    """The copy that is named goes from the new block to the old one."""

    fault = "copy-on-write"

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        return Copy(made.dst, made.src) if made else None


class CopiesForTheLastHolder(VectorManager):
    """The last holder of a block that was once shared copies it, at a ref count of 1."""

    fault = "copy-on-write"

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._was_shared = [False] * self._total

    def append_slot(self, seq: int) -> Copy | None:
        table = self._tables[seq]
        if table and self._refs[table[-1]] > 1:
            self._was_shared[table[-1]] = True
        elif table and self._room[seq] > 0 and self._was_shared[table[-1]] and self._free:
            src = table[-1]
            self._refs[src] += 1
            made = super().append_slot(seq)
            self._refs[src] = 0
            self._free.append(src)
            self._was_shared[src] = False
            return made
        return super().append_slot(seq)


class CopiesInSilence(VectorManager):
    """The copy is made and not returned."""

    fault = "copy-on-write"

    def append_slot(self, seq: int) -> Copy | None:
        super().append_slot(seq)
        return None


class CopiesTheFirstBlock(VectorManager):
    """The copy that is named comes from the first block of the table."""

    fault = "copy-on-write"

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        return Copy(self.block_table(seq)[0], made.dst) if made else None
