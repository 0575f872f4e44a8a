"""The programs of the models: each does what its metric says, by a replay of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from blockmark.measure.probes.memory import contiguity
from blockmark.measure.proof.checker import Checker
from blockmark.workload.models import (
    condition_manager,
    full_rows,
    model_programs,
)
from blockmark.workload.program import Op, Program
from blockmark.workload.scenario import Cell, parse_scenario
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager

MANAGER_MODELS = ("lookup", "alloc_free", "pack", "fork")
SMALL: dict[str, Any] = {"total_blocks": 256, "max_blocks_per_seq": 16, "concurrency": 16}


def cell(**params: Any) -> Cell:
    text = "\n".join(f"{key} = {value!r}" for key, value in params.items())
    return parse_scenario(text, "models", "test").cells()[0]


def counts(program: Program, phase: int) -> Counter[str]:
    """Operations of each kind in the body's steps of one phase."""
    found: Counter[str] = Counter()
    for step in range(program.setup_steps, program.num_steps):
        if program.phases[step] == phase:
            found.update(code.name for _, code, *_ in program.operations(step))
    return found


def named(this: Cell, model: str) -> dict[str, tuple[Program, int]]:
    return {
        name: (measured.program, phase)
        for measured in model_programs(model, this)
        for phase, name in measured.metrics.items()
    }


@pytest.mark.parametrize("model", MANAGER_MODELS)
@pytest.mark.parametrize(
    "params",
    [
        SMALL,
        {**SMALL, "block_size": 1},
        {**SMALL, "concurrency": 1},
        {**SMALL, "total_blocks": 40, "max_blocks_per_seq": 7, "block_size": 3},
        {"total_blocks": 4, "max_blocks_per_seq": 2, "concurrency": 2, "block_size": 2},
    ],
)
def test_programs_are_right_and_cyclic(params: dict[str, Any], model: str) -> None:
    """No operation fails on a real manager, and two turns of the body end alike."""
    this = cell(**params)
    for measured in model_programs(model, this):
        program = measured.program
        manager = VectorManager(this.pool_config)
        checker = Checker(manager, this.pool_config, "LIFO")
        body = range(program.setup_steps, program.num_steps)
        checker.replay(program, range(program.setup_steps), 10**9)

        def lengths(seqs: range, of: Checker = checker) -> list[tuple[int, int]]:
            return [(s, of.oracle.tables[s].tokens) for s in seqs if s in of.oracle.tables]

        seqs = range(this.pool_config.max_seqs)
        before = lengths(seqs)
        for _ in range(2):
            for step in body:
                for _, code, a, b, c in program.operations(step):
                    checker.operation(code, a, b, c)
            assert lengths(seqs) == before
        assert len(body) % program.period == 0


def test_lookups_visit_every_entry_of_full_rows() -> None:
    this = cell(**SMALL)
    assert full_rows(this) == 16
    programs = named(this, "lookup")
    assert set(programs) == {
        "lookup_ordered_ns",
        "lookup_shuffled_ns",
        "lookup_chain_ordered_ns",
        "lookup_chain_shuffled_ns",
    }
    orders = {}
    for name, (program, phase) in programs.items():
        assert counts(program, phase).keys() == {"LOOKUP_CHAIN" if "chain" in name else "LOOKUP"}
        assert counts(program, phase).total() == program.units[phase]
        pairs = [
            (a, b)
            for step in range(program.setup_steps, program.num_steps)
            if program.phases[step] == phase
            for _, _, a, b, _c in program.operations(step)
        ]
        assert set(pairs) == {(seq, logical) for seq in range(16) for logical in range(16)}
        orders[name] = pairs[:256]
    assert orders["lookup_ordered_ns"] == sorted(orders["lookup_ordered_ns"])
    assert orders["lookup_shuffled_ns"] != sorted(orders["lookup_shuffled_ns"])
    assert sorted(orders["lookup_shuffled_ns"]) == orders["lookup_ordered_ns"]
    assert orders["lookup_chain_shuffled_ns"] == orders["lookup_shuffled_ns"]


def test_alloc_free_goes_up_from_half_of_the_pool() -> None:
    this = cell()
    for name in ("alloc_free_burst_ns", "alloc_free_interleaved_ns"):
        program, _ = named(this, "alloc_free")[name]
        held = sum(b // 16 for _, _, _, b, _c in program.operations(0))
        assert held == 65536 // 2
        step = program.setup_steps
        blocks = sum(
            b // 16
            for _, code, _, b, _c in program.operations(step)
            if code in (Op.ALLOCATE, Op.EXTEND)
        )
        # What a time is divided by is what one step takes and gives back.
        assert blocks == program.units[1] == 4096
    burst = counts(named(this, "alloc_free")["alloc_free_burst_ns"][0], 1)
    mixed = counts(named(this, "alloc_free")["alloc_free_interleaved_ns"][0], 1)
    assert burst == {"ALLOCATE": 16 * 8, "FREE": 16 * 8}
    assert mixed == {"ALLOCATE": 16 * 8, "EXTEND": 16 * 255 * 8, "FREE": 16 * 8}


def test_appends_are_counted_and_shrink_off_the_clock() -> None:
    program, phase = named(cell(), "alloc_free")["append_ns"]
    timed = counts(program, phase)
    assert timed == {"APPEND": int(program.units[1])}
    assert counts(program, 0) == {"TRUNCATE": 256}


def test_every_append_after_a_fork_makes_one_copy() -> None:
    this = cell(**SMALL)
    programs = named(this, "fork")
    program, fork_phase = programs["fork_per_block_ns"]
    _, copy_phase = programs["cow_per_copy_ns"]
    assert counts(program, fork_phase) == {"FORK": 8}
    assert counts(program, copy_phase) == {"APPEND": 8}
    assert program.units == {fork_phase: 8 * 16.0, copy_phase: 8.0}
    manager = VectorManager(this.pool_config)
    copies = 0
    for step in range(program.num_steps):
        for _, code, a, b, c in program.operations(step):
            if code is Op.ALLOCATE:
                manager.allocate(a, b)
            elif code is Op.FORK:
                manager.fork(a, b, c or None)
            elif code is Op.APPEND:
                copies += manager.append_slot(a) is not None
    assert copies == 8


def test_blocks_of_one_token_are_never_copied() -> None:
    assert set(named(cell(**{**SMALL, "block_size": 1}), "fork")) == {"fork_per_block_ns"}


@pytest.mark.parametrize(("block_size", "changed"), [(16, 1), (4, 4), (1, 16)])
def test_changed_rows_are_those_that_crossed_a_boundary(block_size: int, changed: int) -> None:
    program, phase = named(cell(**{**SMALL, "block_size": block_size}), "pack")["pack_changed_ns"]
    steps = [s for s in range(program.num_steps) if program.phases[s] == phase]
    assert len(steps) == program.units[phase]
    for step in steps:
        rows = [a for _, _, a, *_ in program.operations(step)]
        assert len(set(rows)) == changed
        # One call writes them all.
        assert len(list(program.runs(step))) == 1


@pytest.mark.parametrize("batch", [1, 8, 64])
def test_the_pool_is_half_held_and_comes_back_shuffled(batch: int) -> None:
    this = cell(total_blocks=1024, batch=batch, pool="fresh")
    (measured,) = model_programs("pool", this)
    program = measured.program
    pool, handles = ListPool(1024), dict[int, Any]()
    free_before_body = None
    for step in range(program.num_steps):
        if step == program.setup_steps:
            free_before_body = pool.num_free
        moved = 0
        for _, code, a, b, _c in program.operations(step):
            if code is Op.TAKE:
                assert a not in handles
                handles[a] = pool.take(b)
                moved += b
            else:
                moved += len(handles[a])
                pool.give(handles.pop(a))
        if step >= program.setup_steps:
            assert moved == program.units[program.phases[step]]
    assert free_before_body == pool.num_free == 512
    order = [a for _, _, a, *_ in program.operations(program.setup_steps + 1)]
    assert order != sorted(order)


def handed_out(condition: str) -> float:
    """Mean run of ids in the tables of a manager whose pool was conditioned."""
    this = cell(total_blocks=4096, max_blocks_per_seq=64, concurrency=64, pool=condition)
    manager = VectorManager(this.pool_config)
    checker = Checker(manager, this.pool_config, "LIFO")
    program = condition_manager(this)
    checker.replay(program, range(program.num_steps), 10**9)
    assert manager.num_free_blocks == 4096, "conditioning must give every block back"
    for seq in range(64):
        manager.allocate(seq, 64 * 16)
    return contiguity([manager.block_table(seq) for seq in range(64)])[0]


def test_conditions_scatter_the_free_ids_as_they_say() -> None:
    assert handed_out("fresh") == 64.0
    assert 1.0 <= handed_out("burst") < 4.0
    assert handed_out("shuffled") < 1.1
