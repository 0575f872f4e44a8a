"""What shows a fault is short, and shows the fault that was found and no other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmark.measure.proof.counterexample import ManagerFault, PoolFault
from blockmark.measure.proof.shrink import smaller_numbers
from blockmark.workload.oracle.calls import Call
from blockmark.workload.oracle.pool_calls import PoolCall
from blockmark_impls.contract import Copy, PoolConfig
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager
from test_proof_kinds import OneRing, Rooms, broken, manager_verdict, pool_verdict

ONE = "total_blocks=1, block_size=1, max_seqs=1, max_blocks_per_seq=1, id_bits=16"
CONFIG = PoolConfig(total_blocks=40, block_size=4, max_seqs=8, max_blocks_per_seq=9)


def shown(verdict: dict[str, Any]) -> list[str]:
    assert verdict["status"] == "wrong"
    return list(verdict["shown_by"])


def shortest(make: Any, calls: Sequence[Call], seconds: float = 5.0) -> list[str]:
    steps = [(0, call) for call in calls]
    return ManagerFault(make, make.reuse_order, (CONFIG,), steps).shortest(seconds)


# Numbers.


@settings(deadline=None, max_examples=200)
@given(value=st.integers(-(2**40), 2**40), least=st.integers(0, 3))
def test_smaller_numbers_are_few_and_come_to_an_end(value: int, least: int) -> None:
    found = smaller_numbers(value, least)
    if value < 0:
        # Of all below zero -1 is the simplest, and nothing is simpler than that.
        assert found == ([-1] if value < -1 else [])
        return
    # Each is nearer to the least, so that whichever one goes on with, it ends.
    assert all(least <= number < value for number in found)
    assert len(set(found)) == len(found) < 45
    assert (value - 1 in found) == (value > least)


@pytest.mark.parametrize(
    ("value", "least", "wanted"),
    [
        (-1, 0, []),
        (-1, 1, []),
        (-2, 0, [-1]),
        (-(2**31), 1, [-1]),
        (0, 0, []),
        (0, 1, []),
        (1, 1, []),
        (1, 3, []),
        (2, 1, [1]),
        (8, 0, [0, 1, 4, 6, 7]),
    ],
)
def test_smaller_numbers_by_hand(value: int, least: int, wanted: list[int]) -> None:
    assert smaller_numbers(value, least) == wanted


# The fault that was found.


class MissesTheEnd(BitmapPool):
    """Finds no run that ends with the last block. It refuses to find 0, as the contract lets it."""

    def find_contiguous(self, k: int) -> int | None:
        found = super().find_contiguous(k)
        return None if found is not None and found + k == self._total else found


def test_a_run_of_no_blocks_is_not_asked_for() -> None:
    assert shown(pool_verdict(MissesTheEnd, shrink=True)) == [
        "Pool(total_blocks=1)",
        " 1  find_contiguous(1)  <- returned None; it should be 0",
    ]


class MissesThree(BitmapPool):
    def find_contiguous(self, k: int) -> int | None:
        return None if k >= 3 else super().find_contiguous(k)


def test_a_run_is_shown_in_a_pool_that_has_it() -> None:
    calls = [PoolCall("take", (5,)), PoolCall("find_contiguous", (9,))]
    fault = PoolFault(MissesThree, "next-fit", (24,), [(0, call) for call in calls])
    assert fault.shortest(5.0) == [
        "Pool(total_blocks=3)",
        " 1  find_contiguous(3)  <- returned None; it should be 0",
    ]


def test_what_one_pool_shows_is_shown_with_one() -> None:
    calls = [(0, PoolCall("take", (5,))), (1, PoolCall("find_contiguous", (9,)))]
    lines = PoolFault(MissesThree, "next-fit", (24, 24), calls).shortest(5.0)
    assert lines[0] == "Pool(total_blocks=3)"


class TwoFaults(VectorManager):
    """Two calls show that `free` leaks, unless something was cut before; three show the other:
    a fork of a fork has one block too many.
    """

    _cut = False

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        self._forks: set[int] = set()

    def truncate(self, seq: int, num_tokens: int) -> None:
        super().truncate(seq, num_tokens)
        self._cut = True

    def free(self, seq: int) -> None:
        super().free(seq)
        self._forks.discard(seq)
        if not self._cut:
            self._free.pop()

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if parent in self._forks:
            self._refs[self._tables[child][0]] += 1
        self._forks.add(child)


def test_a_shorter_list_that_shows_another_fault_is_none_of_this_one() -> None:
    calls = [
        Call("allocate", (0, 9)),
        Call("truncate", (0, 5)),
        Call("allocate", (5, 2)),
        Call("free", (5,)),
        Call("fork", (0, 1, None)),
        Call("append_slot", (0,)),
        Call("fork", (1, 2, None)),
    ]
    assert shortest(TwoFaults, calls) == [
        "PoolConfig(total_blocks=1, block_size=1, max_seqs=3, max_blocks_per_seq=1, id_bits=16)",
        " 1  allocate(0, 1)",
        " 2  fork(0, 1, None)",
        " 3  fork(1, 2, None)  <- then ref_count(0) is 4, not 3",
    ]
    # Without the cut it is the other one from the start.
    del calls[1]
    assert shortest(TwoFaults, calls)[1:] == [
        " 1  allocate(0, 1)",
        " 2  free(0)  <- 0 blocks are free; it should be 1",
    ]


class TokensFirst(VectorManager):
    def allocate(self, seq: int, num_tokens: int) -> None:
        if num_tokens < 1:
            raise ValueError("no tokens")
        super().allocate(seq, num_tokens)


class PrefixFirst(VectorManager):
    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        if num_blocks is not None and num_blocks < 1:
            raise ValueError("no prefix")
        super().fork(parent, child, num_blocks)


@pytest.mark.parametrize(
    ("make", "last"),
    [
        (TokensFirst, r" 2  allocate\(0, (0|-1)\)  <- ValueError\(no tokens\) where the contract"),
        (PrefixFirst, r" 2  fork\(0, 0, (0|-1)\)  <- ValueError\(no prefix\) where the contract"),
    ],
)
def test_numbers_that_break_a_rule_are_no_trap(make: Any, last: str) -> None:
    """0 is below the least that makes sense there, and there is nothing simpler."""
    for number in (0, -1, -7):
        operands = (3, number) if make is TokensFirst else (3, 3, number)
        method = "allocate" if make is TokensFirst else "fork"
        lines = shortest(make, [Call("allocate", (3, 6)), Call(method, operands)])
        assert lines[:2] == [f"PoolConfig({ONE})", " 1  allocate(0, 1)"]
        assert re.match(last, lines[2])
        assert lines[2].endswith(" says SequenceExists(sequence 0)")


# Two at once.


def test_two_managers_are_shown_with_both() -> None:
    lines = shown(manager_verdict(broken(Rooms), shrink=True))
    assert lines[0].startswith("a: PoolConfig(total_blocks=")
    assert lines[1].startswith("b: PoolConfig(total_blocks=")
    calls = [re.match(r" ?\d+  ([ab])\.\w+\(.*\)", line) for line in lines[2:]]
    assert all(calls)
    # Neither alone shows it: what one has started, the other has.
    assert {call[1] for call in calls if call} == {"a", "b"}
    assert len(calls) == 2
    assert "  <- " in lines[-1]


def test_two_pools_are_shown_with_both() -> None:
    lines = shown(pool_verdict(broken(OneRing), shrink=True))
    assert lines[0].startswith("a: Pool(total_blocks=")
    assert lines[1].startswith("b: Pool(total_blocks=")
    who = [re.match(r" ?\d+  ([ab])\.(take|give)\(", line) for line in lines[2:]]
    assert all(who)
    assert {call[1] for call in who if call} == {"a", "b"}


def test_of_two_managers_that_share_by_hand() -> None:
    calls = [
        (0, Call("allocate", (1, 6))),
        (1, Call("allocate", (5, 9))),
        (0, Call("free", (1,))),
        (0, Call("append_slot", (5,))),
    ]
    make = broken(Rooms)
    assert ManagerFault(make, "LIFO", (CONFIG, CONFIG), calls).shortest(5.0) == [
        f"a: PoolConfig({ONE})",
        f"b: PoolConfig({ONE})",
        " 1  b.allocate(0, 1)",
        " 2  a.append_slot(0)  <- returned None where the contract says "
        "UnknownSequence(sequence 0)",
    ]


# Sizes.


class Slots(VectorManager):
    """The slots from 4 on are one too short."""

    def allocate(self, seq: int, num_tokens: int) -> None:
        super().allocate(seq, num_tokens)
        if seq >= 4 and self._room[seq] > 0:
            self._room[seq] -= 1


def test_a_slot_stays_one_while_sizes_shrink() -> None:
    lines = shortest(Slots, [Call("allocate", (1, 5)), Call("allocate", (6, 6))])
    assert lines == [
        "PoolConfig(total_blocks=1, block_size=2, max_seqs=5, max_blocks_per_seq=1, id_bits=16)",
        " 1  allocate(4, 1)  <- then num_tokens(4) is 2, not 1",
    ]


class Words(ListPool):
    """Beyond 64 blocks the last one is lost when it comes back."""

    reuse_order: ClassVar[str] = "LIFO"

    def give(self, ids: Sequence[int]) -> None:
        super().give([block for block in ids if block < 64])


def test_a_pool_shrinks_to_the_size_that_shows_it() -> None:
    calls = [PoolCall("take", (80,)), PoolCall("give", tuple(range(70, 80))), PoolCall("drain")]
    lines = PoolFault(Words, "LIFO", (100,), [(0, call) for call in calls]).shortest(5.0)
    assert lines[0] == "Pool(total_blocks=65)"
    assert lines[1] == " 1  take(65)"
    assert lines[2] == " 2  give([64])  <- then num_free is 0; it should be 1"
    assert len(lines) == 3


# Long ones.


def test_of_a_list_that_stays_long_the_ends_are_shown() -> None:
    class Sixty(VectorManager):
        """Wrong after sixty appends: none of them can be left out."""

        _appends = 0

        def append_slot(self, seq: int) -> Any:
            made = super().append_slot(seq)
            self._appends += 1
            return Copy(0, 0) if self._appends == 59 else made

    calls = [Call("allocate", (0, 1)), *[Call("append_slot", (0,))] * 35]
    calls += [Call("truncate", (0, 1)), *[Call("append_slot", (0,))] * 30]
    lines = shortest(Sixty, calls, 1.0)
    numbers = [int(line.split()[0]) for line in lines[1:] if not line.startswith("    ... ")]
    last = numbers[-1]
    # Sixty calls or so, of which the first eight and the last 24 are shown.
    assert numbers == [*range(1, 9), *range(last - 23, last + 1)]
    assert lines[9] == f"    ... {last - 32} calls"
    assert 60 <= last <= 62
    assert "it should name the copies" in lines[-1]


class Unrepeatable(VectorManager):
    made: ClassVar[list[int]] = []

    def lookup(self, seq: int, logical: int) -> int:
        self.made.append(seq)
        return super().lookup(seq, logical) + (len(self.made) == 30)


def test_what_does_not_show_again_is_said() -> None:
    Unrepeatable.made.clear()
    lines = shown(manager_verdict(Unrepeatable, shrink=True))
    assert lines == ["it did not show again on a new one, so there is no shorter list of calls"]


_MADE: list[VectorManager] = []


class Meddles(VectorManager):
    """An append on one manager takes the first sequence away from the one made before it."""

    def __init__(self, config: PoolConfig) -> None:
        super().__init__(config)
        _MADE.append(self)

    def append_slot(self, seq: int) -> Copy | None:
        answer = super().append_slot(seq)
        if self is not _MADE[-2]:
            _MADE[-2].truncate(0, 1)
        return answer


def test_of_two_managers_the_text_names_the_one_that_is_wrong() -> None:
    """The last call is made on B, and A is what it breaks."""
    sizes = (PoolConfig(8, 1, 4, 4),) * 2
    steps = [
        (0, Call("allocate", (0, 2))),
        (1, Call("allocate", (0, 2))),
        (1, Call("append_slot", (0,))),
    ]
    lines = ManagerFault(Meddles, "LIFO", sizes, steps).shortest(1.0)
    (last,) = [line for line in lines if "<-" in line]
    assert "b.append_slot(0)" in last
    assert "then of a: " in last
