"""CheckedManager and CheckedPool: silent on right classes, and a named fault on wrong ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from blockmark.testing import CheckedManager, CheckedPool, ContractViolation
from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig, UnknownSequence
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.stack_pool_numpy import NumpyStackPool
from blockmark_impls.python.vector import VectorManager
from contract_model import Model, model_outcome, outcome, random_config, random_operation

CONFIG = PoolConfig(total_blocks=8, block_size=4, max_seqs=4, max_blocks_per_seq=4)


@pytest.mark.parametrize("make", [VectorManager, HashMapManager, FlatStackNumpyManager])
def test_a_right_manager_answers_as_without_the_wrapper(make: Any) -> None:
    """Random calls, errors included, against the brute-force model."""
    for number in range(25):
        rng = random.Random(number)
        config = random_config(rng)
        model, checked = Model(config), CheckedManager(make(config), config, every=3)
        for _ in range(60):
            name, *operands = random_operation(rng, model)
            if name == "append_slots" and not hasattr(checked._manager, name):
                continue
            given = [np.array(x, dtype=np.int32) if isinstance(x, list) else x for x in operands]
            assert outcome(checked, name, *given) == model_outcome(model, name, *operands)
        checked.check()
        for seq in list(model.tables):
            checked.free(seq)
        checked.check_empty()


def test_what_is_no_operation_is_passed_on() -> None:
    checked = CheckedManager(VectorManager(CONFIG), CONFIG)
    checked.allocate(0, 6)
    assert checked.num_free_blocks == 6
    assert checked.ref_count(checked.lookup(0, 1)) == 1
    assert checked.block_table(0) == [0, 1]
    assert checked.pool_bytes() > 0
    out, lengths = np.full((1, 3), 9, np.int32), np.zeros(1, np.int32)
    checked.write_block_tables(np.array([0], np.int32), out, lengths)
    assert out.tolist() == [[0, 1, 0]]
    assert lengths.tolist() == [2]
    with pytest.raises(UnknownSequence):
        checked.free(3)
    with pytest.raises(AttributeError):
        _ = checked.no_such_thing


class Wrong(VectorManager):
    """Right until `spoil` names what to do wrong."""

    spoil = ""

    def allocate(self, seq: int, num_tokens: int) -> None:
        if self.spoil == "outside":
            self._free.append(self._total)
            self._refs.append(0)
        try:
            super().allocate(seq, num_tokens)
        except OutOfBlocks:
            if self.spoil == "error":
                self._free.pop()
            raise
        if self.spoil == "twice":
            self._refs[self._tables[seq][-1]] = 0
            self._free.append(self._tables[seq][-1])
            self._tables[seq][-1] = self._tables[0][0]

    def append_slot(self, seq: int) -> Copy | None:
        if self.spoil == "revives" and not self._tables[seq]:
            return None
        if self.spoil == "length":
            self._room[0] -= 1
        return super().append_slot(seq)

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if self.spoil == "uncounted":
            for block in self.block_table(child):
                self._refs[block] -= 1

    def free(self, seq: int) -> None:
        blocks = list(self._tables[seq])
        super().free(seq)
        if self.spoil == "double":
            self._free.append(blocks[0])
        elif self.spoil == "leak":
            self._free.pop()
        elif self.spoil == "below":
            self._refs[blocks[0]] = -1

    def lookup(self, seq: int, logical: int) -> int:
        return self._total - 1 if self.spoil == "stale" else super().lookup(seq, logical)

    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        if self.spoil == "overrun":
            out.base[len(seqs) + 1, 0] = 0
        elif self.spoil == "tail":
            out[0, -1] = 5


def pack(checked: CheckedManager) -> None:
    seqs = np.array([0], np.int32)
    checked.write_block_tables(seqs, np.zeros((1, 4), np.int32), np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("spoil", "act", "fault", "says"),
    [
        ("double", lambda m: m.free(0), "double free", "9 blocks are free; it should be 8"),
        ("leak", lambda m: m.free(0), "leak", "7 blocks are free; it should be 8"),
        ("below", lambda m: m.free(0), "ref count below zero", "a ref count of -1, and 0 tables"),
        ("uncounted", lambda m: m.fork(0, 1), "ref count too low", "of 1, and 2 tables name it"),
        ("twice", lambda m: m.allocate(1, 4), "block live twice", "block 0 was given to sequence"),
        ("outside", lambda m: m.allocate(1, 4), "id outside the pool", "block 8 is none of the 8"),
        ("revives", lambda m: m.append_slot(2), "use after free", "sequence 2 does not exist"),
        ("stale", lambda m: m.lookup(0, 0), "use after free", "not in the table of sequence 0"),
        ("error", lambda m: m.allocate(1, 99), "", ""),
        ("overrun", pack, "row overrun", "outside the 1 rows of 4"),
        ("tail", pack, "wrong row", "its blocks are [0, 1]"),
    ],
)
def test_a_fault_of_a_manager_is_named(spoil: str, act: Any, fault: str, says: str) -> None:
    checked = CheckedManager(manager := Wrong(CONFIG), CONFIG)
    checked.allocate(0, 6)
    checked.check()
    manager.spoil = spoil
    if not fault:
        checked.allocate(1, 16)  # leaves 2 blocks
        fault, says = "error changed state", "1 blocks are free; it should be 2"
        act = lambda m: m.allocate(2, 12)  # noqa: E731
    with pytest.raises(ContractViolation) as caught:
        act(checked)
    assert caught.value.fault == fault
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"{fault}: {caught.value.call}: ")


def test_what_changes_behind_a_call_is_found_by_check() -> None:
    checked = CheckedManager(manager := Wrong(CONFIG), CONFIG)
    checked.allocate(0, 5)
    checked.allocate(1, 5)
    manager.spoil = "length"
    checked.append_slot(1)  # sequence 0 grew with it
    with pytest.raises(ContractViolation, match="sequence 0 has 6 tokens; it had 5") as caught:
        checked.check()
    assert caught.value.fault == "table changed"


def test_sequences_that_are_left_over_are_a_leak() -> None:
    checked = CheckedManager(VectorManager(CONFIG), CONFIG)
    checked.allocate(0, 5)
    checked.fork(0, 3)
    with pytest.raises(ContractViolation, match="2 sequences were not freed: 0, 3"):
        checked.check_empty()
    checked.free(3)
    checked.free(0)
    checked.check_empty()


class WrongPool(ListPool):
    spoil = ""

    def take(self, k: int) -> list[int]:
        if self.spoil == "refuses":
            raise OutOfBlocks("none")
        if self.spoil == "empties" and k > len(self._free):
            self._free.clear()
        if self.spoil == "short":
            return super().take(k - 1)
        taken = super().take(k)
        if self.spoil == "outside":
            return [block + 100 for block in taken]
        if self.spoil == "peeks":
            self._free += taken
        return [0] * k if self.spoil == "same" else taken

    def give(self, ids: Sequence[int]) -> None:
        super().give(ids[1:] if self.spoil == "loses" else ids)


@pytest.mark.parametrize(
    ("spoil", "act", "fault"),
    [
        ("refuses", lambda p: p.take(1), "exhaustion"),
        ("short", lambda p: p.take(2), "exhaustion"),
        ("empties", lambda p: p.take(9), "error changed state"),
        ("outside", lambda p: p.take(1), "id outside the pool"),
        ("same", lambda p: p.take(1), "block live twice"),
        ("peeks", lambda p: p.take(1), "double free"),
        ("loses", lambda p: p.give([0, 1]), "leak"),
        # The caller's own faults, on a right pool.
        ("", lambda p: p.give([2]), "double free"),
        ("", lambda p: p.give([0, 0]), "double free"),
        ("", lambda p: p.give([6]), "id outside the pool"),
        ("", lambda p: p.remove(1), "use after free"),
        ("", lambda p: p.check_empty(), "leak"),
    ],
)
def test_a_fault_of_a_pool_or_of_its_caller_is_named(spoil: str, act: Any, fault: str) -> None:
    checked = CheckedPool(pool := WrongPool(6), 6)
    assert checked.take(2) == [0, 1]
    pool.spoil = spoil
    with pytest.raises(ContractViolation) as caught:
        act(checked)
    assert caught.value.fault == fault


@pytest.mark.parametrize("make", [ListPool, NumpyStackPool])
def test_a_right_pool_answers_as_without_the_wrapper(make: Any) -> None:
    checked = CheckedPool(make(6), 6)
    first = checked.take(4)
    with pytest.raises(OutOfBlocks):
        checked.take(3)
    checked.give(first[1:3])
    assert checked.num_free == 4
    assert sorted(map(int, checked.take(4))) == [1, 2, 4, 5]
    checked.give([0, 1, 2, 3, 4, 5])
    checked.check_empty()
    assert checked.pool_bytes() > 0
