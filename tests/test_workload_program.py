"""Programs: columns, counts, saving and loading."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import pytest

from blockmark.workload.program import Op, Program, ProgramBuilder, ProgramError


def small() -> Program:
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, [3, 4], 16)
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.APPEND, np.array([4, 3], dtype=np.int32))
    builder.run(Op.LOOKUP, [4, 3], [0, 1])
    builder.run(Op.FREE, [])  # an empty run leaves no trace
    builder.step(phase=2)
    builder.run(Op.FORK, 3, 5, 1)
    builder.run(Op.FREE, 5)
    return builder.build(period=2, units={1: 2.0, 2: 1.0}, width=7)


def operations(program: Program) -> list[list[tuple[int, Op, int, int, int]]]:
    return [list(program.operations(step)) for step in range(program.num_steps)]


EXPECTED = [
    [(0, Op.ALLOCATE, 3, 16, 0), (1, Op.ALLOCATE, 4, 16, 0)],
    [
        (2, Op.APPEND, 4, 0, 0),
        (3, Op.APPEND, 3, 0, 0),
        (4, Op.LOOKUP, 4, 0, 0),
        (5, Op.LOOKUP, 3, 1, 0),
    ],
    [(6, Op.FORK, 3, 5, 1), (7, Op.FREE, 5, 0, 0)],
]


def test_columns_hold_what_was_built() -> None:
    program = small()
    assert operations(program) == EXPECTED
    assert (program.num_steps, program.setup_steps, program.body_steps) == (3, 1, 2)
    assert program.num_operations == 8
    assert list(program.phases) == [0, 1, 2]
    assert program.codes.tolist() == [Op.ALLOCATE, Op.APPEND, Op.LOOKUP, Op.FORK, Op.FREE]


def test_counts_are_of_the_body_per_step() -> None:
    # Set-up's two allocations are not counted; the body has two steps.
    assert small().counts_per_step() == {"append": 1.0, "fork": 0.5, "free": 0.5, "lookup": 1.0}


def test_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    program, path = small(), tmp_path / "p.program"
    program.save(path)
    loaded = Program.load(path)
    assert operations(loaded) == EXPECTED
    assert loaded.units == {1: 2.0, 2: 1.0}
    assert (loaded.period, loaded.width, loaded.setup_steps) == (2, 7, 1)
    assert loaded.digest() == program.digest()


def test_digest_changes_with_any_operand() -> None:
    one = small()
    operands = array("i", one.b.tolist())
    operands[5] = 2
    other = Program(
        one.codes,
        one.run_start,
        one.a,
        memoryview(operands),
        one.c,
        one.step_runs,
        one.phases,
        one.setup_steps,
        one.period,
        one.units,
        one.width,
    )
    assert one.digest() == small().digest()
    assert one.digest() != other.digest()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: b"", "cannot be read"),
        (lambda data: b"hello\n" * 20, "not a blockmark program"),
        (lambda data: data[: len(data) // 2], "cut short"),
        (lambda data: data.replace(b'"period"', b'"perlod"'), "header is damaged"),
        (lambda data: data.replace(b'"columns"', b'"columnx"'), "header is damaged"),
    ],
)
def test_a_file_that_is_no_program_is_told(tmp_path: Path, change, says: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "p.program"
    small().save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ProgramError, match=says) as caught:
        Program.load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="No such file"):
        Program.load(tmp_path / "none.program")
