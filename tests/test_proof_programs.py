"""What the proof plays: numbers at their edges, sizes that meet in pairs, calls that the
contract knows, and an oracle that undoes what it could not finish.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmark.workload.oracle.calls import Call
from blockmark.workload.oracle.corners import Corner, corners
from blockmark.workload.oracle.coverage import Covered, _covered, _play, coverage
from blockmark.workload.oracle.model import Oracle, Table
from blockmark.workload.oracle.moves import OPERATIONS, Moves, apply_to_oracle, small_config
from blockmark.workload.oracle.numbers import LEVELS, around, at_level, pairs
from blockmark.workload.oracle.sized import DIMENSIONS, sized
from blockmark_impls.contract import (
    BlockManagerError,
    OutOfBlocks,
    PoolConfig,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)

CONTRACTS = (OutOfBlocks, SequenceTooLong, UnknownSequence, SequenceExists, ValueError)
ALWAYS = {"allocate", "append_slot", "free"}


# Numbers.


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 18])
def test_every_two_columns_hold_every_pair_of_levels_once(columns: int) -> None:
    rows = list(pairs(columns))
    assert {len(row) for row in rows} == {columns}
    every = Counter(product(range(17), repeat=2))
    for left, right in combinations(range(columns), 2):
        assert Counter((row[left], row[right]) for row in rows) == every


def test_more_columns_than_a_prime_has_lines_are_refused() -> None:
    with pytest.raises(ValueError, match="19 columns are more than 18"):
        next(pairs(19))


@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 2**32),
    limit=st.integers(1, 2**40),
    beside=st.lists(st.integers(-3, 2**41), max_size=3),
)
def test_a_number_is_never_outside_its_limit(seed: int, limit: int, beside: list[int]) -> None:
    rng = random.Random(seed)
    assert all(1 <= around(rng, limit, beside) <= limit for _ in range(50))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 64, 65, 100, 1_000, 4_096, 65_536])
def test_every_power_and_its_neighbours_are_drawn(limit: int) -> None:
    rng = random.Random(limit)
    drawn = {around(rng, limit) for _ in range(8_000)}
    powers = [2**k for k in range(20) if 2**k <= limit]
    wanted = {power + by for power in powers for by in (-1, 0, 1)}
    assert {number for number in wanted if 1 <= number <= limit} <= drawn


def test_a_quarter_lies_beside_what_is_named() -> None:
    rng = random.Random(5)
    drawn = Counter(around(rng, 50_000, (3_000, 21_000)) for _ in range(8_000))
    near = [drawn[number + by] for number in (3_000, 21_000) for by in (-1, 0, 1)]
    # The number itself is twice as likely as each neighbour; nothing else draws it.
    assert 0.2 < sum(near) / 8_000 < 0.3
    assert all(count > 100 for count in near)


@pytest.mark.parametrize(
    ("level", "turns"),
    [
        (0, [1, 2, 1, 1]),
        (1, [2, 3, 1, 2]),
        (2, [4, 5, 3, 3]),
        (4, [16, 17, 15, 12]),
        (16, [65_536, 65_537, 65_535, 49_152]),
    ],
)
def test_a_level_is_its_power_and_beside_it_by_turns(level: int, turns: list[int]) -> None:
    assert [at_level(level, turn) for turn in range(8)] == turns * 2


# Sizes.


def test_sizes_are_within_their_limits() -> None:
    for id_bits, seed in product((16, 32), range(6)):
        rows = sized(id_bits, seed)
        # Every row of the array once, in an order of the seed's own.
        assert sorted(one.number for one in rows) == list(range(LEVELS**2))
        for one in rows:
            config = one.config
            assert config.id_bits == id_bits
            # 16 MiB of a flat table, and tokens of which a Program's int32 can name twice as many.
            assert config.max_seqs * config.max_blocks_per_seq <= 4_194_304
            assert config.block_size * config.max_blocks_per_seq <= 1_073_741_824
            assert 1 <= one.live <= config.max_seqs
            assert min(one.values) >= 1
            assert len(one.values) == len(DIMENSIONS)
        widest = max(one.config.total_blocks for one in rows)
        assert widest == 65_536 if id_bits == 16 else widest >= 65_536


def test_a_seed_decides_the_sizes() -> None:
    assert sized(16, 1) == sized(16, 1)
    assert sized(16, 1) != sized(16, 2)
    orders = [[one.number for one in sized(16, seed)] for seed in (1, 2)]
    assert orders[0] != orders[1]


def test_a_block_size_that_is_given_is_every_ones() -> None:
    assert {one.config.block_size for one in sized(32, 3, 12)} == {12}


# Calls.


def answer(oracle: Oracle, call: Call) -> type[Exception] | None:
    """Make a call; the error that the contract says, exactly that, or None."""
    try:
        getattr(oracle, call.method)(*call.operands)
    except CONTRACTS as error:
        return type(error)
    return None


def small(number: int, **more: Any) -> tuple[Moves, Oracle]:
    rng = random.Random(number)
    oracle = Oracle(small_config(rng, 16))
    return Moves(oracle, rng, **more), oracle


def test_each_call_is_served_or_refused_by_the_contract() -> None:
    """In programs of a few sizes; each kind of answer is met in every operation that has it."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for number in range(60):
        moves, oracle = small(number)
        for call in moves.calls(160):
            error = answer(oracle, call)
            seen[call.method][error.__name__ if error else "served"] += 1
    assert set(seen) == set(OPERATIONS)
    refusals = {
        "can_allocate": set(),
        "allocate": {"OutOfBlocks", "SequenceTooLong", "SequenceExists", "ValueError"},
        "append_slot": {"OutOfBlocks", "SequenceTooLong", "UnknownSequence"},
        "append_slots": {"OutOfBlocks", "SequenceTooLong", "UnknownSequence"},
        "extend": {"OutOfBlocks", "SequenceTooLong", "UnknownSequence", "ValueError"},
        "truncate": {"UnknownSequence", "ValueError"},
        "drop_front": {"UnknownSequence", "ValueError"},
        "fork": {"UnknownSequence", "SequenceExists", "ValueError"},
        "free": {"UnknownSequence"},
        "lookup": {"UnknownSequence"},
        "lookup_slots": {"UnknownSequence"},
        "write_block_tables": {"UnknownSequence"},
    }
    assert {name: set(kinds) - {"served"} for name, kinds in seen.items()} == refusals
    # Where most were refused, programs would go nowhere.
    for name, kinds in seen.items():
        assert kinds["served"] > sum(kinds.values()) / 4, name


def test_the_calls_of_a_size_are_the_contracts_too() -> None:
    small_rows = [one for one in sized(16, 4) if one.config.total_blocks < 300][:25]
    for one in small_rows:
        oracle = Oracle(one.config)
        for call in one.calls(Moves(oracle, random.Random(one.number))):
            answer(oracle, call)
        # In the end the whole pool is taken once more, or all slots are.
        widest = one.config.max_seqs * one.config.max_blocks_per_seq
        assert len(oracle.ref_counts) == min(one.config.total_blocks, widest)


def test_what_is_left_out_is_never_called() -> None:
    lacking = {"fork", "lookup_slots", "append_slots", "write_block_tables", "drop_front"}
    rows = [one for one in sized(16, 2) if one.config.total_blocks < 1_000][:20]
    called = set()
    for one in rows:
        oracle = Oracle(one.config)
        moves = Moves(oracle, random.Random(one.number), left_out=lacking, swarm=one.number % 2 > 0)
        for call in one.calls(moves):
            called.add(call.method)
            apply_to_oracle(oracle, call)
    assert called == set(OPERATIONS) - lacking


def test_a_swarm_leaves_some_out_and_each_now_and_then() -> None:
    kept: Counter[str] = Counter()
    for number in range(80):
        moves, oracle = small(number, swarm=True)
        kept.update(list(moves.weights))
        names = set()
        for call in moves.calls(60):
            names.add(call.method)
            apply_to_oracle(oracle, call)
        assert names <= set(moves.weights)
    assert {name for name in OPERATIONS if kept[name] == 80} == ALWAYS
    # Three of ten are left out: 56 of 80 are kept, give or take some four deviations.
    assert all(40 < kept[name] < 72 for name in set(OPERATIONS) - ALWAYS)


def starts(call: Call) -> list[int]:
    """The slots that a call would start a sequence in."""
    place = {"allocate": 0, "fork": 1}.get(call.method)
    operand = None if place is None else call.operands[place]
    return [operand] if isinstance(operand, int) else []


@pytest.mark.parametrize("beyond", [True, False])
def test_sequences_are_started_in_slots_that_are_none_unless_told_not_to(beyond: bool) -> None:
    outside = 0
    for number in range(40):
        moves, oracle = small(number, slots_beyond=beyond)
        for call in moves.calls(120):
            outside += sum(not 0 <= seq < oracle.config.max_seqs for seq in starts(call))
            apply_to_oracle(oracle, call)
    assert (outside > 0) is beyond


def driven(config: PoolConfig, *moves_named: tuple[str, int]) -> Oracle:
    """The oracle after these moves, every call of which it serves."""
    oracle = Oracle(config)
    moves = Moves(oracle, random.Random(7))
    for name, number in moves_named:
        for call in getattr(moves, name)(number):
            assert answer(oracle, call) is None
    return oracle


def test_moves_go_where_they_are_sent() -> None:
    config = PoolConfig(total_blocks=600, block_size=4, max_seqs=300, max_blocks_per_seq=32)
    assert len(driven(config, ("crowd", 257)).tables) == 257
    assert len(driven(config, ("crowd", 900)).tables) == 300
    crowd = driven(config, ("crowd", 40), ("ebb", 3))
    assert len(crowd.tables) == 3
    assert driven(config, ("flood", 17)).num_free_blocks == 17
    # All forks name the first block; three of them write, and four end.
    oracle = Oracle(config)
    moves = Moves(oracle, random.Random(7))
    apply_to_oracle(oracle, Call("allocate", (3, 5)))
    most = 0
    for call in moves.readers(200):
        assert answer(oracle, call) is None
        most = max(most, *oracle.ref_counts.values())
    assert most == 200
    assert len(oracle.tables) == 196


# Corners.


@cache
def played(id_bits: int, *left_out: str) -> dict[str, tuple[Corner, Oracle, dict[str, int]]]:
    """Each corner, its oracle at the end, and the most that was reached on the way."""
    found = {}
    for corner in corners(id_bits, left_out):
        oracle = Oracle(corner.config)
        most = {"used": 0, "readers": 0, "longest": 0, "live": 0, "refused": 0}
        for call in corner.calls:
            most["refused"] += answer(oracle, call) is not None
            most["used"] = max(most["used"], len(oracle.ref_counts))
            most["live"] = max(most["live"], len(oracle.tables))
            for seq in call.sequences:
                if isinstance(table := oracle.tables.get(seq), Table):
                    most["longest"] = max(most["longest"], len(table.blocks))
                    most["readers"] = max(most["readers"], oracle.ref_counts[table.blocks[-1]])
        found[corner.name] = corner, oracle, most
    return found


def test_corners_reach_what_they_name() -> None:
    found = played(16)
    assert list(found) == [
        "every id of 65,536",
        "every id of 65,600",
        "every edge of a table",
        "65,600 forks",
    ]
    for total, bits in ((65_536, 16), (65_600, 32)):
        corner, _, most = found[f"every id of {total:,}"]
        assert (corner.config.total_blocks, corner.config.id_bits) == (total, bits)
        # One table of all that there is; it can't get longer, which is asked as well.
        assert most == {
            "used": total, "longest": total, "readers": 2, "live": 2, "refused": 1
        }  # fmt: skip
    _, oracle, most = found["65,600 forks"]
    # The first one and its forks; none of the calls is refused, and none is left.
    assert most["readers"] == 65_601
    assert most["refused"] == 0
    assert oracle.tables == {}
    corner, oracle, most = found["every edge of a table"]
    assert most["refused"] == 0
    assert oracle.tables == {}
    powers = [2**k for k in range(14)]
    edges = {power + by for power in powers for by in (-1, 0, 1)} - {0}
    for method, place in (("allocate", 1), ("extend", 1), ("fork", 2), ("drop_front", 1)):
        reached = {call.operands[place] for call in corner.calls if call.method == method}
        each = {3 * edge for edge in edges} if method in ("allocate", "extend") else edges
        assert each <= reached, method
    assert most["longest"] == 2 * (8_192 + 1)


def test_corners_are_those_that_the_ids_and_the_operations_leave() -> None:
    wide = ["every id of 65,600", "every edge of a table", "65,600 forks"]
    assert [corner.name for corner in corners(32, ())] == wide
    assert [corner.name for corner in corners(64, ())] == wide
    without = list(corners(16, ("fork", "lookup")))
    assert [corner.name for corner in without] == [
        "every id of 65,536",
        "every id of 65,600",
        "every edge of a table",
    ]
    assert not {"fork", "lookup"} & {call.method for corner in without for call in corner.calls}


def test_a_block_that_is_kept_for_itself_is_not_asked_for() -> None:
    for corner in corners(16, (), 1):
        if corner.name.startswith("every id"):
            oracle = Oracle(corner.config, corner.config.total_blocks - 1)
            assert [answer(oracle, call) for call in corner.calls[:2]] == [None, None]
            answer(oracle, corner.calls[2])  # copies a block into the last one
            assert oracle.num_free_blocks == 0


# What is covered.


@cache
def covered() -> list[Covered]:
    return coverage(1, 10)


def test_nearly_every_edge_of_every_dimension_is_reached() -> None:
    rows = covered()
    assert [row.what for row in rows[:4]] == list(DIMENSIONS[:4])
    assert len({row.what for row in rows}) == len(rows) == 19
    for row in rows:
        powers = [2**k for k in range(17) if 2**k <= row.limit]
        edges = {p + by for p in powers for by in (-1, 0, 1) if 1 <= p + by <= row.limit}
        assert row.edges == len(edges), row
        assert row.reached >= 0.85 * len(edges), row
        assert row.values >= row.reached
        assert row.largest >= row.limit, row


def test_edges_are_counted_by_hand() -> None:
    # Up to 10: 1 2 3 4 5 7 8 9; of these 3, 4 and 9 are taken, and 6 and 12 are no edges.
    assert _covered("this", {3, 4, 6, 9, 12}, 10) == Covered("this", 3, 8, 10, 12, 5)
    assert _covered("none", set(), 1) == Covered("none", 0, 1, 1, 0, 0)


def test_what_a_tiny_program_takes_is_counted_by_hand() -> None:
    values: dict[str, set[int]] = defaultdict(set)
    calls = [
        Call("allocate", (0, 3)),  # two blocks of two tokens
        Call("fork", (0, 3, None)),  # both shared, by two
        Call("append_slots", ((0, 3),)),  # the first copies, the second is alone by then
        Call("extend", (0, 5)),  # from 4 tokens to 9: three more blocks
        Call("lookup", (0, 4)),
        Call("lookup_slots", ((0, 3, 0), (1, 0, 2))),
        Call("write_block_tables", ((3, 0),)),
        Call("allocate", (9, 1)),  # no slot: it counts for nothing
        Call("drop_front", (0, 3)),
        Call("truncate", (0, 7)),
        Call("fork", (0, 1, None)),  # of the four blocks three are dropped
        Call("free", (3,)),
    ]
    _play(Oracle(PoolConfig(8, 2, 4, 8)), iter(calls), values)
    assert dict(values) == {
        "allocate: blocks": {2},
        "fork: blocks shared": {2, 1},
        "fork: tables that name the first block": {2},
        "append_slots: sequences": {2},
        "append_slots: copies": {1},
        "extend: new blocks": {3},
        "lookup: logical block": {4},
        "lookup_slots: pairs": {3},
        "write_block_tables: rows": {2},
        "drop_front: blocks": {3},
        "truncate: blocks left": {4},
        "free: blocks": {2},
        "any call: sequence": {0, 1, 3},
        # 8 - 2; a copy; 3 more; 0's first was shared, so two come back; one; two of 3.
        "free blocks": {6, 5, 2, 4, 7},
        "live sequences": {1, 2, 3},
    }


# The oracle.


def state(oracle: Oracle) -> tuple[dict[int, Table], dict[int, int], list[int]]:
    return deepcopy((oracle.tables, oracle.ref_counts, oracle.released))


def after(number: int, calls: int) -> Oracle:
    moves, oracle = small(number)
    for call in moves.calls(calls):
        apply_to_oracle(oracle, call)
    return oracle


@settings(deadline=None, max_examples=150)
@given(
    number=st.integers(0, 10_000),
    calls=st.integers(0, 60),
    batch=st.lists(st.integers(0, 7), min_size=0, max_size=12),
    last=st.sampled_from((-1, 99, None)),
)
def test_a_batch_that_fails_leaves_all_as_it_was(
    number: int, calls: int, batch: list[int], last: int | None
) -> None:
    oracle = after(number, calls)
    live = list(oracle.tables)
    seqs = [live[place % len(live)] for place in batch if live]
    if last is None:
        # More tokens than a table can hold: too long, or out of blocks before that.
        if not live:
            return
        most = oracle.config.max_blocks_per_seq * oracle.config.block_size
        seqs += live[:1] * (most + 1)
    else:
        seqs.append(last)
    before = state(oracle)
    with pytest.raises(BlockManagerError):
        oracle.append_slots(seqs)
    assert state(oracle) == before


@settings(deadline=None, max_examples=100)
@given(
    number=st.integers(0, 10_000),
    calls=st.integers(5, 60),
    batch=st.lists(st.integers(0, 7), min_size=1, max_size=12),
)
def test_a_batch_is_its_appends_in_turn(number: int, calls: int, batch: list[int]) -> None:
    one, other = after(number, calls), after(number, calls)
    live = list(one.tables)
    seqs = [live[place % len(live)] for place in batch if live]
    copies: list[Any] = []
    try:
        copies.extend(other.append_slot(seq) for seq in seqs)
    except BlockManagerError as error:
        with pytest.raises(type(error)):
            one.append_slots(seqs)
        return
    assert one.append_slots(seqs) == [copy for copy in copies if copy]
    assert state(one) == state(other)


def test_a_batch_that_copied_and_took_a_block_is_undone_by_hand() -> None:
    oracle = Oracle(PoolConfig(total_blocks=4, block_size=2, max_seqs=4, max_blocks_per_seq=4))
    oracle.allocate(0, 1)
    oracle.fork(0, 1)
    oracle.allocate(2, 2)
    # 0 copies, 2 takes the last block, 1 needs none, and the second 2 and 0 need one each.
    with pytest.raises(OutOfBlocks):
        oracle.append_slots([0, 2, 1, 2, 0])
    assert {seq: (t.tokens, t.blocks) for seq, t in oracle.tables.items()} == {
        0: (1, [0]),
        1: (1, [0]),
        2: (2, [1]),
    }
    assert oracle.ref_counts == {0: 2, 1: 1}
    assert oracle.num_free_blocks == 2


def every_order(config: PoolConfig) -> Iterator[tuple[Call, type[Exception]]]:
    """Calls that break two rules at once, and the one that comes first."""
    full = config.max_blocks_per_seq * config.block_size
    yield Call("allocate", (0, 0)), SequenceExists
    yield Call("allocate", (0, full + 1)), SequenceExists
    yield Call("allocate", (config.max_seqs, 0)), ValueError
    yield Call("allocate", (1, full + 1)), SequenceTooLong
    yield Call("fork", (3, 0, None)), UnknownSequence
    yield Call("fork", (3, -1, None)), UnknownSequence
    yield Call("fork", (0, 0, 99)), SequenceExists
    yield Call("fork", (0, -1, 99)), ValueError
    yield Call("extend", (3, -1)), UnknownSequence
    yield Call("truncate", (3, 0)), UnknownSequence
    yield Call("drop_front", (-1, -1)), UnknownSequence


def test_of_two_rules_that_are_broken_the_first_of_the_contract_counts() -> None:
    config = PoolConfig(total_blocks=4, block_size=2, max_seqs=4, max_blocks_per_seq=8)
    oracle = Oracle(config)
    oracle.allocate(0, 3)
    for call, error in every_order(config):
        before = state(oracle)
        assert answer(oracle, call) is error, call
        assert state(oracle) == before
