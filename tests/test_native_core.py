"""The compiled managers and pools against a small model that is written here.

The model simulates the pool as well, so physical ids must agree exactly, not only up to
renaming.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import pytest

from blockmark_impls.contract import (
    Copy,
    OutOfBlocks,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)

native = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

COMBINATIONS = [row[:4] for row in native.combinations()]
Id = tuple[str, str, str, int]


def names(combination: Id) -> str:
    return "-".join(map(str, combination))


class Model:
    """The contract, with the pool's order: LIFO takes the last given, FIFO the first, next-fit
    the one that follows the last taken, by number and around the end.
    """

    def __init__(self, total: int, block_size: int, max_seqs: int, widest: int, order: str) -> None:
        self.block_size, self.max_seqs, self.widest = block_size, max_seqs, widest
        self.lifo, self.by_number = order == "LIFO", order == "next-fit"
        self.last = -1
        self.pool: deque[int] = deque(range(total) if not self.lifo else reversed(range(total)))
        self.refs = [0] * total
        self.tokens: dict[int, int] = {}
        self.blocks: dict[int, list[int | None]] = {}

    def take(self) -> int:
        if self.by_number:
            block = min(self.pool, key=lambda free: (free <= self.last, free))
            self.pool.remove(block)
            self.last = block
        else:
            block = self.pool.pop() if self.lifo else self.pool.popleft()
        self.refs[block] = 1
        return block

    def release(self, block: int | None) -> None:
        assert block is not None
        self.refs[block] -= 1
        if self.refs[block] == 0:
            self.pool.append(block)

    def live(self, seq: int) -> list[int | None]:
        if seq not in self.blocks:
            raise UnknownSequence
        return self.blocks[seq]

    def unused(self, seq: int) -> None:
        if not 0 <= seq < self.max_seqs:
            raise ValueError
        if seq in self.blocks:
            raise SequenceExists

    def ceil(self, tokens: int) -> int:
        return -(-tokens // self.block_size)

    def need(self, length: int, blocks: int) -> None:
        if length > self.widest:
            raise SequenceTooLong
        if blocks > len(self.pool):
            raise OutOfBlocks

    def allocate(self, seq: int, tokens: int) -> None:
        self.unused(seq)
        if tokens < 1:
            raise ValueError
        self.need(self.ceil(tokens), self.ceil(tokens))
        self.blocks[seq] = [self.take() for _ in range(self.ceil(tokens))]
        self.tokens[seq] = tokens

    def append_slot(self, seq: int) -> Copy | None:
        copies = self.extend(seq, 1)
        return copies[0] if copies else None

    def extend(self, seq: int, tokens: int) -> list[Copy]:
        blocks = self.live(seq)
        if tokens < 0:
            raise ValueError
        last, filled = blocks[-1], self.tokens[seq] % self.block_size
        assert last is not None
        copies = [last] if tokens > 0 and filled and self.refs[last] > 1 else []
        end = self.ceil(self.tokens[seq] + tokens)
        self.need(end, end - len(blocks) + len(copies))
        made = [Copy(old, self.take()) for old in copies]
        for copy in made:
            self.refs[copy.src] -= 1
            blocks[-1] = copy.dst
        blocks += [self.take() for _ in range(end - len(blocks))]
        self.tokens[seq] += tokens
        return made

    def truncate(self, seq: int, tokens: int) -> None:
        blocks = self.live(seq)
        kept = self.ceil(tokens)
        if not 1 <= tokens <= self.tokens[seq] or blocks[kept - 1] is None:
            raise ValueError
        while len(blocks) > kept:
            self.release(blocks.pop())
        self.tokens[seq] = tokens

    def drop_front(self, seq: int, count: int) -> None:
        blocks = self.live(seq)
        if not 0 <= count < len(blocks):
            raise ValueError
        for i in range(count):
            if blocks[i] is not None:
                self.release(blocks[i])
                blocks[i] = None

    def fork(self, parent: int, child: int, count: int | None = None) -> None:
        blocks = self.live(parent)
        self.unused(child)
        tokens = self.tokens[parent]
        if count is not None:
            if not 1 <= count <= tokens // self.block_size or blocks[count - 1] is None:
                raise ValueError
            tokens = count * self.block_size
        self.blocks[child] = blocks[: self.ceil(tokens)]
        self.tokens[child] = tokens
        for block in self.blocks[child]:
            if block is not None:
                self.refs[block] += 1

    def free(self, seq: int) -> None:
        for block in self.live(seq):
            if block is not None:
                self.release(block)
        del self.blocks[seq], self.tokens[seq]

    def lookup(self, seq: int, logical: int) -> int:
        blocks = self.live(seq)
        block = blocks[logical] if 0 <= logical < len(blocks) else None
        if block is None:
            raise UnknownSequence
        return block


def random_call(rng: random.Random, model: Model) -> tuple[str, tuple[int | None, ...]]:
    """An operation and its arguments; some make no sense on purpose."""
    seq = rng.randint(-1, model.max_seqs)
    if model.tokens and rng.random() < 0.8:
        seq = rng.choice(list(model.tokens))
    child = rng.randint(-1, model.max_seqs)
    tokens, size = model.tokens.get(seq, 1), model.block_size
    calls: dict[str, tuple[int, tuple[int | None, ...]]] = {
        "allocate": (4, (child, rng.randint(0, (model.widest + 1) * size))),
        "append_slot": (8, (seq,)),
        "extend": (6, (seq, rng.randint(-1, 3 * size))),
        "truncate": (4, (seq, rng.randint(0, tokens + 1))),
        "drop_front": (2, (seq, rng.randint(-1, model.ceil(tokens)))),
        "fork": (6, (seq, child, rng.choice([None, None, rng.randint(0, model.widest)]))),
        "free": (3, (seq,)),
        "lookup": (4, (seq, rng.randint(-1, model.widest))),
    }
    name = rng.choices(list(calls), [weight for weight, _ in calls.values()])[0]
    return name, calls[name][1]


def outcome(call: Any, arguments: tuple[int | None, ...]) -> object:
    """What a call returns, or the type of its error."""
    try:
        return call(*arguments)
    except (OutOfBlocks, SequenceTooLong, UnknownSequence, SequenceExists, ValueError) as error:
        return type(error)


def assert_same_state(manager: Any, model: Model) -> None:
    assert manager.num_free_blocks == len(model.pool)
    assert [manager.ref_count(block) for block in range(len(model.refs))] == model.refs
    for seq in range(model.max_seqs):
        if seq in model.blocks:
            kept = [block for block in model.blocks[seq] if block is not None]
            assert manager.block_table(seq) == kept
            assert manager.num_tokens(seq) == model.tokens[seq]
        else:
            with pytest.raises(UnknownSequence):
                manager.num_tokens(seq)


def assert_same_rows(manager: Any, model: Model) -> None:
    seqs = np.array(list(model.blocks), dtype=np.int32)
    out = np.full((len(seqs), model.widest + 2), -7, dtype=np.int32)
    lengths = np.full(len(seqs), -7, dtype=np.int32)
    manager.write_block_tables(seqs, out, lengths)
    for row, length, seq in zip(out.tolist(), lengths.tolist(), seqs.tolist(), strict=True):
        blocks = [block or 0 for block in model.blocks[seq]]
        assert length == len(blocks)
        assert row == blocks + [0] * (model.widest + 2 - len(blocks))


@pytest.mark.parametrize("combination", COMBINATIONS, ids=names)
def test_every_combination_agrees_with_the_model(combination: Id) -> None:
    cls = native.manager_class(*combination)
    seen: set[object] = set()
    for seed in range(6):
        rng = random.Random(seed)
        sizes = (rng.randint(4, 24), rng.choice([1, 2, 3, 16]), rng.randint(2, 6))
        widest = rng.randint(1, 9)
        manager = cls(*sizes, widest)
        model = Model(*sizes, widest, cls.reuse_order)
        for _ in range(400):
            name, arguments = random_call(rng, model)
            expected = outcome(getattr(model, name), arguments)
            assert outcome(getattr(manager, name), arguments) == expected, (name, arguments)
            assert_same_state(manager, model)
            seen.add(expected if isinstance(expected, type) else type(expected))
            if isinstance(expected, list) and expected:
                seen.add(Copy)
        assert_same_rows(manager, model)
    # Every kind of error and a copy-on-write came up, or this test shows little.
    assert seen >= {OutOfBlocks, SequenceTooLong, UnknownSequence, SequenceExists, ValueError, Copy}


@pytest.mark.parametrize("table", ["hash", "open-hash", "vector", "flat", "two-level"])
def test_a_window_that_slides_over_long_tables(table: str) -> None:
    """Long tables from which both ends are removed: where a hash has collisions."""
    cls = native.manager_class(table, "lru", "array", 32)
    rng = random.Random(5)
    manager, model = cls(600, 1, 2, 1000), Model(600, 1, 2, 1000, "FIFO")
    manager.allocate(0, 100)
    model.allocate(0, 100)
    dropped = 0
    while model.tokens[0] < 950:
        shrunk = model.tokens[0] - rng.randint(0, 20)
        dropped = max(dropped, shrunk - rng.randint(40, 250))
        grown = rng.randint(20, 45)
        for target in (manager, model):
            target.truncate(0, shrunk)
            target.drop_front(0, dropped)
            target.extend(0, grown)
        assert manager.block_table(0) == [block for block in model.blocks[0] if block is not None]


@pytest.mark.parametrize("pool", ["list", "stack", "lru", "linked-list", "bitmap"])
def test_reuse_order_of_a_pool(pool: str) -> None:
    free = native.pool_class(pool, 16)(8)
    assert free.take(3) == [0, 1, 2]
    free.give([1, 0, 2])
    assert free.num_free == 8
    expected = {
        "LIFO": [2, 0, 1, 3, 4, 5, 6, 7],
        "FIFO": [3, 4, 5, 6, 7, 1, 0, 2],
        "next-fit": [3, 4, 5, 6, 7, 0, 1, 2],
    }
    assert free.take(8) == expected[free.reuse_order]
    with pytest.raises(OutOfBlocks):
        free.take(1)


@pytest.mark.parametrize(("pool", "bits"), [("list", 32), ("stack", 64), ("lru", 16)])
def test_a_pool_refuses_what_it_can_see(pool: str, bits: int) -> None:
    free = native.pool_class(pool, bits)(4)
    assert free.take(2) == [0, 1]
    for ids in ([4], [-1], [0, 1, 0]):
        with pytest.raises(ValueError, match="block"):
            free.give(ids)
    with pytest.raises(ValueError, match="negative"):
        free.take(-1)
    with pytest.raises(OutOfBlocks):
        free.take(3)
    assert free.take(2) == [2, 3]


@pytest.mark.parametrize("together", [True, False])
def test_a_bitmap_that_was_given_a_free_block_ends_in_an_error(together: bool) -> None:
    free = native.pool_class("bitmap", 16)(200)
    free.take(198)
    free.give([199])  # free already: the count says 3, and 2 are
    with pytest.raises(ValueError, match="no block of the pool is free"):
        free.take(3) if together else [free.take(1) for _ in range(3)]


def test_a_lookup_takes_any_index() -> None:
    manager = native.manager_class("flat", "stack")(8, 1, 1, 8)
    manager.allocate(0, 4)
    manager.drop_front(0, 2)
    for logical in (-(2**63), -1, 0, 1, 4, 2**63 - 1):
        with pytest.raises(UnknownSequence):
            manager.lookup(0, logical)
    assert [manager.lookup(0, logical) for logical in (2, 3)] == [2, 3]


@pytest.mark.parametrize("pool", ["lru", "linked-list", "linked-list-64"])
def test_a_list_removes_from_the_middle(pool: str) -> None:
    free = native.pool_class(pool, 32)(6)
    for block in (3, 0, 5):
        free.remove(block)
    assert free.num_free == 3
    with pytest.raises(ValueError, match="block 3 is not free"):
        free.remove(3)
    with pytest.raises(ValueError, match="no block 6"):
        free.remove(6)
    free.give([5])
    assert free.take(4) == [1, 2, 4, 5]
    with pytest.raises(ValueError, match="not free"):
        free.remove(1)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=names)
def test_append_slots_is_all_or_nothing(combination: Id) -> None:
    manager = native.manager_class(*combination)(6, 4, 6, 3)
    manager.allocate(0, 6)
    manager.fork(0, 1)
    manager.allocate(2, 4)
    before = [manager.block_table(seq) for seq in (0, 1, 2)]
    # 0 and 1 share their last block, so one of them needs a copy; 2 needs a new block.
    copies = manager.append_slots(np.array([0, 1, 2], dtype=np.int32))
    assert [copy.src for copy in copies] == [before[0][1]]
    assert manager.block_table(0)[1] == copies[0].dst
    assert manager.block_table(1) == before[1]
    assert manager.num_free_blocks == 1
    assert [manager.num_tokens(seq) for seq in (0, 1, 2)] == [7, 7, 5]
    # Twice the same sequence: its block is full after the first.
    manager.append_slots(np.array([1, 1], dtype=np.int32))
    assert manager.num_tokens(1) == 9
    assert manager.num_free_blocks == 0
    state = [manager.block_table(seq) for seq in (0, 1, 2)]
    for seqs, error in (([2, 0, 0], OutOfBlocks), ([2, 5], UnknownSequence)):
        with pytest.raises(error):
            manager.append_slots(np.array(seqs, dtype=np.int32))
        assert [manager.num_tokens(seq) for seq in (0, 1, 2)] == [7, 9, 5]
        assert [manager.block_table(seq) for seq in (0, 1, 2)] == state
    with pytest.raises(SequenceTooLong):
        manager.append_slots(np.array([1] * 4, dtype=np.int32))
    assert manager.num_tokens(1) == 9


@pytest.mark.parametrize("combination", COMBINATIONS, ids=names)
def test_append_slots_raises_what_the_first_that_cannot_would(combination: Id) -> None:
    manager = native.manager_class(*combination)(2, 4, 3, 3)
    manager.allocate(0, 8)  # every block, both full
    for seqs, error in (([0, 1], OutOfBlocks), ([1, 0], UnknownSequence)):
        with pytest.raises(error):
            manager.append_slots(np.array(seqs, dtype=np.int32))
    assert manager.num_tokens(0) == 8


@pytest.mark.parametrize("combination", COMBINATIONS, ids=names)
def test_lookup_slots_and_array_shapes(combination: Id) -> None:
    manager = native.manager_class(*combination)(8, 2, 3, 4)
    manager.allocate(0, 5)
    manager.allocate(2, 8)
    seqs, logicals = np.array([2, 0, 2], dtype=np.int32), np.array([3, 1, 0], dtype=np.int32)
    out = np.zeros(3, dtype=np.int32)
    manager.lookup_slots(seqs, logicals, out)
    assert out.tolist() == [6, 1, 3]
    with pytest.raises(ValueError, match="out has 2 entries for 3"):
        manager.lookup_slots(seqs, logicals, out[:2])
    with pytest.raises(TypeError):
        manager.lookup_slots(seqs.astype(np.int64), logicals, out)
    rows, lengths = np.zeros((1, 3), dtype=np.int32), np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="4 blocks, the rows only 3"):
        manager.write_block_tables(seqs[:1], rows, lengths)
    with pytest.raises(UnknownSequence):
        manager.write_block_tables(np.array([1], dtype=np.int32), rows, lengths)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=names)
def test_senseless_sizes(combination: Id) -> None:
    cls = native.manager_class(*combination)
    for position in range(4):
        for size in (0, -1, 10**30):
            sizes = [16, 4, 2, 8]
            sizes[position] = size
            with pytest.raises(ValueError, match=r"must be at least 1|absurdly large"):
                cls(*sizes)
    with pytest.raises(TypeError):
        cls("16", 4, 2, 8)
    with pytest.raises(ValueError, match="row_pad"):
        cls(16, 4, 2, 8, row_pad=-1)


@pytest.mark.parametrize("table", ["flat", "two-level"])
def test_more_blocks_than_ids(table: str) -> None:
    cls = native.manager_class(table, "stack", "array", 16)
    assert cls(65_536, 16, 1, 1).num_free_blocks == 65_536
    with pytest.raises(ValueError, match=r"65537 blocks are more than uint16 ids"):
        cls(65_537, 16, 1, 1)
    with pytest.raises(ValueError, match="int32 ids"):
        native.manager_class("vector", "stack", "array", 32)(2**31 + 1, 16, 1, 1)
    with pytest.raises(MemoryError):
        native.manager_class(table, "stack", "array", 64)(2**46, 16, 1, 1)


@pytest.mark.parametrize("table", ["flat", "two-level"])
def test_the_last_id_of_sixteen_bits_is_an_id(table: str) -> None:
    manager = native.manager_class(table, "stack", "array", 16)(65_536, 1, 1, 65_536)
    manager.allocate(0, 65_536)
    assert manager.lookup(0, 65_535) == 65_535
    out, lengths = np.zeros((1, 65_536), dtype=np.int32), np.zeros(1, dtype=np.int32)
    manager.write_block_tables(np.zeros(1, dtype=np.int32), out, lengths)
    assert np.array_equal(out[0], np.arange(65_536))


def test_what_classes_declare() -> None:
    declared = native.manager_class("flat", "lru", "array", 64)
    assert (declared.reuse_order, declared.profile.id_type) == ("FIFO", "uint64")
    declared = native.manager_class("two-level", "stack", "array", 16)
    assert (declared.reuse_order, declared.profile.id_type) == ("LIFO", "uint16")
    declared = native.manager_class("hash", "list", "hash", 16)
    assert (declared.reuse_order, declared.profile.id_type) == ("LIFO", "int32")
    assert declared.profile.letters == "R"
    for wrong in (("flat", "heap"), ("flat", "stack", "hash"), ("flat", "stack", "array", 8)):
        with pytest.raises(ValueError, match="was compiled"):
            native.manager_class(*wrong)


def test_bytes_held() -> None:
    flat = native.manager_class("flat", "stack", "array", 16)
    # Rows of 256 ids are 512 bytes; one line of padding, and 16 bytes a sequence beside.
    assert flat(1024, 16, 4, 256).row_pad == 32
    assert flat(1024, 16, 4, 256).table_bytes() == 4 * (512 + 64) + 4 * 16
    assert flat(1024, 16, 4, 256, row_pad=0).table_bytes() == 4 * 512 + 4 * 16
    assert flat(1024, 16, 4, 256).pool_bytes() == 1024 * 2 + 1024 * 4
    for table in ("hash", "open-hash", "vector"):
        manager = native.manager_class(table, "lru", "array", 32)(1024, 16, 4, 256)
        empty = manager.table_bytes()
        manager.allocate(0, 200 * 16)
        assert manager.table_bytes() - empty >= 200 * 4
        manager.free(0)
        assert manager.table_bytes() == empty
        assert manager.pool_bytes() == 1025 * 8 + 1024 * 4
