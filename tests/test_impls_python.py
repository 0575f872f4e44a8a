"""The Python managers, held against a brute-force model and worked examples."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from blockmark_impls.contract import (
    BlockManager,
    Copy,
    OutOfBlocks,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
    missing_operations,
)
from blockmark_impls.python.flat_stack import FlatStackManager
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.null import NullManager, NullPool
from blockmark_impls.python.two_level import TwoLevelManager
from blockmark_impls.python.vector import VectorManager
from contract_model import (
    Model,
    check_same,
    make,
    model_outcome,
    outcome,
    private_state,
    random_config,
    random_operation,
)


class TwoIdsAPage(TwoLevelManager):
    """So that small tables have many pages."""

    page_ids = 2


FLAT = [FlatStackManager, FlatStackNumpyManager]
PAGED = [TwoLevelManager, TwoIdsAPage]
MANAGERS = [HashMapManager, VectorManager, *FLAT, *PAGED]
each_manager = pytest.mark.parametrize("manager_class", MANAGERS)
each_flat = pytest.mark.parametrize("manager_class", FLAT)
each_width = pytest.mark.parametrize("manager_class", [*FLAT, *PAGED])


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


@each_width
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


@each_width
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


@pytest.mark.parametrize(
    "module", ["hash_map", "vector", "flat_stack", "two_level", "list_pool", "null"]
)
def test_runs_without_numpy(module: str) -> None:
    """A measured process imports only what it measures with."""
    code = f"import sys, blockmark_impls.python.{module}; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
