"""The programs of a pool alone: its occupancy, its age, and that every turn ends alike."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.measure.probes.free_blocks import (
    free_block_counts,
    moves_to_free,
    runs_of,
    share_found,
)
from blockmark.measure.replay import bind
from blockmark.workload.measured import Measured
from blockmark.workload.pool_models import (
    free_blocks,
    free_space_programs,
    pool_programs,
    pool_refusals,
)
from blockmark.workload.program import Op, Program
from blockmark.workload.scenario import Cell, parse_scenario
from blockmark_impls.python.bitmap_pool import BitmapPool
from blockmark_impls.python.linked_list_pool import LinkedListPool
from blockmark_impls.python.list_pool import ListPool

CONDITIONS = ("fresh", "burst", "shuffled")


def cell(**params: Any) -> Cell:
    given = {"models": ["pool", "free_space"], "concurrency": 1, **params}
    text = "\n".join(f"{key} = {value!r}" for key, value in given.items())
    return parse_scenario(text, "pools", "test").cells()[0]


def programs(this: Cell) -> list[Measured]:
    return [*pool_programs(this), *free_space_programs(this)]


def counts(pool_class: Any, this: Cell) -> dict[str, float]:
    """The exact counts of one pool, as a round finds them."""
    found: dict[str, float] = {}
    for measured in programs(this):
        if measured.metrics[1] == "remove_ns":
            continue  # nothing is counted of it, and a stack has no such operation
        pool = pool_class(this["total_blocks"])
        bind(pool, measured.program, "per-op").setup()
        entries = free_block_counts(pool, measured.metrics, this.values, measured.program)
        found |= {name: entry.value for name, entry in entries.items()}
    return found


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("occupancy", [0.0, 0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("total", [5, 100, 1_024, 4_097])
def test_others_hold_exactly_the_occupancy(condition: str, occupancy: float, total: int) -> None:
    this = cell(total_blocks=total, pool=condition, pool_occupancy=occupancy, batch=4)
    assert free_blocks(this) == total - int(total * occupancy)
    for measured in programs(this):
        for pool_class in (LinkedListPool, BitmapPool):
            pool = pool_class(total)
            replay = bind(pool, measured.program, "per-op")
            replay.setup()
            for _ in range(2):
                assert pool.num_free == free_blocks(this)
                replay.run(0, measured.program.body_steps)
        assert measured.pool_only
        assert measured.program.body_steps % measured.program.period == 0


def test_half_is_held_where_nothing_is_said() -> None:
    assert free_blocks(cell(total_blocks=1_000)) == 500
    assert "pool_occupancy" not in cell(total_blocks=1_000).values


def free_along(program: Program, total: int) -> list[int]:
    """How many blocks are free after each operation of the set-up."""
    held: dict[int, int] = {}
    free, seen = total, list[int]()
    for step in range(program.setup_steps):
        for _, code, a, b, _c in program.operations(step):
            if code is Op.TAKE:
                assert not held.get(a)
                held[a] = b
                free -= b
            else:
                free += held.pop(a)
            seen.append(free)
    return seen


def test_bursts_go_from_the_low_water_mark_to_the_whole_pool() -> None:
    this = cell(total_blocks=4_096, pool="burst", pool_occupancy=0.9)
    (measured,) = pool_programs(this)
    seen = free_along(measured.program, 4_096)
    turns = [
        free
        for before, free, after in zip(seen, seen[1:], seen[2:], strict=False)
        if (free - before) * (after - free) < 0
    ]
    full, empty = turns[::2], turns[1::2]
    assert full == [0, 0, 0]
    # A whole request ends where a part would do; what is too much is taken at once.
    assert all(4_096 * 0.7 <= free < 4_096 * 0.7 + 64 for free in empty[:2])
    assert seen[-1] == free_blocks(this) == 4_096 - 3_686


def test_age_scatters_what_is_handed_out_and_a_bitmap_least() -> None:
    """The proof of the condition, of hand-outs of 64 from 4,096 blocks in use to 90 %."""
    found = {
        (condition, pool.__name__): counts(
            pool, cell(total_blocks=4_096, pool=condition, pool_occupancy=0.9, batch=64)
        )
        for condition in CONDITIONS
        for pool in (ListPool, LinkedListPool, BitmapPool)
    }
    for name in ("ListPool", "LinkedListPool", "BitmapPool"):
        fresh = found["fresh", name]
        assert (fresh["take_run_length"], fresh["take_descriptors"]) == (64.0, 1.0)
        assert (fresh["longest_free_run"], fresh["compact_moves"]) == (410.0, 0.0)
        assert fresh["contiguous_found"] == 1.0
        shuffled = found["shuffled", name]
        assert shuffled["take_run_length"] < 1.3
        assert shuffled["contiguous_found"] == 0.0
        # Of the 410 at the top nine in ten are used, and have to go.
        assert 0.85 < shuffled["compact_moves"] / 410 < 0.95
    burst = {name: found["burst", name]["take_run_length"] for (c, name) in found if c == "burst"}
    assert 1.0 <= burst["ListPool"] < 2.0
    assert 1.0 <= burst["LinkedListPool"] < 2.0
    assert burst["BitmapPool"] > 3 * burst["LinkedListPool"]
    for counted in found.values():
        # Three hand-outs of 64 fit into half of 410.
        assert counted["take_run_length"] * counted["take_descriptors"] == pytest.approx(64)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_is_removed_is_free_then(condition: str) -> None:
    """A handle is taken back only while no other operation can have had its blocks."""
    this = cell(total_blocks=512, pool=condition, pool_occupancy=0.5, batch=8)
    (program,) = (m.program for m in free_space_programs(this) if 1 in m.metrics
                  and m.metrics[1] == "remove_ns")  # fmt: skip
    given: dict[int, int] = {}
    for step in [*range(program.num_steps), *range(program.setup_steps, program.num_steps)]:
        for _, code, a, b, _c in program.operations(step):
            if code is Op.TAKE:
                given.clear()
            elif code is Op.GIVE:
                given[a] = 8
            else:
                assert code is Op.REMOVE
                assert given.pop(a) == b
    assert program.units == {1: 16 * 8.0}  # half of 256 free blocks


@pytest.mark.parametrize(
    ("params", "names", "says"),
    [
        (
            {"batch": 64},
            {"take_ns", "give_ns", "take_run_length", "take_descriptors", "remove_ns"},
            "batch = 64 is more than the 41 blocks that pool_occupancy = 0.99 leaves free",
        ),
        (
            {"contiguous": 42, "batch": 1},
            {"find_contiguous_ns", "contiguous_found"},
            "contiguous = 42 is more than the 41 blocks that pool_occupancy = 0.99 leaves free",
        ),
        (
            {"compact_share": 0.01, "batch": 1},
            {"compact_ns", "compact_moves"},
            "compact_share = 0.01 is less than one of the 41 blocks that pool_occupancy = 0.99 "
            "leaves free",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(
    params: dict[str, Any], names: set[str], says: str
) -> None:
    this = cell(total_blocks=4_096, pool_occupancy=0.99, **params)
    refused = pool_refusals("pool", this) | pool_refusals("free_space", this)
    assert refused == dict.fromkeys(names, says)
    made = {name for measured in programs(this) for name in measured.metrics.values()}
    assert made == {
        "take_ns", "give_ns", "remove_ns", "find_contiguous_ns", "compact_ns",
    } - names  # fmt: skip


def test_a_compaction_of_a_part_and_a_search_are_what_the_cell_says() -> None:
    this = cell(total_blocks=1_000, pool_occupancy=0.6, compact_share=0.25, contiguous=7)
    operations = {
        measured.metrics[1]: list(measured.program.operations(measured.program.setup_steps))
        for measured in free_space_programs(this)
    }
    assert [(code, a) for _, code, a, _, _ in operations["compact_ns"]] == [(Op.COMPACT, 100)]
    assert {(code, a) for _, code, a, _, _ in operations["find_contiguous_ns"]} == {(Op.FIND, 7)}
    # A look through the pool counts as its 400 free blocks where effort is bounded.
    by_name = {measured.metrics[1]: measured.program for measured in free_space_programs(this)}
    assert by_name["compact_ns"].work_in(1) == 400
    assert by_name["find_contiguous_ns"].work_in(1) % 400 == 0


def test_counts_of_free_blocks_by_hand() -> None:
    free = [1, 2, 3, 7, 9, 10, 11, 12]
    assert runs_of(free) == [3, 1, 4]
    assert runs_of([]) == []
    # Of four pairs that 8 blocks would make, 1 and 2 can be had; of two threes, 1 and 1.
    assert share_found(free, 2) == 3 / 4
    assert share_found(free, 3) == 2 / 2
    assert share_found(free, 5) == 0.0
    # Of 14 blocks 6 to 13 are at the top; used among them are 6, 8 and 13.
    assert moves_to_free(free, 14, 8) == 3
    assert moves_to_free(free, 14, 0) == 0
