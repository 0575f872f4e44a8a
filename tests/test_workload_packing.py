"""A load with packing: the same steps, and behind each the rows that it scheduled."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockmark.measure.proof.checker import check_state
from blockmark.measure.replay import bind
from blockmark.workload.build import build_cell, build_load
from blockmark.workload.packing import packed_bytes, with_packing
from blockmark.workload.program import Op, Program, ProgramBuilder
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.registry import resolve

SIZES = "total_blocks = 1024\nmax_blocks_per_seq = 32\nconcurrency = 16\nblock_size = 4\n"
LOADS = {
    "decode": "",
    "beam": "beam_width = 2",
    "parallel-sampling": "parallel_samples = 2",
    "speculative": "",
    "sliding-window": "window_tokens = 32",
    "serving": "requests = 40\nprompt_tokens = 20\noutput_tokens = 12",
}


def steps_of(program: Program) -> list[tuple[int, list[tuple[Op, int, int, int]]]]:
    """Every step: its phase, and its operations without their numbers."""
    return [
        (program.phases[step], [operation[1:] for operation in program.operations(step)])
        for step in range(program.num_steps)
    ]


def by_hand() -> Program:
    builder = ProgramBuilder()
    builder.step(phase=1)  # of the set-up, so never packed
    builder.run(Op.ALLOCATE, [0, 1, 2], 3)
    builder.run(Op.LOOKUP, [0], 0)
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.APPEND, [0, 1, 2])
    builder.run(Op.LOOKUP, [2, 0], 0)
    builder.run(Op.CAN_ALLOCATE, 1)
    builder.run(Op.LOOKUP, [0, 1, 2], [0, 0, 0])
    builder.step()  # off the clock
    builder.run(Op.LOOKUP, [1], 0)
    builder.step(phase=1)  # nothing looked up
    builder.run(Op.APPEND, [1])
    builder.step(phase=1)  # looked up, then freed: no row to hand over
    builder.run(Op.LOOKUP, [1, 0], 0)
    builder.run(Op.FREE, [0])
    return builder.build(period=4, units={1: 3.0}, width=8, probe=3)


def test_a_step_that_looks_up_is_followed_by_its_rows() -> None:
    program = by_hand()
    packed = with_packing(program)
    plain = steps_of(program)
    assert steps_of(packed) == [
        plain[0],
        plain[1],
        (2, [(Op.PACK, 2, 0, 0), (Op.PACK, 0, 0, 0), (Op.PACK, 1, 0, 0)]),
        plain[2],
        plain[3],
        plain[4],
        (2, [(Op.PACK, 1, 0, 0)]),
    ]
    # A packing is one call, so one run.
    assert [code for code, _, _ in packed.runs(2)] == [Op.PACK]
    assert (packed.setup_steps, packed.period, packed.probe, packed.width) == (1, 6, 4, 8)
    assert packed.units == {1: 3.0, 2: 2.0}


def test_periods_that_come_to_differ_are_one() -> None:
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, [0], 3)
    builder.end_setup()
    for looks in (True, True, False, False):
        builder.step(phase=1)
        if looks:
            builder.run(Op.LOOKUP, [0], 0)
    packed = with_packing(builder.build(period=2, units={1: 2.0}))
    # Four steps and two packings; a period of two steps had two of these or none.
    assert (packed.period, packed.units) == (6, {1: 4.0, 2: 2.0})


def test_bytes_are_those_of_whole_rows_for_each_step() -> None:
    packed = with_packing(by_hand())
    # Three rows, none, one; three steps of phase 1; eight columns of four bytes.
    assert packed_bytes(packed) == round(4 / 3 * 8 * 4)
    assert packed_bytes(by_hand()) == 0


@pytest.mark.parametrize("workload", LOADS)
def test_every_load_can_be_packed(workload: str) -> None:
    text = f'workload = "{workload}"\n{SIZES}{LOADS[workload]}'
    cell = parse_scenario(text, "s", "s").cells()[0]
    program = build_load(cell).program
    packed = with_packing(program)
    assert [step for step in steps_of(packed) if step[0] != 2] == steps_of(program)
    assert packed.body_steps % packed.period == 0
    assert packed.width == cell["max_blocks_per_seq"]
    for phase, operations in steps_of(packed):
        if phase == 2:
            rows = [a for _, a, _, _ in operations]
            assert len(set(rows)) == len(rows) > 0
    # Replayed once round, every row can be written and the tables are as without packing.
    impl = resolve("flat-stack/cpp")[0]
    manager = impl.make_manager(cell.pool_config)
    replay = bind(manager, packed, "native")
    replay.setup()
    replay.run(0, packed.body_steps)
    check_state(manager, cell.pool_config, program, [*range(program.num_steps)])


def test_every_sequence_of_steady_decode_is_packed_once_a_step() -> None:
    cell = parse_scenario(SIZES + 'models = ["rate"]', "s", "s").cells()[0]
    load, packed = build_cell(cell).measured["rate"]
    assert packed_bytes(packed.program) == 16 * 32 * 4
    assert packed.program.body_steps == 2 * load.program.body_steps
    assert packed.program.units == dict.fromkeys((1, 2), load.program.units[1])


def test_a_packed_program_is_saved_and_mapped(tmp_path: Path) -> None:
    packed = with_packing(by_hand())
    packed.save(tmp_path / "packed")
    mapped = Program.load(tmp_path / "packed")
    assert steps_of(mapped) == steps_of(packed)
    assert mapped.digest() == packed.digest()
