"""Shrinking: to known shortest lists, of numbers and of calls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from blockmark.measure.proof.checker import Checker
from blockmark.measure.proof.counterexample import ManagerFault, PoolFault, ReplayFault
from blockmark.measure.proof.shrink import Case, Shrinker, smaller_numbers
from blockmark.workload.oracle.calls import Call, calls_of, renumbered
from blockmark.workload.oracle.moves import random_program, small_config
from blockmark.workload.oracle.pool_calls import random_pool_program
from blockmark.workload.program import Program
from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager


def shrunk(size: int, steps: list[int], fails: Any, seconds: float = 5.0) -> Case[int, int]:
    """A case of numbers; `fails(size, steps)` names the place of the step that shows it."""

    def attempt(size: int, steps: Sequence[int]) -> Case[int, int] | None:
        at = fails(size, steps)
        return None if at is None else Case(size, tuple(steps[: at + 1]), "wrong")

    first = attempt(size, steps)
    assert first is not None
    return Shrinker(attempt, smaller_numbers, lambda n: smaller_numbers(n, 1)).shrink(
        first, seconds
    )


def a_three_before_a_seven(size: int, steps: Sequence[int]) -> int | None:
    if size < 4 or 3 not in steps or 7 not in steps[steps.index(3) :]:
        return None
    return list(steps).index(7, list(steps).index(3))


def test_what_is_not_needed_is_left_out_and_the_size_falls_to_the_limit() -> None:
    rng = random.Random(4)
    for _ in range(20):
        steps = [rng.choice((0, 1, 2, 4, 5, 6, 8, 9)) for _ in range(120)]
        first, second = sorted(rng.sample(range(120), 2))
        steps[first], steps[second] = 3, 7
        assert shrunk(97, steps, a_three_before_a_seven) == Case(4, (3, 7), "wrong")


def test_numbers_fall_to_the_least_that_fails() -> None:
    def a_sum_of_100(size: int, steps: Sequence[int]) -> int | None:
        total = 0
        for at, number in enumerate(steps):
            total += number
            if total >= 100:
                return at
        return None

    # One step of 100 is shorter than any two.
    assert shrunk(1, [10, 250, 3, 4], a_sum_of_100).steps == (100,)
    # Where no step can be left out, their sum falls to the limit.
    assert sum(shrunk(1, [30, 50, 21, 4], a_sum_of_100).steps) == 100


def test_without_time_the_case_stays_as_it_is() -> None:
    steps = [3, 1, 1, 1, 7]
    assert shrunk(9, steps, a_three_before_a_seven, seconds=-1).steps == (3, 1, 1, 1, 7)


@pytest.mark.parametrize(("value", "least"), [(0, 0), (1, 0), (2, 1), (9, 0), (1000, 1)])
def test_smaller_numbers_lie_between_the_least_and_the_value(value: int, least: int) -> None:
    found = smaller_numbers(value, least)
    assert all(least <= n < value for n in found)
    assert len(set(found)) == len(found)
    # The next number down is always among them, so that no minimum is jumped over.
    assert (value - 1 in found) == (value > least)


def test_calls_are_written_and_renumbered() -> None:
    calls = [
        Call("allocate", (5, 2)),
        Call("fork", (5, 3, None)),
        Call("append_slots", ((3, 5),)),
        Call("lookup", (3, 1)),
        Call("can_allocate", (5,)),
    ]
    assert [str(call) for call in renumbered(calls)] == [
        "allocate(0, 2)",
        "fork(0, 1, None)",
        "append_slots([1, 0])",
        "lookup(1, 1)",
        "can_allocate(5)",
    ]


class NeverCopies(VectorManager):
    def append_slot(self, seq: int) -> Copy | None:
        table = self._tables[seq]
        if table and self._room[seq] > 0 and self._refs[table[-1]] > 1:
            self._room[seq] -= 1
            return None
        return super().append_slot(seq)


class ForgetsFork(VectorManager):
    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._refs[self.block_table(child)[-1]] -= 1


class LeaksOnFree(VectorManager):
    def free(self, seq: int) -> None:
        super().free(seq)
        self._free.pop()


class Unrepeatable(VectorManager):
    """Wrong the first time that anything is freed, and never again."""

    done = False

    def free(self, seq: int) -> None:
        super().free(seq)
        if not Unrepeatable.done:
            Unrepeatable.done = True
            self._free.pop()


def found_in(make: Any, failing: bool = True) -> tuple[PoolConfig, list[Call], Program]:
    """A random program that shows the fault, and its calls."""
    for number in range(60):
        rng = random.Random(number)
        config = small_config(rng, 32)
        program = random_program(config, rng, 160, failing=failing)
        calls = [call for step in range(program.num_steps) for _, call in calls_of(program, step)]
        checker = Checker(make(config), config, "LIFO")
        try:
            checker.replay(program, range(program.num_steps))
        except Exception:
            return config, calls, program
    raise AssertionError("nothing was found")


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (
            NeverCopies,
            [
                "PoolConfig(total_blocks=2, block_size=2, max_seqs=2, max_blocks_per_seq=1, "
                "id_bits=32)",
                " 1  allocate(0, 1)",
                " 2  fork(0, 1, None)",
            ],
        ),
        (
            ForgetsFork,
            [
                "PoolConfig(total_blocks=1, block_size=1, max_seqs=2, max_blocks_per_seq=1, "
                "id_bits=32)",
                " 1  allocate(0, 1)",
                " 2  fork(0, 1, None)  <- then ref_count(0) is 1, not 2",
            ],
        ),
        (
            LeaksOnFree,
            [
                "PoolConfig(total_blocks=1, block_size=1, max_seqs=1, max_blocks_per_seq=1, "
                "id_bits=32)",
                " 1  allocate(0, 1)",
                " 2  free(0)  <- 0 blocks are free; it should be 1",
            ],
        ),
    ],
)
def test_a_faulty_manager_is_shown_by_the_fewest_calls(make: Any, wanted: list[str]) -> None:
    config, calls, _ = found_in(make)
    lines = ManagerFault(make, "LIFO", (config,), [(0, call) for call in calls]).shortest(20.0)
    assert lines[: len(wanted)] == wanted
    if make is NeverCopies:
        # A pool of one block has none for the copy: it would be another difference.
        assert len(lines) == 4
        assert lines[3].startswith((" 3  append_slot(0)", " 3  append_slot(1)"))
        assert lines[3].endswith("was given block 0, which is in use")


def test_a_fault_that_does_not_come_back_is_not_shrunk() -> None:
    config, calls, _ = found_in(Unrepeatable)
    (line,) = ManagerFault(Unrepeatable, "LIFO", (config,), [(0, call) for call in calls]).shortest(
        5.0
    )
    assert "did not show again" in line


def test_a_fault_of_the_timed_loop_alone_is_shrunk_too() -> None:
    class LoopForgets(VectorManager):
        """The batch that a replay uses appends nothing to a second sequence."""

        def append_slots(self, seqs: Any) -> list[Copy]:
            return [made for seq in seqs.tolist()[:1] if (made := self.append_slot(seq))]

    config = PoolConfig(8, 2, 4, 4)
    calls = [
        Call("allocate", (2, 1)),
        Call("allocate", (1, 3)),
        Call("append_slot", (1,)),
        Call("append_slots", ((2, 1),)),
        Call("free", (2,)),
    ]
    lines = ReplayFault(LoopForgets, "per-step", config, calls).shortest(10.0)
    assert lines[0] == "replayed in one go (per-step):"
    # The same kind of difference as at first: a table that is too short, not a length.
    assert lines[-1].startswith((" 3  append_slots([", " 4  append_slots(["))
    assert "has 1 blocks; it should have 2" in lines[-1]


class GivesTwice(ListPool):
    def give(self, ids: Sequence[int]) -> None:
        super().give([*ids, ids[0]])


class RefusesTheLast(ListPool):
    def take(self, k: int) -> list[int]:
        return super().take(k + (k == len(self._free) > 2))


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (
            GivesTwice,
            [
                "Pool(total_blocks=1)",
                " 1  take(1)",
                " 2  give([0])  <- then num_free is 2; it should be 1",
            ],
        ),
        (
            RefusesTheLast,
            [
                "Pool(total_blocks=3)",
                " 1  take(3)  <- raised OutOfBlocks('4 blocks wanted, 3 free')",
            ],
        ),
    ],
)
def test_a_faulty_pool_is_shown_by_the_fewest_calls(make: Any, wanted: list[str]) -> None:
    calls = random_pool_program(20, random.Random(2), 60)
    assert PoolFault(make, "LIFO", (20,), [(0, call) for call in calls]).shortest(10.0) == wanted
