"""A manager that is put together of a pool object, table objects and block objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from blockmark_impls.contract import (
    Copy,
    OutOfBlocks,
    PoolConfig,
    Profile,
    ReuseOrder,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.sizes import check_sizes


class _Block:
    """A physical block and how many tables name it."""

    __slots__ = ("id", "readers")

    def __init__(self, id: int) -> None:
        self.id = id
        self.readers = 1


class _Table:
    """The blocks of a sequence, None where they were dropped, and its tokens."""

    __slots__ = ("blocks", "tokens")

    def __init__(self, blocks: list[_Block | None], tokens: int) -> None:
        self.blocks = blocks
        self.tokens = tokens

    @property
    def kept(self) -> list[_Block]:
        return [block for block in self.blocks if block is not None]

    @property
    def last(self) -> _Block:
        block = self.blocks[-1]
        assert block is not None
        return block


class ComposedOfParts:
    """Tables of block objects over a pool; all of it in slots."""

    right = "objects for tables and blocks, and slots"
    reuse_order: ClassVar[ReuseOrder] = "LIFO"
    profile: ClassVar[Profile] = Profile(id_type="object")
    pool_class: ClassVar[Any] = ListPool
    __slots__ = ("_config", "_pool", "_tables", "_used")

    def __init__(self, config: PoolConfig) -> None:
        check_sizes(config, "int object")
        self._config = config
        self._pool = self.pool_class(config.total_blocks)
        self._tables: dict[int, _Table] = {}
        self._used: dict[int, _Block] = {}

    @property
    def usable_blocks(self) -> int:
        return self._config.total_blocks

    @property
    def num_free_blocks(self) -> int:
        return int(self._pool.num_free)

    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks <= self._pool.num_free

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._check_new(seq)
        if num_tokens < 1:
            raise ValueError(f"num_tokens = {num_tokens}")
        self._tables[seq] = _Table(self._take(0, self._blocks_for(num_tokens)), num_tokens)

    def append_slot(self, seq: int) -> Copy | None:
        return next(iter(self.extend(seq, 1)), None)

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        table = self._table(seq)
        if num_tokens < 0:
            raise ValueError(f"num_tokens = {num_tokens}")
        more = self._blocks_for(table.tokens + num_tokens) - len(table.blocks)
        last, partly = table.last, table.tokens % self._config.block_size > 0
        copies = last.readers > 1 and partly and num_tokens > 0
        taken = self._take(len(table.blocks), more + copies, copies)
        made = []
        if copies:
            last.readers -= 1
            table.blocks[-1] = taken.pop(0)
            made.append(Copy(last.id, table.last.id))
        table.blocks += taken
        table.tokens += num_tokens
        return made

    def truncate(self, seq: int, num_tokens: int) -> None:
        table, keep = self._table(seq), self._blocks_for(num_tokens)
        if not 1 <= num_tokens <= table.tokens or table.blocks[keep - 1] is None:
            raise ValueError(f"num_tokens = {num_tokens}")
        self._give(table.blocks[: keep - 1 : -1])
        del table.blocks[keep:]
        table.tokens = num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        table = self._table(seq)
        if not 0 <= num_blocks < len(table.blocks):
            raise ValueError(f"num_blocks = {num_blocks}")
        self._give(table.blocks[:num_blocks])
        table.blocks[:num_blocks] = [None] * num_blocks

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        table = self._table(parent)
        self._check_new(child)
        blocks, tokens, size = table.blocks, table.tokens, self._config.block_size
        if num_blocks is not None:
            if not 1 <= num_blocks <= tokens // size or blocks[num_blocks - 1] is None:
                raise ValueError(f"num_blocks = {num_blocks}")
            blocks, tokens = blocks[:num_blocks], num_blocks * size
        self._tables[child] = forked = _Table(list(blocks), tokens)
        for block in forked.kept:
            block.readers += 1

    def free(self, seq: int) -> None:
        self._give(self._table(seq).blocks)
        del self._tables[seq]

    def lookup(self, seq: int, logical: int) -> int:
        blocks = self._table(seq).blocks
        block = blocks[logical] if 0 <= logical < len(blocks) else None
        if block is None:
            raise UnknownSequence(f"sequence {seq} has no block {logical}")
        return block.id

    def ref_count(self, block: int) -> int:
        if not 0 <= block < self._config.total_blocks:
            raise ValueError(f"block {block}")
        return self._used[block].readers if block in self._used else 0

    def num_tokens(self, seq: int) -> int:
        return self._table(seq).tokens

    def block_table(self, seq: int) -> list[int]:
        return [block.id for block in self._table(seq).kept]

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        tables = [self._table(seq).blocks for seq in seqs.tolist()]
        if len(out) != len(tables) or any(len(blocks) > out.shape[1] for blocks in tables):
            raise ValueError(f"out has shape {out.shape}")
        out[:] = 0
        for row, blocks in enumerate(tables):
            out[row, : len(blocks)] = [0 if block is None else block.id for block in blocks]
            lengths[row] = len(blocks)

    def table_bytes(self) -> int:
        return 64 * len(self._tables) + 8 * sum(len(t.blocks) for t in self._tables.values())

    def pool_bytes(self) -> int:
        return int(self._pool.pool_bytes()) + 64 * len(self._used)

    def _blocks_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self._config.block_size)

    def _check_new(self, seq: int) -> None:
        if not 0 <= seq < self._config.max_seqs:
            raise ValueError(f"{seq} is no slot")
        if seq in self._tables:
            raise SequenceExists(f"sequence {seq}")

    def _table(self, seq: int) -> _Table:
        if seq not in self._tables:
            raise UnknownSequence(f"sequence {seq}")
        return self._tables[seq]

    def _take(self, long: int, count: int, copies: bool = False) -> list[_Block | None]:
        if long + count - copies > self._config.max_blocks_per_seq:
            raise SequenceTooLong(f"{long + count - copies} blocks")
        if count > self._pool.num_free:
            raise OutOfBlocks(f"{count} blocks")
        taken = [_Block(id) for id in self._pool.take(count)]
        self._used.update((block.id, block) for block in taken)
        return list(taken)

    def _give(self, blocks: Iterable[_Block | None]) -> None:
        for block in blocks:
            if block is not None:
                block.readers -= 1
                if not block.readers:
                    self._pool.give([block.id])
                    del self._used[block.id]


class ComposedOfNodes(ComposedOfParts):
    """The same over a linked list, so that the block that was free the longest is next."""

    right = "a pool of another order in the same manager"
    reuse_order: ClassVar[ReuseOrder] = "FIFO"
    pool_class: ClassVar[Any] = LinkedListPool
