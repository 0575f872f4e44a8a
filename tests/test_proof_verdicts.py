"""Verdicts at the border of the contract: what is allowed and only noted, and what is wrong
though it looks allowed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from blockmark_impls.contract import (
    Copy,
    OutOfBlocks,
    PoolConfig,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)
from blockmark_impls.python.hash_map import HashMapManager
from blockmark_impls.python.vector import VectorManager
from test_proof_kinds import CELL, manager_verdict

ROWS = {"rows": 3}


class _Lacking:
    """An attribute that is not there, though a base class has one of its name."""

    def __get__(self, instance: object, owner: type) -> None:
        raise AttributeError


def without(*names: str, make: type = VectorManager, **more: Any) -> type:
    """A class like another that lacks some operations, and has others."""
    return type("Part", (make,), {**dict.fromkeys(names, _Lacking()), **more})


def notes(make: type, **job: Any) -> list[str]:
    """What is noted of a class that is right."""
    found = manager_verdict(make, **job)
    assert found["status"] == "ok", found["reason"]
    return list(found["notes"])


def reason(make: type, **job: Any) -> str:
    """What is said of a class that is wrong."""
    found = manager_verdict(make, **job)
    assert found["status"] == "wrong", found
    return str(found["reason"])


# What is allowed.


class Full(OutOfBlocks):
    """A user's own error."""


class GoneError(UnknownSequence, KeyError):
    """Of two families, as where other code catches KeyError."""


class OwnErrors(VectorManager):
    def _take(self, count: int) -> list[int]:
        try:
            return super()._take(count)
        except OutOfBlocks as error:
            raise Full("full") from error

    def _table_of(self, seq: int) -> list[int]:
        try:
            return super()._table_of(seq)
        except UnknownSequence as error:
            raise GoneError(seq) from error

    def truncate(self, seq: int, num_tokens: int) -> None:
        try:
            super().truncate(seq, num_tokens)
        except ValueError as error:
            raise UnicodeError(str(error)) from error


def test_errors_of_ones_own_that_are_the_contracts_are_right() -> None:
    assert notes(OwnErrors) == []


class AnySlot(HashMapManager):
    """Starts a sequence whatever its number, and is right with it."""

    def _check_new(self, seq: int) -> None:
        if seq in self._tables:
            raise SequenceExists(f"sequence {seq} exists already")


def test_sequences_beyond_the_slots_are_noted() -> None:
    said = ["starts sequences beyond max_seqs, where the contract refuses them"]
    assert notes(AnySlot, random_programs=20) == said


class FromTwo(VectorManager):
    """Blocks of one token are not for it."""

    refused: ClassVar[list[PoolConfig]] = []

    def __init__(self, config: PoolConfig) -> None:
        if config.block_size < 2:
            self.refused.append(config)
            raise ValueError("block_size must be\n2 or more")
        super().__init__(config)


class OneBlockSize(VectorManager):
    made: ClassVar[list[PoolConfig]] = []

    def __init__(self, config: PoolConfig) -> None:
        if config.block_size != 4:
            raise ValueError("block_size must be 4")
        self.made.append(config)
        super().__init__(config)


class OneSize(VectorManager):
    made: ClassVar[list[PoolConfig]] = []

    def __init__(self, config: PoolConfig) -> None:
        if config != CELL:
            raise ValueError("one size fits all")
        self.made.append(config)
        super().__init__(config)


def test_a_block_size_that_is_refused_is_noted() -> None:
    FromTwo.refused.clear()
    (note,) = notes(FromTwo, random_programs=20)
    first = FromTwo.refused[0]
    # What was refused in more lines is told in one.
    assert note == (
        f"{len(FromTwo.refused)} of the sizes were refused, such as {first.total_blocks} blocks "
        f"of 1, {first.max_seqs} sequences of at most {first.max_blocks_per_seq} blocks "
        "(block_size must be 2 or more)"
    )


def test_the_cells_block_size_alone_is_proved_at_all_other_sizes() -> None:
    OneBlockSize.made.clear()
    (note,) = notes(OneBlockSize, random_programs=12, rows=12)
    assert " of the sizes were refused, such as " in note
    assert {config.block_size for config in OneBlockSize.made} == {4}
    assert len({config.total_blocks for config in OneBlockSize.made}) > 15


def test_one_size_alone_is_proved_there() -> None:
    OneSize.made.clear()
    found = manager_verdict(OneSize, **ROWS)
    assert found["status"] == "ok"
    # Twenty programs at the cell's size, 160 calls each, instead of all that was refused.
    assert found["operations"] == 20 * 160
    (note,) = found["notes"]
    assert note.endswith("(one size fits all)")
    assert OneSize.made == [CELL] * len(OneSize.made)


class OneSizeThatForgets(OneSize):
    def free(self, seq: int) -> None:
        super().free(seq)
        self._free.pop()


def test_one_size_alone_hides_nothing() -> None:
    assert "blocks are free; it should be" in reason(OneSizeThatForgets, **ROWS)


def test_one_size_alone_hides_nothing_from_a_quick_proof() -> None:
    assert "blocks are free; it should be" in reason(OneSizeThatForgets)


def test_a_part_is_noted_with_the_name_that_is_near() -> None:
    part = without("drop_front", dropfront=VectorManager.drop_front)
    assert notes(part) == ["without drop_front (it has dropfront)"]
    assert notes(without("drop_front", "fork", "ref_count")) == [
        "without drop_front, fork, ref_count"
    ]


def test_what_a_part_has_is_proved() -> None:
    part = without("extend", "truncate")
    assert notes(part, random_programs=12, **ROWS) == ["without extend, truncate"]

    def lookup(self: VectorManager, seq: int, logical: int) -> int:
        return VectorManager.lookup(self, seq, max(0, logical - 1))

    assert "lookup" in reason(without("extend", "truncate", lookup=lookup))


@pytest.mark.parametrize("name", ["allocate", "append_slot", "free", "block_table"])
def test_without_what_every_model_needs_there_is_no_verdict(name: str) -> None:
    found = manager_verdict(without(name))
    assert found["status"] == "unavailable"
    assert found["reason"] == f"Part lacks {name}, which every model needs"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("self", id="object"),
        pytest.param("ended", id="text"),
    ],
)
def test_what_an_operation_without_an_answer_returns_is_nobodys_business(answer: str) -> None:
    class Chatty(VectorManager):
        def free(self, seq: int) -> Any:
            super().free(seq)
            return self if answer == "self" else answer

    assert notes(Chatty) == []


def test_copies_may_name_blocks_by_numbers_of_numpys() -> None:
    import numpy as np

    class Numbers(VectorManager):
        def append_slot(self, seq: int) -> Copy | None:
            made = super().append_slot(seq)
            return made and Copy(np.int32(made.src), np.int32(made.dst))  # type: ignore[arg-type]

    assert notes(Numbers) == []


# What is wrong.


class LastSlot(VectorManager):
    """Counts from the end: slot -1 is the last one."""

    def _check_new(self, seq: int) -> None:
        super()._check_new(self._max_seqs - 1 if seq == -1 else seq)


def test_a_slot_that_is_another_ones_alias_is_wrong() -> None:
    assert reason(LastSlot) == "allocate(-1, 1) was accepted, and changed sequence 3"


class LosesBeyond(AnySlot):
    """Beyond the slots, blocks are taken and never given back."""

    def free(self, seq: int) -> None:
        free = len(self._free)
        super().free(seq)
        if seq >= self._max_seqs:
            del self._free[free:]


def test_a_sequence_beyond_the_slots_must_be_one_like_any_other() -> None:
    assert reason(LosesBeyond) == "allocate(4, 1) and free(4) lost a block"


class NoSlot(VectorManager):
    """An error of the contract, but another one."""

    def allocate(self, seq: int, num_tokens: int) -> None:
        if not 0 <= seq < self._max_seqs:
            raise UnknownSequence(f"there is no slot {seq}")
        super().allocate(seq, num_tokens)


def test_another_error_for_a_slot_that_is_none_is_wrong() -> None:
    assert reason(NoSlot) == (
        "allocate(4, 1) raised UnknownSequence('there is no slot 4') where the contract says "
        "ValueError: there are slots 0 to 3"
    )


class Memory(VectorManager):
    """A full pool is to it what a full machine is."""

    def _take(self, count: int) -> list[int]:
        if count > len(self._free):
            raise MemoryError(f"{count} blocks")
        return super()._take(count)


def test_a_memory_error_of_the_class_is_its_answer() -> None:
    said = reason(Memory)
    assert "MemoryError(" in said
    assert " where the contract says OutOfBlocks(" in said


class TokensFirst(VectorManager):
    def allocate(self, seq: int, num_tokens: int) -> None:
        if num_tokens < 1:
            raise ValueError("no tokens")
        super().allocate(seq, num_tokens)


class ChildFirst(VectorManager):
    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        if 0 <= child < self._max_seqs and self._tables[child]:
            raise SequenceExists("the child")
        super().fork(parent, child, num_blocks)


class PrefixFirst(VectorManager):
    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        if num_blocks is not None and num_blocks < 1:
            raise ValueError("no prefix")
        super().fork(parent, child, num_blocks)


class PoolFirst(VectorManager):
    """Looks into the pool before it looks at the length."""

    def allocate(self, seq: int, num_tokens: int) -> None:
        self._check_new(seq)
        if -(-num_tokens // self._block_size) > len(self._free):
            raise OutOfBlocks("too few")
        super().allocate(seq, num_tokens)


@pytest.mark.parametrize(
    ("make", "says", "instead"),
    [
        (TokensFirst, "SequenceExists", "ValueError(no tokens)"),
        (ChildFirst, "UnknownSequence", "SequenceExists(the child)"),
        # Of the parent and of the child, whichever of the two is met first.
        (PrefixFirst, "UnknownSequence", "ValueError(no prefix)"),
        (PoolFirst, "SequenceTooLong", "OutOfBlocks(too few)"),
    ],
)
def test_rules_are_broken_in_the_contracts_order(make: type, says: str, instead: str) -> None:
    said = reason(make, random_programs=30)
    assert f": {instead}" in said
    assert f" where the contract says {says}(" in said


def test_the_order_by_hand() -> None:
    """What the classes above are held against, asked of a class that keeps it."""
    manager = VectorManager(
        PoolConfig(total_blocks=4, block_size=2, max_seqs=4, max_blocks_per_seq=8)
    )
    manager.allocate(0, 3)
    for call, operands, error in (
        (manager.allocate, (0, 0), SequenceExists),
        (manager.allocate, (4, 0), ValueError),
        (manager.fork, (3, 0), UnknownSequence),
        (manager.fork, (0, 0, -1), SequenceExists),
        (manager.allocate, (1, 17), SequenceTooLong),
    ):
        with pytest.raises(error) as raised:
            call(*operands)
        assert type(raised.value) is error


def test_bytes_and_lengths_that_nobody_tells_are_not_missed() -> None:
    assert notes(without("table_bytes", "pool_bytes", "num_tokens")) == []
