"""The oracle: a plain reference model that says what the right answer is.

It is written for clarity alone. Its blocks are numbers of its own, never reused, so
that a checker has to find a renaming between them and an implementation's physical
ids; two tables that share a block by mistake can then not look right by luck.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from blockmark_impls.contract import (
    BlockManagerError,
    Copy,
    OutOfBlocks,
    PoolConfig,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Table:
    """A sequence: its tokens, and the block of each logical index (None: dropped)."""

    tokens: int
    blocks: list[int | None] = field(default_factory=list)

    @property
    def kept(self) -> list[int]:
        """The blocks that were not dropped, in logical order."""
        return [block for block in self.blocks if block is not None]

    @property
    def first_kept(self) -> int:
        """The first logical index that was not dropped."""
        return len(self.blocks) - len(self.kept)


class Oracle:
    """The contract's operations on `usable_blocks` blocks; see contract.py."""

    def __init__(self, config: PoolConfig, usable_blocks: int | None = None) -> None:
        self.config = config
        self.usable_blocks = config.total_blocks if usable_blocks is None else usable_blocks
        self.tables: dict[int, Table] = {}
        self.ref_counts: dict[int, int] = {}
        self.released: list[int] = []  # blocks that became free, for a checker to collect
        self._new_ids = count()

    @property
    def num_free_blocks(self) -> int:
        """Blocks that no table names."""
        return self.usable_blocks - len(self.ref_counts)

    def can_allocate(self, num_blocks: int) -> bool:
        """Whether that many blocks are free."""
        return num_blocks <= self.num_free_blocks

    def blocks_for(self, num_tokens: int) -> int:
        """ceil(num_tokens / block_size)."""
        return -(-num_tokens // self.config.block_size)

    def allocate(self, seq: int, num_tokens: int) -> None:
        """A new sequence with blocks of its own."""
        if seq in self.tables:
            raise SequenceExists(f"sequence {seq}")
        if num_tokens < 1:
            raise ValueError("num_tokens")
        blocks = self.blocks_for(num_tokens)
        self._check_room(blocks, blocks)
        self.tables[seq] = Table(num_tokens, [self._take() for _ in range(blocks)])

    def append_slot(self, seq: int) -> Copy | None:
        """One more token."""
        copies = self.extend(seq, 1)
        return copies[0] if copies else None

    def append_slots(self, seqs: Sequence[int]) -> list[Copy]:
        """One more token for each, in order, all or nothing."""
        tables = {seq: Table(t.tokens, list(t.blocks)) for seq, t in self.tables.items()}
        before = tables, dict(self.ref_counts)
        try:
            return [made for seq in seqs if (made := self.append_slot(seq))]
        except BlockManagerError:
            self.tables, self.ref_counts = before
            raise

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        """More tokens; the shared last block is copied if it is written."""
        table = self._table(seq)
        if num_tokens < 0:
            raise ValueError("num_tokens")
        blocks = self.blocks_for(table.tokens + num_tokens)
        last = table.blocks[-1]
        assert last is not None
        partly_filled = table.tokens % self.config.block_size != 0
        shared = num_tokens > 0 and partly_filled and self.ref_counts[last] > 1
        self._check_room(blocks, blocks - len(table.blocks) + shared)
        copies = []
        if shared:
            table.blocks[-1] = new = self._take()
            self.ref_counts[last] -= 1
            copies.append(Copy(last, new))
        while len(table.blocks) < blocks:
            table.blocks.append(self._take())
        table.tokens += num_tokens
        return copies

    def truncate(self, seq: int, num_tokens: int) -> None:
        """Fewer tokens."""
        table = self._table(seq)
        blocks = self.blocks_for(num_tokens)
        if not 1 <= num_tokens <= table.tokens or blocks <= table.first_kept:
            raise ValueError("num_tokens")
        while len(table.blocks) > blocks:
            last = table.blocks.pop()
            assert last is not None
            self._release(last)
        table.tokens = num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        """Give back blocks behind a sliding window."""
        table = self._table(seq)
        if not 0 <= num_blocks < len(table.blocks):
            raise ValueError("num_blocks")
        for logical in range(num_blocks):
            block = table.blocks[logical]
            if block is not None:
                table.blocks[logical] = None
                self._release(block)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        """Share a whole table, or a prefix of full blocks."""
        table = self._table(parent)
        if child in self.tables:
            raise SequenceExists(f"sequence {child}")
        tokens, blocks = table.tokens, list(table.blocks)
        if num_blocks is not None:
            full = table.tokens // self.config.block_size
            if not 1 <= num_blocks <= full or num_blocks <= table.first_kept:
                raise ValueError("num_blocks")
            tokens, blocks = num_blocks * self.config.block_size, blocks[:num_blocks]
        self.tables[child] = Table(tokens, blocks)
        for block in self.tables[child].kept:
            self.ref_counts[block] += 1

    def free(self, seq: int) -> None:
        """End a sequence."""
        for block in self._table(seq).kept:
            self._release(block)
        del self.tables[seq]

    def lookup(self, seq: int, logical: int) -> int:
        """The block at a logical index."""
        table = self._table(seq)
        if not 0 <= logical < len(table.blocks) or table.blocks[logical] is None:
            raise UnknownSequence(f"sequence {seq} has no block {logical}")
        block = table.blocks[logical]
        assert block is not None
        return block

    def lookup_slots(self, seqs: Sequence[int], logicals: Sequence[int]) -> list[int]:
        """The blocks at each pair."""
        return [self.lookup(seq, logical) for seq, logical in zip(seqs, logicals, strict=True)]

    def _table(self, seq: int) -> Table:
        if seq not in self.tables:
            raise UnknownSequence(f"sequence {seq}")
        return self.tables[seq]

    def _check_room(self, length: int, needed: int) -> None:
        if length > self.config.max_blocks_per_seq:
            raise SequenceTooLong(f"{length} blocks")
        if needed > self.num_free_blocks:
            raise OutOfBlocks(f"{needed} blocks")

    def _take(self) -> int:
        block = next(self._new_ids)
        self.ref_counts[block] = 1
        return block

    def _release(self, block: int) -> None:
        self.ref_counts[block] -= 1
        if self.ref_counts[block] == 0:
            del self.ref_counts[block]
            self.released.append(block)
