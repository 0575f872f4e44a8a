"""The proof: right managers pass, and every kind of fault is found and named."""

from __future__ import annotations

import random
from typing import Any

import pytest

from blockmark.measure.proof.checker import Checker, check_state
from blockmark.measure.proof.reuse import ReuseOrderChecker
from blockmark.measure.proof.wrong import WrongAnswer
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.oracle.moves import random_program, small_config
from blockmark.workload.program import Op, ProgramBuilder
from blockmark_impls.contract import Copy, OutOfBlocks, PoolConfig
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.vector import VectorManager

CONFIG = PoolConfig(total_blocks=12, block_size=4, max_seqs=4, max_blocks_per_seq=6)


def replay_random(make: Any, count: int = 60, order: str = "LIFO") -> None:
    for number in range(count):
        rng = random.Random(number)
        config = small_config(rng, 32)
        program = random_program(config, rng, 160)
        Checker(make(config), config, order).replay(program, range(program.num_steps))


@pytest.mark.parametrize("make", [VectorManager, HashMapManager])
def test_right_managers_pass(make: Any) -> None:
    replay_random(make)


def test_random_programs_reach_every_corner() -> None:
    """Errors, copies, shared blocks and dropped fronts all happen in the programs."""
    seen: set[str] = set()
    for number in range(60):
        rng = random.Random(number)
        config = small_config(rng, 32)
        program = random_program(config, rng, 160)
        oracle = Oracle(config)
        for step in range(program.num_steps):
            for _, code, a, b, c in program.operations(step):
                seen.add(code.name)
                try:
                    if code is Op.FORK:
                        oracle.fork(a, b, c or None)
                    elif code in (Op.APPEND, Op.EXTEND):
                        tokens = 1 if code is Op.APPEND else b
                        if oracle.extend(a, tokens):
                            seen.add("copy")
                    elif code is Op.CAN_ALLOCATE:
                        seen.add(f"can {oracle.can_allocate(a)}")
                    elif code is Op.FREE:
                        oracle.free(a)
                    else:
                        getattr(oracle, code.name.lower())(a, b)
                except Exception as error:
                    seen.add(type(error).__name__)
        if any(table.first_kept for table in oracle.tables.values()):
            seen.add("dropped front")
    assert seen >= {
        "OutOfBlocks",
        "SequenceTooLong",
        "UnknownSequence",
        "SequenceExists",
        "ValueError",
        "copy",
        "can True",
        "can False",
        "dropped front",
        *(op.name for op in Op if op <= Op.LOOKUP),
    }


class CopiesByNumber(VectorManager):
    """The known mistake: copy whenever the block has the logical number of a shared one."""

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        table = self.block_table(seq)
        return made or (Copy(table[0], table[-1]) if len(table) == 2 else None)


class LeaksOnFree(VectorManager):
    def free(self, seq: int) -> None:
        super().free(seq)
        if self.num_free_blocks > 1:
            self._free.pop()


class HandsOutTwice(VectorManager):
    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        if len(self._tables[seq]) > 1:
            self._tables[seq][-1] = self._tables[seq][0]


class ForgetsFork(VectorManager):
    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._refs[self.block_table(child)[-1]] -= 1


class ChangesOnError(VectorManager):
    def allocate(self, seq: int, num_tokens: int) -> None:
        try:
            super().allocate(seq, num_tokens)
        except OutOfBlocks:
            if self._free:
                self._free.pop()
            raise


class WrongError(VectorManager):
    def append_slot(self, seq: int) -> Copy | None:
        try:
            return super().append_slot(seq)
        except OutOfBlocks:
            raise KeyError(seq) from None


class OffByOneLookup(VectorManager):
    def lookup(self, seq: int, logical: int) -> int:
        return super().lookup(seq, max(0, logical - 1))


class LyingCanAllocate(VectorManager):
    def can_allocate(self, num_blocks: int) -> bool:
        return num_blocks < self.num_free_blocks


class DirtyTails(VectorManager):
    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        if len(seqs):
            out[-1, -1] = 5


class WrongTokens(VectorManager):
    def num_tokens(self, seq: int) -> int:
        return super().num_tokens(seq) + 1


class OutsideThePool(VectorManager):
    def block_table(self, seq: int) -> list[int]:
        return [block + 10_000 for block in super().block_table(seq)]


class RaisesInside(VectorManager):
    def ref_count(self, block: int) -> int:
        raise ZeroDivisionError("a bug of theirs")


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (CopiesByNumber, "it should name the copies"),
        (LeaksOnFree, "blocks are free; it should be"),
        (HandsOutTwice, "in use"),
        (ForgetsFork, "ref_count"),
        (ChangesOnError, "blocks are free"),
        (WrongError, "KeyError"),
        (OffByOneLookup, "lookup"),
        (LyingCanAllocate, r"can_allocate\(\d+\) is False where"),
        (DirtyTails, "write_block_tables wrote"),
        (WrongTokens, "num_tokens"),
        (OutsideThePool, r"block_table\(\d\) is \[10000"),
        (RaisesInside, "ZeroDivisionError"),
    ],
)
def test_a_broken_manager_is_caught(broken: Any, says: str) -> None:
    with pytest.raises(WrongAnswer, match=says) as caught:
        replay_random(broken)
    assert "step " in str(caught.value)
    assert "operation " in str(caught.value)


def test_the_wrong_reuse_order_is_caught() -> None:
    with pytest.raises(WrongAnswer, match="FIFO declared"):
        replay_random(VectorManager, order="FIFO")
    with pytest.raises(WrongAnswer, match="lowest declared"):
        replay_random(VectorManager, order="lowest")
    replay_random(VectorManager, order="unspecified")


def failing(order: str, given: list[list[int]], taken: list[int], seen: int = 10) -> bool:
    checker = ReuseOrderChecker(order, 10)
    checker.taken(list(range(seen)), WrongAnswer)
    for ids in given:
        checker.given(ids)
    try:
        checker.taken(taken, WrongAnswer)
    except WrongAnswer:
        return True
    return False


@pytest.mark.parametrize(
    ("order", "given", "taken", "wrong"),
    [
        ("LIFO", [[1, 2], [3]], [3], False),
        ("LIFO", [[1, 2], [3]], [3, 1], True),
        ("LIFO", [[1, 2], [3]], [2, 3], False),
        ("LIFO", [[1, 2], [3]], [1], True),
        ("LIFO", [[1, 2], [3, 4]], [3, 1], True),
        ("FIFO", [[1, 2], [3]], [2], True),
        ("FIFO", [[1, 2], [3]], [2, 1], False),
        ("FIFO", [[1, 2], [3]], [1, 2, 3], False),
        ("FIFO", [[1, 2], [3]], [3], True),
        ("lowest", [[5, 2], [3]], [2, 3], False),
        ("lowest", [[5, 2], [3]], [3], True),
        ("unspecified", [[1], [2]], [1], False),
    ],
)
def test_reuse_orders(order: str, given: list[list[int]], taken: list[int], wrong: bool) -> None:
    assert failing(order, given, taken) is wrong


def test_blocks_never_used_come_last_in_lifo_and_first_in_fifo() -> None:
    assert failing("LIFO", [[1]], [9], seen=5)
    assert not failing("LIFO", [[1]], [1, 9], seen=5)
    assert failing("FIFO", [[1]], [1], seen=5)
    assert not failing("FIFO", [[1]], [5, 6, 7, 8, 9, 1], seen=5)


def test_check_state_compares_what_a_replay_left() -> None:
    builder = ProgramBuilder()
    builder.step()
    builder.operations([(Op.ALLOCATE, 0, 6, 0), (Op.FORK, 0, 1, 0), (Op.APPEND, 1, 0, 0)])
    program = builder.build(units={})
    manager = VectorManager(CONFIG)
    manager.allocate(0, 6)
    manager.fork(0, 1)
    with pytest.raises(WrongAnswer):
        check_state(manager, CONFIG, program, range(1))
    manager.append_slot(1)
    check_state(manager, CONFIG, program, range(1))
