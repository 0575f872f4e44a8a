"""The Python managers and pools, held against a brute-force model of the contract.

The model grows a token at a time, undoes by deep copy, and keeps its free blocks in a
plain list, so it also says which physical id comes next (last in, first out).
"""

from __future__ import annotations

import copy
import random
import subprocess
import sys
from array import array
from collections import Counter
from typing import Any

import numpy as np
import pytest

from blockmark_impls.contract import (
    BlockManager,
    BlockManagerError,
    BlockPool,
    Copy,
    OutOfBlocks,
    PoolConfig,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
    missing_operations,
)
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.null import NullManager, NullPool
from blockmark_impls.python.stack_pool import StackPool
from blockmark_impls.python.stack_pool_numpy import NumpyStackPool
from blockmark_impls.python.vector import VectorManager

MANAGERS = [HashMapManager, VectorManager, FlatStackManager, FlatStackNumpyManager]
FLAT = [FlatStackManager, FlatStackNumpyManager]
POOLS = [ListPool, StackPool, NumpyStackPool]
each_manager = pytest.mark.parametrize("manager_class", MANAGERS)
each_flat = pytest.mark.parametrize("manager_class", FLAT)
each_pool = pytest.mark.parametrize("pool_class", POOLS)


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


@each_manager
def test_agrees_with_the_model(manager_class: Any) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for seed in range(120):
        rng = random.Random(seed)
        config = random_config(rng)
        manager, model = manager_class(config), Model(config)
        for number in range(60):
            name, *arguments = random_operation(rng, model)
            theirs = arguments
            if name == "append_slots":
                if not hasattr(manager, name):
                    continue
                theirs = [np.array(arguments[0], np.int32)]
            before = private_state(manager)
            expected = model_outcome(model, name, *arguments)
            got = outcome(manager, name, *theirs)
            what = f"seed {seed}, operation {number}: {name}{tuple(arguments)}"
            assert got == expected, what
            if isinstance(got, type):
                assert private_state(manager) == before, what
                seen[name, got.__name__] += 1
            else:
                seen[name, "copy" if isinstance(got, list | Copy) and got else "ok"] += 1
            check_same(manager, model)
    # A run that met none of these would prove nothing.
    growing = ["append_slot", "extend"]
    growing += ["append_slots"] * hasattr(manager_class, "append_slots")
    for name in growing:
        for result in ("ok", "copy", "OutOfBlocks", "SequenceTooLong", "UnknownSequence"):
            assert seen[name, result] >= 5, (name, result)
    for name in ("allocate", "truncate", "drop_front", "fork"):
        assert min(seen[name, "ok"], seen[name, "ValueError"]) >= 20, name
    for name in ("allocate", "fork"):
        assert seen[name, "SequenceExists"] >= 10, name


def make(manager_class: Any, **sizes: int) -> Any:
    defaults = {"total_blocks": 16, "block_size": 4, "max_seqs": 6, "max_blocks_per_seq": 8}
    return manager_class(PoolConfig(**{**defaults, **sizes}))


@each_manager
def test_has_the_whole_contract(manager_class: Any) -> None:
    operations = [name for name in vars(BlockManager) if not name.startswith("_")]
    assert len(operations) > 15
    assert missing_operations(manager_class, operations) == []
    assert manager_class.reuse_order == "LIFO"
    assert manager_class.profile.letters == "R"
    assert make(manager_class).usable_blocks == 16


@each_manager
def test_ids_in_last_in_first_out_order(manager_class: Any) -> None:
    manager = make(manager_class)
    manager.allocate(0, 9)
    manager.allocate(1, 4)
    assert manager.block_table(0) == [0, 1, 2]
    assert manager.block_table(1) == [3]
    manager.free(0)  # 0, 1, 2 go back in this order: 2 lies on top
    manager.allocate(2, 8)
    assert manager.block_table(2) == [2, 1]
    manager.extend(1, 8)
    assert manager.block_table(1) == [3, 0, 4]
    manager.truncate(1, 1)  # 4 first, then 0
    manager.allocate(3, 9)
    assert manager.block_table(3) == [0, 4, 5]
    manager.drop_front(3, 2)  # 0 first, then 4
    manager.allocate(4, 5)
    assert manager.block_table(4) == [4, 0]


@each_manager
def test_a_lone_sequence_never_copies(manager_class: Any) -> None:
    manager = make(manager_class)
    manager.allocate(0, 1)
    assert [manager.append_slot(0) for _ in range(31)] == [None] * 31
    assert manager.block_table(0) == list(range(8))


@each_manager
@pytest.mark.parametrize("forks", [1, 2, 5])
def test_all_holders_but_the_last_copy(manager_class: Any, forks: int) -> None:
    manager = make(manager_class)
    manager.allocate(0, 6)
    for child in range(1, forks + 1):
        manager.fork(0, child)
    assert manager.ref_count(0) == manager.ref_count(1) == forks + 1
    made = [manager.append_slot(seq) for seq in range(forks + 1)]
    assert made == [Copy(1, 2 + i) for i in range(forks)] + [None]
    assert manager.ref_count(0) == forks + 1
    assert [manager.ref_count(1 + i) for i in range(forks + 1)] == [1] * (forks + 1)
    assert [manager.lookup(seq, 1) for seq in range(forks + 1)] == [*range(2, forks + 2), 1]


@each_manager
def test_a_shared_full_block_is_not_copied(manager_class: Any) -> None:
    manager = make(manager_class)
    manager.allocate(0, 8)
    manager.fork(0, 1)
    assert manager.append_slot(1) is None
    assert manager.block_table(1) == [0, 1, 2]
    # Cut back into a shared block, the next append must copy it.
    manager.truncate(1, 7)
    assert manager.num_free_blocks == 14
    assert manager.append_slot(1) == Copy(1, 2)


@each_manager
def test_a_prefix_is_shared_by_full_blocks(manager_class: Any) -> None:
    manager = make(manager_class)
    manager.allocate(0, 11)
    manager.fork(0, 1, 2)
    assert manager.num_tokens(1) == 8
    assert [manager.ref_count(block) for block in range(3)] == [2, 2, 1]
    for bad in (0, -1, 3):
        with pytest.raises(ValueError, match="num_blocks"):
            manager.fork(0, 2, bad)
    manager.drop_front(0, 2)
    with pytest.raises(ValueError, match="num_blocks"):
        manager.fork(0, 2, 2)  # only dropped ones
    manager.fork(0, 2)
    assert manager.block_table(2) == [2]
    assert manager.num_tokens(2) == 11
    manager.free(0)
    assert [manager.ref_count(block) for block in range(3)] == [1, 1, 1]


@each_manager
def test_dropped_blocks_cannot_be_looked_up(manager_class: Any) -> None:
    manager = make(manager_class)
    manager.allocate(0, 16)
    manager.drop_front(0, 2)
    manager.drop_front(0, 1)  # already gone
    for logical in (0, 1, 4, -1):
        with pytest.raises(UnknownSequence):
            manager.lookup(0, logical)
    assert [manager.lookup(0, logical) for logical in (2, 3)] == [2, 3]
    assert manager.num_tokens(0) == 16
    assert manager.num_free_blocks == 14
    for bad in (-1, 4):
        with pytest.raises(ValueError, match="num_blocks"):
            manager.drop_front(0, bad)
    with pytest.raises(ValueError, match="dropped"):
        manager.truncate(0, 8)  # would keep only dropped ones
    manager.truncate(0, 9)
    assert manager.block_table(0) == [2]


@each_manager
def test_a_negative_sequence_is_not_counted_from_the_end(manager_class: Any) -> None:
    manager = make(manager_class)
    manager.allocate(5, 4)
    # In a flat table the second names the last row, were the sequence not checked.
    for logical in (0, 6 * 8):
        with pytest.raises(UnknownSequence):
            manager.lookup(-1, logical)
    for name in ("append_slot", "free", "num_tokens", "block_table"):
        with pytest.raises(UnknownSequence):
            getattr(manager, name)(-1)
    assert manager.lookup(5, 0) == 0


@each_manager
def test_errors_come_in_a_fixed_order(manager_class: Any) -> None:
    """The sequence first, then the argument, then the table's length, then the pool."""
    manager = make(manager_class, total_blocks=3, max_blocks_per_seq=2)
    manager.allocate(0, 8)
    cases: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (SequenceExists, "allocate", (0, 0)),
        (ValueError, "allocate", (1, 0)),
        (SequenceTooLong, "allocate", (1, 9)),
        (OutOfBlocks, "allocate", (1, 8)),
        (ValueError, "allocate", (6, 1)),
        (ValueError, "allocate", (-1, 1)),
        (SequenceTooLong, "append_slot", (0,)),
        (UnknownSequence, "append_slot", (1,)),
        (UnknownSequence, "append_slot", (6,)),
        (UnknownSequence, "append_slot", (-1,)),
        (UnknownSequence, "extend", (1, -1)),
        (ValueError, "extend", (0, -1)),
        (SequenceTooLong, "extend", (0, 100)),
        (UnknownSequence, "truncate", (1, 0)),
        (UnknownSequence, "drop_front", (1, -1)),
        (UnknownSequence, "fork", (1, 0)),
        (SequenceExists, "fork", (0, 0, 99)),
        (ValueError, "fork", (0, 6)),
        (ValueError, "ref_count", (3,)),
        (ValueError, "ref_count", (-1,)),
        (UnknownSequence, "free", (1,)),
        (UnknownSequence, "free", (-1,)),
        (UnknownSequence, "lookup", (-1, 0)),
        (UnknownSequence, "lookup", (6, 0)),
    ]
    before = private_state(manager)
    for error, name, arguments in cases:
        with pytest.raises(error) as caught:
            getattr(manager, name)(*arguments)
        assert caught.type is error, (name, arguments)
        assert str(caught.value)
        assert private_state(manager) == before


@each_manager
def test_exhaustion_leaves_the_state(manager_class: Any) -> None:
    manager = make(manager_class, total_blocks=2)
    manager.allocate(0, 7)
    manager.fork(0, 1)
    before = private_state(manager)
    assert not manager.can_allocate(1)
    for name, arguments in (("append_slot", (1,)), ("extend", (1, 1)), ("extend", (0, 9))):
        with pytest.raises(OutOfBlocks):
            getattr(manager, name)(*arguments)
        assert private_state(manager) == before
    manager.free(1)
    assert manager.append_slot(0) is None


@each_manager
@pytest.mark.parametrize("name", ["total_blocks", "block_size", "max_seqs", "max_blocks_per_seq"])
def test_sizes_must_be_positive(manager_class: Any, name: str) -> None:
    for bad in (0, -3):
        with pytest.raises(ValueError, match=f"{name} = {bad} must be at least 1"):
            make(manager_class, **{name: bad})


@each_flat
def test_a_pool_of_65536_blocks_uses_every_16_bit_id(manager_class: Any) -> None:
    manager = make(manager_class, total_blocks=65_536, max_blocks_per_seq=32_768, max_seqs=2)
    for seq in (0, 1):
        manager.allocate(seq, 32_768 * 4)
    assert manager.block_table(0) == list(range(32_768))
    assert manager.lookup(1, 32_767) == 65_535
    assert manager.num_free_blocks == 0
    out = np.zeros((1, 32_768), np.int32)
    manager.write_block_tables(np.array([1], np.int32), out, np.zeros(1, np.int32))
    assert out[0].tolist() == list(range(32_768, 65_536))
    with pytest.raises(ValueError, match=r"65,537 is more than uint16 ids can number"):
        make(manager_class, total_blocks=65_537)
    with pytest.raises(ValueError, match="id_bits = 8 must be 16, 32 or 64"):
        make(manager_class, id_bits=8)


@each_flat
@pytest.mark.parametrize("id_bits", [32, 64])
def test_wider_ids_go_beyond_16_bits(manager_class: Any, id_bits: int) -> None:
    manager = make(
        manager_class, total_blocks=70_000, max_blocks_per_seq=70_000, max_seqs=2, id_bits=id_bits
    )
    manager.allocate(0, 69_999 * 4)
    manager.fork(0, 1)
    assert manager.lookup(1, 69_998) == 69_998
    assert manager.append_slot(1) is None
    assert manager.lookup(1, 69_999) == 69_999
    assert manager.ref_count(65_536) == 2
    manager.free(0)
    assert manager.num_free_blocks == 0
    assert manager.table_bytes() >= 2 * 70_000 * id_bits // 8


@each_flat
def test_flat_memory_does_not_grow(manager_class: Any) -> None:
    manager = make(manager_class, total_blocks=64)
    before = manager.table_bytes(), manager.pool_bytes()
    for seq in range(6):
        manager.allocate(seq, 30)
    assert (manager.table_bytes(), manager.pool_bytes()) == before


@pytest.mark.parametrize("manager_class", [HashMapManager, VectorManager])
def test_growing_memory_moves_from_the_pool_to_the_tables(manager_class: Any) -> None:
    manager = make(manager_class, total_blocks=1_000, max_blocks_per_seq=500, block_size=1)
    table, pool = manager.table_bytes(), manager.pool_bytes()
    manager.allocate(0, 500)
    # An entry is at least a pointer, beside its int object.
    assert manager.table_bytes() >= table + 500 * (8 + 28)
    assert manager.pool_bytes() <= pool - 500 * 28


@each_manager
def test_write_block_tables_refuses_what_does_not_fit(manager_class: Any) -> None:
    manager = make(manager_class)
    manager.allocate(0, 12)
    manager.allocate(2, 4)
    out = np.full((2, 3), -1, np.int32)
    lengths = np.full(2, -1, np.int32)
    for bad in (1, -1, 6):
        with pytest.raises(UnknownSequence):
            manager.write_block_tables(np.array([0, bad], np.int32), out, lengths)
    with pytest.raises(ValueError, match="wider"):
        manager.write_block_tables(np.array([2, 0], np.int32), out[:, :2], lengths)
    with pytest.raises(ValueError, match="rows"):
        manager.write_block_tables(np.array([0], np.int32), out, lengths)
    assert out.tolist() == [[-1] * 3] * 2
    manager.write_block_tables(np.array([2, 0], np.int32), out, lengths)
    assert out.tolist() == [[3, 0, 0], [0, 1, 2]]
    assert lengths.tolist() == [1, 3]
    # One sequence named twice, and none.
    manager.write_block_tables(np.array([0, 0], np.int32), out, lengths)
    assert out.tolist() == [[0, 1, 2]] * 2
    manager.write_block_tables(np.zeros(0, np.int32), out[:0], lengths[:0])


@each_manager
def test_packing_reaches_an_output_that_is_a_part_of_a_larger_array(manager_class: Any) -> None:
    manager = make(manager_class)
    manager.allocate(0, 12)
    whole = np.full((3, 6), -1, np.int32)
    manager.write_block_tables(np.zeros(1, np.int32), whole[1:2, 1:5], np.zeros(1, np.int32))
    assert whole.tolist() == [[-1] * 6, [-1, 0, 1, 2, 0, -1], [-1] * 6]


def test_append_slots_copies_within_one_batch() -> None:
    """Blocks in batch order, for boundaries and copies alike; the last holders keep theirs."""
    batch, loop = (make(FlatStackNumpyManager, max_seqs=8, total_blocks=32) for _ in range(2))
    seqs = [3, 0, 6, 1, 4, 2]
    for manager in (batch, loop):
        manager.allocate(0, 6)
        manager.fork(0, 1)
        manager.fork(0, 2)
        manager.allocate(3, 8)  # at a boundary
        manager.allocate(4, 2)
        manager.fork(4, 5)  # not in the batch, so 4 must copy
        manager.allocate(6, 3)
    copies = [made for seq in seqs if (made := loop.append_slot(seq))]
    assert batch.append_slots(np.array(seqs, np.int32)) == copies
    assert copies == [Copy(1, 7), Copy(1, 8), Copy(4, 9)]
    assert private_state(batch) == private_state(loop)


def test_append_slots_stops_at_the_first_that_cannot() -> None:
    manager = make(FlatStackNumpyManager, total_blocks=4)
    for seq in (0, 1, 2):
        manager.allocate(seq, 4)
    before = private_state(manager)
    for seqs, error in (
        ([0, 1], OutOfBlocks),
        ([0, 5, 1], UnknownSequence),
        ([0, 1, 5], OutOfBlocks),
        ([-1], UnknownSequence),
        ([6], UnknownSequence),
        ([0] * 33, OutOfBlocks),  # more than there are slots, one named twice
    ):
        with pytest.raises(error):
            manager.append_slots(np.array(seqs, np.int32))
        assert private_state(manager) == before
    assert manager.append_slots(np.array([0, 0, 0], np.int32)) == []
    assert manager.num_tokens(0) == 7
    assert manager.append_slots(np.zeros(0, np.int32)) == []


def test_lookup_slots_checks_every_pair() -> None:
    manager = make(FlatStackNumpyManager)
    manager.allocate(0, 12)
    manager.allocate(2, 8)
    manager.drop_front(2, 1)
    out = np.full(3, -1, np.int32)
    for seq, logical in ((0, 3), (0, -1), (1, 0), (2, 0), (-1, 0), (6, 0), (0, 8)):
        with pytest.raises(UnknownSequence, match=f"sequence {seq} has no block {logical}"):
            manager.lookup_slots(
                np.array([0, seq, 2], np.int32), np.array([0, logical, 1], np.int32), out
            )
        assert out.tolist() == [-1, -1, -1]
    manager.lookup_slots(np.array([2, 0, 0], np.int32), np.array([1, 2, 0], np.int32), out)
    assert out.tolist() == [4, 2, 0]


@each_pool
def test_pool_is_last_in_first_out(pool_class: Any) -> None:
    pool = pool_class(6)
    assert missing_operations(pool, [n for n in vars(BlockPool) if n[0] != "_"]) == []
    first = pool.take(3)
    assert list(first) == [0, 1, 2]
    second = pool.take(1)
    pool.give(first)
    pool.give(second)
    assert pool.num_free == 6
    assert list(pool.take(6)) == [3, 2, 1, 0, 4, 5]
    assert list(first) == [0, 1, 2]  # what was handed out is the caller's own
    assert list(pool.take(0)) == []
    with pytest.raises(OutOfBlocks):
        pool.take(1)
    pool.give([5, 0])
    with pytest.raises(OutOfBlocks):
        pool.take(3)
    with pytest.raises(ValueError, match="cannot take -1"):
        pool.take(-1)
    assert pool.num_free == 2
    assert pool.pool_bytes() > 0
    with pytest.raises(ValueError, match="total_blocks = 0"):
        pool_class(0)


@pytest.mark.parametrize("pool_class", [StackPool, NumpyStackPool])
def test_a_preallocated_pool_never_grows(pool_class: Any) -> None:
    pool = pool_class(3)
    pool.take(1)
    with pytest.raises(ValueError, match="2 blocks given back, 1 are out"):
        pool.give([0, 1])
    assert pool.num_free == 2
    assert list(pool.take(2)) == [1, 2]


def test_numpy_pool_id_widths() -> None:
    pool = NumpyStackPool(65_536, id_bits=16)
    pool.give(pool.take(65_536))
    assert int(pool.take(1)[0]) + 1 == 65_536  # no wrap in the caller's arithmetic
    assert pool.pool_bytes() == 2 * 65_536
    with pytest.raises(ValueError, match="uint16"):
        NumpyStackPool(65_537, id_bits=16)


def test_null_answers_with_nothing() -> None:
    manager = make(NullManager)
    operations = [name for name in vars(BlockManager) if not name.startswith("_")]
    assert missing_operations(manager, [*operations, "append_slots", "lookup_slots"]) == []
    assert manager.append_slot(99) is None
    assert manager.lookup(99, 7) == 7
    assert manager.can_allocate(10**9)
    assert manager.num_free_blocks == 16
    pool = NullPool(4)
    pool.give(pool.take(9))
    assert pool.num_free == 4


@pytest.mark.parametrize("module", ["hash_map", "vector", "flat_stack", "list_pool", "null"])
def test_runs_without_numpy(module: str) -> None:
    """A measured process imports only what it measures with."""
    code = f"import sys, blockmark_impls.python.{module}; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
