"""The loop that is timed is held to its answers: in the proof, and after it was timed."""

from __future__ import annotations

import json
import random
import re
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmark.measure.proof.replayed import ReplayChecker
from blockmark.measure.proof.wrong import WrongAnswer
from blockmark.measure.replay import PythonReplay, bind
from blockmark.workload.oracle.calls import Call, calls_of, program_of
from blockmark.workload.oracle.moves import random_program, small_config
from blockmark.workload.program import Op, Program
from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.flat_stack_numpy import FlatStackNumpyManager
from blockmark_impls.python.vector import VectorManager
from cli import blockmark
from test_proof_kinds import manager_verdict


def in_the_loop() -> bool:
    """Whether the method that asks was called by the loop that is timed."""
    return sys._getframe(2).f_code.co_filename.endswith("measure/replay/executors.py")


class Looks(VectorManager):
    def lookup(self, seq: int, logical: int) -> int:
        block = super().lookup(seq, logical)
        return self._tables[seq][-1] if in_the_loop() else block


class LooksUpMany(FlatStackNumpyManager):
    def lookup_slots(self, seqs: Any, logicals: Any, out: Any) -> None:
        super().lookup_slots(seqs, logicals, out)
        if in_the_loop():
            out[:] = out[0]


class CopiesNothing(VectorManager):
    """Says that there is nothing to copy, though it took a block for it."""

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        return None if in_the_loop() else made


class CopiesBack(VectorManager):
    def extend(self, seq: int, num_tokens: int) -> list[Copy]:
        made = super().extend(seq, num_tokens)
        return [Copy(dst, src) for src, dst in made] if in_the_loop() else made


class CopiesMore(VectorManager):
    """Names a copy where there is none to make."""

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        return made or (Copy(0, self._tables[seq][-1]) if in_the_loop() else None)


class Packs(VectorManager):
    def write_block_tables(self, seqs: Any, out: Any, lengths: Any) -> None:
        super().write_block_tables(seqs, out, lengths)
        if in_the_loop() and out.size:
            out[0, -1] = out[0, 0]


class Says(VectorManager):
    def can_allocate(self, num_blocks: int) -> bool:
        return True if in_the_loop() else super().can_allocate(num_blocks)


class Keeps(VectorManager):
    """Answers nothing wrong: it is its state that is."""

    def truncate(self, seq: int, num_tokens: int) -> None:
        super().truncate(seq, num_tokens + 1 if in_the_loop() and self._room[seq] else num_tokens)


@pytest.mark.parametrize(
    ("make", "style", "says"),
    [
        (Looks, "per-op", "lookup: answered"),
        (LooksUpMany, "per-step", "lookup: answered"),
        (CopiesNothing, "per-op", "append: 0 numbers were answered where there are 2"),
        (CopiesBack, "per-op", "answered"),
        pytest.param(
            CopiesMore,
            "per-op",
            "append: ",
        ),
        (Packs, "per-op", "pack: answered"),
        (Says, "per-op", "can_allocate: answered"),
        (Keeps, "per-op", "the loop: raised|the state after it: "),
    ],
)
def test_what_is_wrong_in_the_loop_alone_is_found(make: type, style: str, says: str) -> None:
    found = manager_verdict(make, random_programs=12, call_style=style)
    assert found["status"] == "wrong", found
    assert re.match(rf"replay of random program \d+ \({style}; \d+ blocks of ", found["reason"])
    assert re.search(says, found["reason"]), found["reason"]


def test_what_the_loop_shows_is_shown_as_calls_of_the_loop() -> None:
    found = manager_verdict(CopiesNothing, random_programs=12, shrink=True)
    assert found["shown_by"] == [
        "replayed in one go (per-op):",
        "PoolConfig(total_blocks=2, block_size=2, max_seqs=2, max_blocks_per_seq=1, id_bits=32)",
        " 1  allocate(0, 1)",
        " 2  fork(0, 1, None)",
        " 3  append_slot(0)  <- then step 2, append: 0 numbers were answered where there are 2",
    ]


# After it was timed. The proof asks some 8,000 lookups of this load, the clocks' loops hundreds
# of thousands; on a slow machine fewer.
LATE = """
from blockmark_impls.python.vector import VectorManager

class Late(VectorManager):
    asked, most = 0, 20_000

    def lookup(self, seq, logical):
        Late.asked += 1
        block = super().lookup(seq, logical)
        return block if Late.asked <= self.most else self._total - 1 - block

class Never(Late):
    most = 1 << 60
"""


@pytest.mark.parametrize(("name", "code"), [("Late", 4), ("Never", 0)])
def test_what_is_wrong_once_it_is_timed_has_no_number(name: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    sizes = {
        "models": "step,lookup", "total_blocks": "256", "max_blocks_per_seq": "16",
        "concurrency": "8", "block_size": "4", "heap": "fresh",
    }  # fmt: skip
    words = [word for key, value in sizes.items() for word in ("--set", f"{key}={value}")]
    done = blockmark(
        "run", "decode", "--quick", *words, "--impl", f"k=late.py:{name}", cwd=tmp_path
    )
    assert done.returncode == code, done.stdout + done.stderr
    (file,) = tmp_path.glob("results/*/run.json")
    (cell,) = json.loads(file.read_text())["cells"]
    # It was proved in both, before it was timed.
    assert cell["verified"]["operations"] > 1_000
    if code:
        assert cell["status"] == "wrong"
        assert re.match("(step|lookup), after it was timed: ", cell["reason"])
        assert cell["metrics"] == {}
        assert "after it was timed" in " ".join(done.stdout.split())
        assert "step us" not in done.stdout
    else:
        assert cell["status"] == "ok"
        assert "step us" in done.stdout


# A program made by hand. The oracle's blocks are A and B of sequence 0, C the copy of B.

CONFIG = PoolConfig(total_blocks=8, block_size=2, max_seqs=4, max_blocks_per_seq=4)
CALLS = [
    Call("allocate", (0, 3)),
    Call("fork", (0, 1, None)),
    Call("append_slot", (1,)),
    Call("extend", (0, 3)),
    Call("lookup_slots", ((0, 1), (1, 1))),
    Call("drop_front", (0, 1)),
    Call("write_block_tables", ((1, 0),)),
    Call("can_allocate", (4,)),
]
A, B, C, D = 5, 2, 7, 0
COPY = [2, 2, B, C]
LOOKUPS = [4, 2, B, C]
ROWS = [7, 10, 2, A, C, 0, 0, 3, 0, B, D, 0]
CAN = [9, 1, 1]


class Fake:
    """A replay that answers what a test says."""

    def __init__(self, records: Sequence[int]) -> None:
        self._records = records

    def setup(self) -> None: ...

    def answers(self, first: int, steps: int) -> Sequence[int]:
        return self._records


def held(records: Sequence[int], calls: Sequence[Call] = CALLS) -> int:
    """How many numbers are compared where these are answered. Raises WrongAnswer."""
    program = program_of(calls, CONFIG.max_blocks_per_seq)
    checker = ReplayChecker(Fake(records), CONFIG, program)  # type: ignore[arg-type]
    return checker.body(0, program.num_steps)


@pytest.mark.parametrize("apart", [False, True])
def test_right_answers_in_one_record_or_in_many(apart: bool) -> None:
    lookups = [4, 1, B, 5, 1, C] if apart else LOOKUPS
    assert held([*COPY, *lookups, *ROWS, *CAN]) == 2 + 2 + 10 + 1
    # The native loop counts in machine words, and hands out its own array.
    assert held(array("q", [*COPY, *lookups, *ROWS, *CAN])) == 15


def changed(record: list[int], place: int, value: int) -> list[int]:
    return [*record[:place], value, *record[place + 1 :]]


@pytest.mark.parametrize(
    ("records", "where", "says"),
    [
        # A lookup names the block that was copied from, where it is the copy.
        (
            [*COPY, *changed(LOOKUPS, 3, B)],
            "step 4, lookup",
            "answered [2] from place 1 on; the first should be 7",
        ),
        # The lookup is right, and so the copy went elsewhere: one block under two ids.
        (
            [*changed(COPY, 3, 6), *LOOKUPS],
            "step 4, lookup",
            "answered [7] from place 1 on; the first should be 6",
        ),
        # Two blocks under one id.
        (
            [*changed(COPY, 3, B), *LOOKUPS],
            "step 2, append",
            "answered [2] from place 1 on; the first is another block",
        ),
        # No block of the pool.
        (
            [*changed(COPY, 2, 8), *LOOKUPS],
            "step 2, append",
            "answered [8, 7]; the first is another block",
        ),
        (
            [*changed(COPY, 2, -1), *LOOKUPS],
            "step 2, append",
            "answered [-1, 7]; the first is another block",
        ),
        # No copy at all, and one that is told twice.
        (LOOKUPS, "step 2, append", "0 numbers were answered where there are 2"),
        (
            [2, 4, B, C, B, C, *LOOKUPS],
            "step 2, append",
            "4 numbers were answered where there are 2",
        ),
        # A length, a tail, a dropped block, a block of another row; a row too few.
        (
            [*COPY, *LOOKUPS, *changed(ROWS, 2, 3), *CAN],
            "step 6, pack",
            "answered [3, 5, 7, 0, 0, 3, 0, 2, ...]; the first should be 2",
        ),
        (
            [*COPY, *LOOKUPS, *changed(ROWS, 6, 1), *CAN],
            "step 6, pack",
            "answered [1, 3, 0, 2, 0, 0] from place 4 on; the first should be 0",
        ),
        (
            [*COPY, *LOOKUPS, *changed(ROWS, 8, A), *CAN],
            "step 6, pack",
            "answered [5, 2, 0, 0] from place 6 on; the first should be 0",
        ),
        (
            [*COPY, *LOOKUPS, *changed(ROWS, 9, C), *CAN],
            "step 6, pack",
            "answered [7, 0, 0] from place 7 on; the first should be 2",
        ),
        ([*COPY, *LOOKUPS, 7, 5, *ROWS[2:7], *CAN], "step 6, pack", ""),
        ([*COPY, *LOOKUPS, *CAN], "step 6, pack", "0 numbers were answered where there are"),
        (
            [*COPY, *LOOKUPS, *ROWS, 9, 1, 0],
            "step 7, can_allocate",
            "answered [0]; the first should be 1",
        ),
    ],
)
def test_wrong_answers_are_told_where(records: list[int], where: str, says: str) -> None:
    with pytest.raises(WrongAnswer) as raised:
        held(records)
    assert str(raised.value).startswith(f"{where}: {says}")


def test_a_copy_that_is_not_due_is_wrong() -> None:
    with pytest.raises(WrongAnswer, match="extend: 2 numbers were answered where there are 0"):
        held([*COPY, 3, 2, B, C, *LOOKUPS, *ROWS, *CAN])


def test_an_id_is_free_again_with_its_block() -> None:
    ends = [Call("allocate", (0, 1)), Call("lookup", (0, 0)), Call("free", (0,))]
    goes_on = [Call("allocate", (1, 1)), Call("lookup", (1, 0))]
    assert held([1, 1, 3, 4, 1, 3], [*ends, *goes_on]) == 2
    with pytest.raises(WrongAnswer, match=r"step 3, lookup: answered \[3\]; the first is another"):
        held([1, 1, 3, 3, 1, 3], [*ends[:2], *goes_on])


def lookup_checked(answered: int, manager_takes: int) -> None:
    """A program of two steps, its lookup, and the tables of a manager after it."""
    program = program_of([Call("allocate", (0, 3)), Call("lookup", (0, 1))], 4)
    fake: Any = Fake([1, 1, answered])
    checker = ReplayChecker(fake, CONFIG, program)
    checker.body(0, 2)
    manager = VectorManager(CONFIG)
    manager.allocate(0, manager_takes)
    checker.check_state(manager)


def test_the_state_is_compared_as_well() -> None:
    lookup_checked(1, 3)
    with pytest.raises(WrongAnswer, match="the state after it: "):
        lookup_checked(1, 2)
    with pytest.raises(WrongAnswer, match="the state after it: "):
        lookup_checked(1, 4)


def test_an_answer_under_another_name_throughout_is_wrong() -> None:
    with pytest.raises(WrongAnswer):
        lookup_checked(6, 3)


# What the loop in Python answers.


def single(manager: Any, call: Call, width: int) -> list[int]:
    """The numbers that one call answers, made as anybody would make it."""
    if call.method == "write_block_tables":
        (seqs,) = call.operands
        out = np.zeros((len(seqs), width), np.int32)  # type: ignore[arg-type]
        lengths = np.zeros(len(seqs), np.int32)  # type: ignore[arg-type]
        manager.write_block_tables(np.array(seqs, np.int32), out, lengths)
        return [int(n) for row, size in zip(out, lengths, strict=True) for n in (size, *row)]
    answer = getattr(manager, call.method)(*call.operands)
    match call.method:
        case "lookup" | "can_allocate":
            return [int(answer)]
        case "append_slot":
            return list(answer or ())
        case "extend":
            return [block for copy in answer for block in copy]
    assert answer is None
    return []


def one_by_one(program: Program, config: PoolConfig) -> dict[int, list[int]]:
    """What each run answers, by the index of its first operation, where it answers anything."""
    manager = FlatStackNumpyManager(config)
    answers: dict[int, list[int]] = {}
    for step in range(program.num_steps):
        for _code, first, end in program.runs(step):
            for index, call in calls_of(program, step):
                if first <= index < end:
                    numbers = single(manager, call, program.width)
                    answers.setdefault(first, []).extend(numbers)
    return {first: numbers for first, numbers in answers.items() if numbers}


def by_run(program: Program, records: Sequence[int]) -> dict[int, list[int]]:
    """Records as (operation, count, numbers), under the first operation of their run."""
    runs = [run for step in range(program.num_steps) for run in program.runs(step)]
    answers: dict[int, list[int]] = {}
    left = list(records)
    while left:
        index, count = left[:2]
        (first,) = [first for _, first, end in runs if first <= index < end]
        answers.setdefault(first, []).extend(left[2 : 2 + count])
        assert len(left) >= 2 + count
        del left[: 2 + count]
    return {first: numbers for first, numbers in answers.items() if numbers}


@settings(deadline=None, max_examples=25)
@given(number=st.integers(0, 1_000_000), per_step=st.booleans())
def test_the_loop_answers_what_single_calls_answer(number: int, per_step: bool) -> None:
    rng = random.Random(number)
    config = small_config(rng, 16)
    program = random_program(config, rng, 80, failing=False)
    replay = PythonReplay(FlatStackNumpyManager(config), program, per_step=per_step)
    assert by_run(program, replay.answers(0, program.num_steps)) == one_by_one(program, config)


def test_a_chain_of_lookups_answers_each_of_them() -> None:
    from blockmark.workload.program import ProgramBuilder

    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, 0, 5)
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.LOOKUP_CHAIN, [0, 0, 0], [2, 0, 1])
    program = builder.build(units={1: 1.0})
    replay = PythonReplay(VectorManager(CONFIG), program, per_step=False)
    replay.setup()
    # A new pool hands out 0, 1, 2; the set-up's operation is the first.
    assert list(replay.answers(0, 1)) == [1, 1, 2, 2, 1, 0, 3, 1, 1]


def test_the_native_loop_is_held_to_the_same() -> None:
    native = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")
    sizes = ("total_blocks", "block_size", "max_seqs", "max_blocks_per_seq")
    compared = 0
    for number in range(20):
        rng = random.Random(number)
        config = small_config(rng, 16)
        program = random_program(config, rng, 80, failing=False)
        made = native.manager_class("flat", "stack", "array", 16)
        manager = made(*(getattr(config, name) for name in sizes))
        checker = ReplayChecker(bind(manager, program, "native"), config, program)
        compared += checker.body(0, program.num_steps)
        checker.check_state(manager)
    assert compared > 500
