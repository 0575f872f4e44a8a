"""two-level: pages taken, given back and taken again, and blocks at the edges of pages."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from blockmark_impls.contract import (
    BlockManagerError,
    OutOfBlocks,
    PoolConfig,
    SequenceTooLong,
    UnknownSequence,
)
from blockmark_impls.python.vector import VectorManager
from blockmark_impls.registry import resolve

PAGE = 256  # ids a page, in both tiers
each_tier = pytest.mark.parametrize("tier", ["py", "cpp"])


def made(scheme: str, tier: str, **sizes: int) -> Any:
    (found,) = resolve(f"{scheme}/{tier}")
    if found.unavailable:
        pytest.skip(found.unavailable)
    defaults = {"total_blocks": 8192, "block_size": 1, "max_seqs": 8, "max_blocks_per_seq": 8192}
    return found.make_manager(PoolConfig(**{**defaults, **sizes}))


def outcome(manager: Any, name: str, *arguments: Any) -> Any:
    try:
        return getattr(manager, name)(*arguments)
    except (BlockManagerError, ValueError) as error:
        return type(error)


def near_an_edge(rng: random.Random) -> int:
    """A number of blocks up to a few pages, mostly a block or two from a page's edge."""
    return max(0, rng.randint(0, 4) * PAGE + rng.choice((-2, -1, 0, 0, 1, 2, rng.randint(0, 99))))


def operation(rng: random.Random, lengths: dict[int, int]) -> tuple[Any, ...]:
    seq = rng.choice([*lengths, 0])
    other, length, aim = rng.randrange(6), lengths.get(seq, 0), near_an_edge(rng)
    operations: dict[str, tuple[Any, ...]] = {
        "allocate": (other, aim),
        "append_slot": (seq,),
        "extend": (seq, max(0, aim - length)),
        "truncate": (seq, aim),
        "drop_front": (seq, aim),
        "fork": (seq, other, rng.choice((None, None, aim))),
        "free": (seq,),
    }
    name = rng.choices(list(operations), [3, 4, 6, 4, 3, 4, 2])[0]
    return name, *operations[name]


@each_tier
@pytest.mark.parametrize("block_size", [1, 3])
def test_blocks_at_the_edges_of_pages(tier: str, block_size: int) -> None:
    """Against a list per sequence, which has no edges; ids must agree, errors too."""
    seen: set[Any] = set()
    for seed in range(16):
        rng = random.Random(seed)
        sizes = {"total_blocks": 2400, "block_size": block_size, "max_seqs": 6}
        manager = made("two-level", tier, **sizes, max_blocks_per_seq=4 * PAGE)
        plain = VectorManager(PoolConfig(**sizes, max_blocks_per_seq=4 * PAGE))
        lengths: dict[int, int] = {}
        for _ in range(250):
            name, *arguments = operation(rng, lengths)
            if name in ("allocate", "extend", "truncate"):
                arguments[1] = arguments[1] * block_size - rng.randrange(block_size)
            expected = outcome(plain, name, *arguments)
            assert outcome(manager, name, *arguments) == expected, (seed, name, arguments)
            seen.add((name, expected if isinstance(expected, type) else "ok"))
            lengths = {}
            for live in range(6):
                table = outcome(plain, "block_table", live)
                assert outcome(manager, "block_table", live) == table, (seed, name, arguments)
                if isinstance(table, list):
                    lengths[live] = -(-plain.num_tokens(live) // block_size)
            assert manager.num_free_blocks == plain.num_free_blocks
            for live, length in lengths.items():
                for logical in {-1, 0, PAGE - 1, PAGE, 2 * PAGE - 1, 2 * PAGE, length - 1, length}:
                    assert outcome(manager, "lookup", live, logical) == outcome(
                        plain, "lookup", live, logical
                    )
        assert_same_rows(manager, plain, list(lengths))
    for name in ("allocate", "extend", "truncate", "drop_front", "fork", "free", "append_slot"):
        assert (name, "ok") in seen
    errors = {error for _, error in seen}
    assert errors >= {OutOfBlocks, SequenceTooLong, UnknownSequence, ValueError}


def assert_same_rows(manager: Any, plain: Any, seqs: list[int]) -> None:
    width = 4 * PAGE + 3
    rows = []
    for target in (manager, plain):
        out = np.full((len(seqs), width), -7, np.int32)
        lengths = np.full(len(seqs), -7, np.int32)
        target.write_block_tables(np.array(seqs, np.int32), out, lengths)
        rows.append((out, lengths))
    for got, expected in zip(*rows, strict=True):
        assert np.array_equal(got, expected)


@each_tier
def test_packed_rows_of_every_length_around_a_page(tier: str) -> None:
    manager = made("two-level", tier, total_blocks=4 * PAGE, max_seqs=1)
    manager.allocate(0, 1)
    out, lengths = np.zeros((1, 3 * PAGE), np.int32), np.zeros(1, np.int32)
    for length in range(1, 2 * PAGE + 2):
        out[:] = -7
        manager.write_block_tables(np.zeros(1, np.int32), out, lengths)
        assert out[0].tolist() == [*range(length), *[0] * (3 * PAGE - length)]
        assert lengths[0] == length
        manager.append_slot(0)


@each_tier
def test_pages_of_ended_sequences_are_taken_again(tier: str) -> None:
    manager = made("two-level", tier)
    for seq in range(8):
        manager.allocate(seq, 4 * PAGE)
    held = manager.table_bytes()
    for turn in range(50):
        for seq in range(8):
            manager.free(seq)
        # Other lengths, in other sequences: pages belong to none.
        for seq in range(turn % 4, turn % 4 + 4):
            manager.allocate(seq, 8 * PAGE)
        for seq in range(turn % 4, turn % 4 + 4):
            manager.truncate(seq, 4 * PAGE)
        for seq in set(range(8)) - set(range(turn % 4, turn % 4 + 4)):
            manager.allocate(seq, 4 * PAGE)
        assert manager.table_bytes() <= held + 64  # a Python list of free pages has spare room
    assert manager.num_free_blocks == 8192 - 32 * PAGE


@each_tier
def test_a_window_holds_two_pages_wherever_it_is(tier: str) -> None:
    manager = made("two-level", tier, total_blocks=200)
    # In C++ the first 32 pages are there from the beginning; 96 come and go below.
    most = manager.table_bytes() + (0 if tier == "cpp" else 3 * (PAGE * 2 + 100))
    for seq in (0, 7, 3):
        manager.allocate(seq, 100)
        for end in range(100, 8192):
            manager.append_slot(seq)
            manager.drop_front(seq, end - 99)
        assert len(manager.block_table(seq)) == 100
        assert manager.table_bytes() <= most
        manager.free(seq)
    assert manager.num_free_blocks == 200


@each_tier
def test_a_slot_that_grows_and_shrinks_over_an_edge(tier: str) -> None:
    manager = made("two-level", tier)
    manager.allocate(0, PAGE)
    manager.extend(0, 1)
    held = manager.table_bytes()
    for _ in range(200):
        manager.truncate(0, PAGE)
        manager.extend(0, 1)
    assert manager.table_bytes() <= held
    assert manager.block_table(0) == list(range(PAGE + 1))


@each_tier
def test_short_sequences_in_wide_tables_are_far_below_flat(tier: str) -> None:
    for widest, times in ((8192, 10), (65_536, 20)):
        sizes = {"total_blocks": 65_536, "max_seqs": 256, "max_blocks_per_seq": widest}
        flat, paged = made("flat-stack", tier, **sizes), made("two-level", tier, **sizes)
        for seq in range(256):
            flat.allocate(seq, 20)
            paged.allocate(seq, 20)
        assert paged.table_bytes() * times < flat.table_bytes()
        before = paged.table_bytes()
        for seq in range(4):
            paged.extend(seq, 30 * PAGE)
        # 120 pages, with as much again to spare at most.
        assert before < paged.table_bytes() < before + 240 * (PAGE * 2 + 80)


def test_bytes_of_the_native_table() -> None:
    # A directory row of 264 pointers (256, and one line of padding), 8 bytes for which of
    # them hold a page and 16 for the sequence itself; pages of 512 bytes.
    beside = 4 * (264 * 8 + 8 + 16)
    manager = made("two-level", "cpp", total_blocks=65_536, max_seqs=4, max_blocks_per_seq=65_536)
    assert manager.table_bytes() == beside + 32 * 512
    # 32 pages more when they run out, or half as many as there are.
    for pages, held in ((32, 32), (33, 64), (64, 64), (65, 96), (96, 96), (97, 144)):
        manager.allocate(0, pages * PAGE)
        assert manager.table_bytes() == beside + held * 512
        manager.free(0)
        assert manager.table_bytes() == beside + held * 512
    # Never more than every row could fill.
    small = made("two-level", "cpp", max_seqs=4, max_blocks_per_seq=PAGE + 1)
    assert small.table_bytes() == 4 * (2 * 8 + 8 + 16) + 4 * 2 * 512
    wide = made("two-level", "cpp", max_seqs=4, max_blocks_per_seq=PAGE, id_bits=64)
    assert wide.table_bytes() == 4 * (1 * 8 + 8 + 16) + 4 * 2048


def test_bytes_of_the_python_table_grow_by_pages() -> None:
    manager = made("two-level", "py", total_blocks=65_536, max_seqs=2, max_blocks_per_seq=65_536)
    before = manager.table_bytes()
    manager.allocate(0, 100 * PAGE)
    grown = manager.table_bytes() - before
    assert 100 * PAGE * 2 <= grown <= 100 * (PAGE * 2 + 100)
    manager.extend(0, 1)
    assert manager.table_bytes() - before == pytest.approx(grown * 101 / 100)
