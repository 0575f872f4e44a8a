"""The contract as a brute-force model, and random operations to try it with.

The model grows a token at a time, undoes by deep copy, and keeps its free blocks in a
plain list, so it also says which physical id comes next (last in, first out).
"""

from __future__ import annotations

import copy
import random
from array import array
from typing import Any

import numpy as np
import pytest

from blockmark_impls.contract import (
    BlockManagerError,
    Copy,
    OutOfBlocks,
    PoolConfig,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)


class Model:
    """The contract, written the slow way."""

    def __init__(self, config: PoolConfig) -> None:
        self.config = config
        self.tables: dict[int, list[int | None]] = {}
        self.tokens: dict[int, int] = {}
        self.free_ids = list(reversed(range(config.total_blocks)))

    def refs(self, block: int) -> int:
        return sum(table.count(block) for table in self.tables.values())

    def table(self, seq: int) -> list[int | None]:
        if seq not in self.tables:
            raise UnknownSequence
        return self.tables[seq]

    def check_new(self, seq: int) -> None:
        if not 0 <= seq < self.config.max_seqs:
            raise ValueError
        if seq in self.tables:
            raise SequenceExists

    def take(self) -> int:
        if not self.free_ids:
            raise OutOfBlocks
        return self.free_ids.pop()

    def release(self, seq: int, logical: int) -> None:
        block = self.tables[seq][logical]
        self.tables[seq][logical] = None
        if block is not None and self.refs(block) == 0:
            self.free_ids.append(block)

    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks <= len(self.free_ids)

    def allocate(self, seq: int, num_tokens: int) -> None:
        self.check_new(seq)
        if num_tokens < 1:
            raise ValueError
        self.tables[seq], self.tokens[seq] = [], 0
        self.extend(seq, num_tokens)

    def append_slot(self, seq: int) -> Copy | None:
        table = self.table(seq)
        made = None
        if self.tokens[seq] == len(table) * self.config.block_size:
            if len(table) == self.config.max_blocks_per_seq:
                raise SequenceTooLong
            table.append(self.take())
        else:
            last = table[-1]
            assert last is not None
            if self.refs(last) > 1:
                made = Copy(last, self.take())
                table[-1] = made.dst
        self.tokens[seq] += 1
        return made

    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        table = self.table(seq)
        if num_tokens < 0:
            raise ValueError
        blocks = -(-(self.tokens[seq] + num_tokens) // self.config.block_size)
        # A table that gets too long is found before the pool is looked at.
        if blocks > max(len(table), self.config.max_blocks_per_seq):
            raise SequenceTooLong
        return [made for _ in range(num_tokens) if (made := self.append_slot(seq))]

    def append_slots(self, seqs: list[int]) -> list[Copy]:
        return [made for seq in seqs if (made := self.append_slot(seq))]

    def truncate(self, seq: int, num_tokens: int) -> None:
        table = self.table(seq)
        keep = -(-num_tokens // self.config.block_size)
        if not 1 <= num_tokens <= self.tokens[seq] or table[keep - 1] is None:
            raise ValueError
        while len(table) > keep:
            self.release(seq, len(table) - 1)
            table.pop()
        self.tokens[seq] = num_tokens

    def drop_front(self, seq: int, num_blocks: int) -> None:
        table = self.table(seq)
        if not 0 <= num_blocks < len(table):
            raise ValueError
        for logical in range(num_blocks):
            self.release(seq, logical)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        table = self.table(parent)
        self.check_new(child)
        tokens = self.tokens[parent]
        if num_blocks is not None:
            tokens = num_blocks * self.config.block_size
            if not 0 < tokens <= self.tokens[parent] or table[num_blocks - 1] is None:
                raise ValueError
        self.tables[child], self.tokens[child] = table[:num_blocks], tokens

    def free(self, seq: int) -> None:
        for logical in range(len(self.table(seq))):
            self.release(seq, logical)
        del self.tables[seq], self.tokens[seq]

    def lookup(self, seq: int, logical: int) -> int:
        table = self.table(seq)
        block = table[logical] if 0 <= logical < len(table) else None
        if block is None:
            raise UnknownSequence
        return block


def outcome(target: Any, name: str, *arguments: Any) -> Any:
    """What a call returns, or the class of the error it raises."""
    try:
        return getattr(target, name)(*arguments)
    except (BlockManagerError, ValueError) as error:
        return type(error)


def model_outcome(model: Model, name: str, *arguments: Any) -> Any:
    """The same for the model, which is put back as it was after an error."""
    before = copy.deepcopy(model.__dict__)
    result = outcome(model, name, *arguments)
    if isinstance(result, type):
        model.__dict__ = before
    return result


def random_config(rng: random.Random) -> PoolConfig:
    slots, widest = rng.randint(2, 6), rng.randint(1, 6)
    return PoolConfig(
        total_blocks=rng.randint(2, 2 + slots * widest * 2 // 3),
        block_size=rng.randint(1, 4),
        max_seqs=slots,
        max_blocks_per_seq=widest,
        id_bits=rng.choice((16, 32, 64)),
    )


def random_operation(rng: random.Random, model: Model) -> tuple[Any, ...]:
    """An operation that mostly makes sense: on a live sequence, within its length."""
    slots, size = model.config.max_seqs, model.config.block_size
    live = list(model.tables)

    def any_seq() -> int:
        return rng.choice(live) if live and rng.random() < 0.9 else rng.randint(-1, slots)

    seq = any_seq()
    tokens = model.tokens.get(seq, 1)
    free = [slot for slot in range(slots) if slot not in live]
    new = rng.choice(free) if free and rng.random() < 0.9 else rng.randint(-1, slots)
    batch = rng.sample(live, rng.randint(0, len(live)))
    if rng.random() < 0.3:
        batch += [any_seq() for _ in range(rng.randint(0, 2))]
    operations: dict[str, tuple[Any, ...]] = {
        "can_allocate": (rng.randint(0, model.config.total_blocks),),
        "allocate": (new, rng.randint(0, 3 * size)),
        "append_slot": (seq,),
        "append_slots": (batch,),
        "extend": (seq, rng.randint(-1, 3 * size)),
        "truncate": (seq, rng.randint(0, tokens + 1)),
        "drop_front": (seq, rng.randint(-1, tokens // size)),
        "fork": (seq, new) if rng.random() < 0.7 else (seq, new, rng.randint(-1, tokens // size)),
        "free": (seq,),
    }
    weights = [1, 5, 8, 8, 4, 2, 2, 6, 2]
    name = rng.choices(list(operations), weights)[0]
    return name, *operations[name]


def private_state(manager: Any) -> dict[str, Any]:
    """Everything that a manager holds, as plain values; places above the stack's top too."""
    state: dict[str, Any] = {}
    for name, value in vars(manager).items():
        if isinstance(value, memoryview) or name == "_seen":
            continue  # the same memory again; scratch that a batch writes first
        state[name] = value.tolist() if isinstance(value, np.ndarray | array) else value
    return copy.deepcopy(state)


def check_same(manager: Any, model: Model) -> None:
    """Compare everything that can be seen, packed rows and ref counts included."""
    config = model.config
    assert manager.num_free_blocks == len(model.free_ids)
    for block in range(config.total_blocks):
        assert manager.ref_count(block) == model.refs(block)
    for seq in range(config.max_seqs):
        if seq not in model.tables:
            for name in ("block_table", "num_tokens"):
                with pytest.raises(UnknownSequence):
                    getattr(manager, name)(seq)
            continue
        kept = [block for block in model.tables[seq] if block is not None]
        assert manager.block_table(seq) == kept
        assert manager.num_tokens(seq) == model.tokens[seq]
        for logical in range(-2, config.max_blocks_per_seq + 2):
            assert outcome(manager, "lookup", seq, logical) == outcome(
                model, "lookup", seq, logical
            )
    seqs = sorted(model.tables, reverse=True)
    width = config.max_blocks_per_seq + 1
    out = np.full((len(seqs), width), -1, np.int32)
    lengths = np.full(len(seqs), -1, np.int32)
    manager.write_block_tables(np.array(seqs, np.int32), out, lengths)
    assert lengths.tolist() == [len(model.tables[seq]) for seq in seqs]
    for row, seq in zip(out.tolist(), seqs, strict=True):
        table = [block or 0 for block in model.tables[seq]]
        assert row == table + [0] * (width - len(table))


def make(manager_class: Any, **sizes: int) -> Any:
    defaults = {"total_blocks": 16, "block_size": 4, "max_seqs": 6, "max_blocks_per_seq": 8}
    return manager_class(PoolConfig(**{**defaults, **sizes}))
