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
    """A sequence: its tokens, the block of each logical index, and the first one kept.

    What stands in `blocks` before `first_kept` was dropped.
    """

    tokens: int
    blocks: list[int] = field(default_factory=list)
    first_kept: int = 0

    @property
    def kept(self) -> list[int]:
        """The blocks that were not dropped, in logical order."""
        return self.blocks[self.first_kept :]


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
        self._check_new(seq)
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
        done: list[tuple[Table, int, Copy | None]] = []
        try:
            for seq in seqs:
                length = len(self.tables[seq].blocks) if seq in self.tables else 0
                made = self.append_slot(seq)
                done.append((self.tables[seq], length, made))
        except BlockManagerError:
            for table, length, made in reversed(done):
                self._undo_append(table, length, made)
            raise
        return [made for *_, made in done if made]

    def _undo_append(self, table: Table, length: int, made: Copy | None) -> None:
        table.tokens -= 1
        if made:
            table.blocks[-1] = made.src
            self.ref_counts[made.src] += 1
            del self.ref_counts[made.dst]
        elif len(table.blocks) > length:
            del self.ref_counts[table.blocks.pop()]

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        """More tokens; the shared last block is copied if it is written."""
        table = self._table(seq)
        if num_tokens < 0:
            raise ValueError("num_tokens")
        blocks = self.blocks_for(table.tokens + num_tokens)
        last = table.blocks[-1]
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
            self._release(table.blocks.pop())
        table.tokens = num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        """Give back blocks behind a sliding window."""
        table = self._table(seq)
        if not 0 <= num_blocks < len(table.blocks):
            raise ValueError("num_blocks")
        for block in table.blocks[table.first_kept : num_blocks]:
            self._release(block)
        table.first_kept = max(table.first_kept, num_blocks)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        """Share a whole table, or a prefix of full blocks."""
        table = self._table(parent)
        self._check_new(child)
        tokens, blocks = table.tokens, list(table.blocks)
        if num_blocks is not None:
            full = table.tokens // self.config.block_size
            if not 1 <= num_blocks <= full or num_blocks <= table.first_kept:
                raise ValueError("num_blocks")
            tokens, blocks = num_blocks * self.config.block_size, blocks[:num_blocks]
        self.tables[child] = shared = Table(tokens, blocks, table.first_kept)
        for block in shared.kept:
            self.ref_counts[block] += 1

    def free(self, seq: int) -> None:
        """End a sequence."""
        for block in self._table(seq).kept:
            self._release(block)
        del self.tables[seq]

    def lookup(self, seq: int, logical: int) -> int:
        """The block at a logical index."""
        table = self._table(seq)
        if not table.first_kept <= logical < len(table.blocks):
            raise UnknownSequence(f"sequence {seq} has no block {logical}")
        return table.blocks[logical]

    def lookup_slots(self, seqs: Sequence[int], logicals: Sequence[int]) -> list[int]:
        """The blocks at each pair."""
        return [self.lookup(seq, logical) for seq, logical in zip(seqs, logicals, strict=True)]

    def write_block_tables(self, seqs: Sequence[int]) -> list[Table]:
        """The tables of `seqs`, of which a manager makes rows."""
        return [self._table(seq) for seq in seqs]

    def _table(self, seq: int) -> Table:
        if seq not in self.tables:
            raise UnknownSequence(f"sequence {seq}")
        return self.tables[seq]

    def _check_new(self, seq: int) -> None:
        if not 0 <= seq < self.config.max_seqs:
            raise ValueError(f"sequence {seq} is no slot")
        if seq in self.tables:
            raise SequenceExists(f"sequence {seq}")

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
