"""Steady decode: lives, boundaries, periodicity, occupancy."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.workload.decode import (
    decode_facts,
    decode_program,
    occupied_blocks,
    plan_decode,
)
from blockmark.workload.keys import ConfigError
from blockmark.workload.program import Op
from blockmark.workload.scenario import Cell, parse_scenario


def cell(**params: Any) -> Cell:
    text = "\n".join(f"{key} = {value!r}" for key, value in params.items())
    return parse_scenario(text, "decode", "test").cells()[0]


def test_default_cell_by_hand() -> None:
    # 0.75 x 65,536 / 256 = 192 blocks a sequence on average, between 128 and 256; the
    # 2,048 tokens between are generated in 2,048 steps, so 256 / 2,048 = 1/8 end in one.
    plan = plan_decode(cell())
    assert plan.output == 2048
    assert plan.period == 16
    assert {-(-int(p) // 16) for p in plan.prompts} == {128}
    assert sorted(plan.progress)[:3] == [1, 9, 17]
    facts = decode_facts(cell(), decode_program(cell()))
    assert facts["operations_per_step"] == {
        "can_allocate": 0.125,
        "allocate": 0.125,
        "append": 256.0,
        "free": 0.125,
        "lookup": 256.0,
    }
    # 1/8 sequence a step ends with 256 blocks, all of which were taken: 32 a step.
    assert facts["blocks_taken_per_step"] == 32.0
    assert facts["occupancy_p95"] == pytest.approx(0.75, abs=0.005)


def test_worst_case_takes_a_block_per_sequence_and_step() -> None:
    facts = decode_facts(cell(block_size=1), decode_program(cell(block_size=1)))
    # 256 by appends, and two admissions a step of 128 blocks.
    assert facts["blocks_taken_per_step"] == 512.0
    # Two calls a sequence and step, and three things done for each of two blocks.
    assert facts["operations_per_sequence_step"] == pytest.approx(8.0, abs=0.05)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"block_size": 1},
        {"concurrency": 512},
        {"concurrency": 7, "block_size": 4},
        {"concurrency": 257},
        {"concurrency": 12, "total_blocks": 100, "max_blocks_per_seq": 9, "block_size": 3},
        {"prompt_tokens": 100, "output_tokens": 50, "concurrency": 20},
        {"output_tokens": 33, "concurrency": 5},
        {"prompt_tokens": 40, "concurrency": 16, "block_size": 8, "max_blocks_per_seq": 20},
        {"concurrency": 1},
    ],
)
def test_replayed_by_lengths_alone(params: dict[str, Any]) -> None:
    """A second, independent account: only lengths, in plain Python."""
    this = cell(**params)
    program = decode_program(this)
    size = this["block_size"]
    lengths: dict[int, int] = {}
    blocks_after, taken, ended = [], [], []
    initial: dict[int, int] = {}
    for step in range(program.num_steps):
        if step == program.setup_steps:
            initial = dict(lengths)
        new = freed = 0
        appended, looked_up = [], []
        for _, code, a, b, _c in program.operations(step):
            if code is Op.FREE:
                del lengths[a]
                freed += 1
            elif code is Op.ALLOCATE:
                assert a not in lengths
                lengths[a] = b
                new += -(-b // size)
            elif code is Op.APPEND:
                new += lengths[a] % size == 0
                lengths[a] += 1
                appended.append(a)
            elif code is Op.LOOKUP:
                # The slot of the token that was just appended.
                assert b == (lengths[a] - 1) // size
                looked_up.append(a)
            else:
                assert code is Op.CAN_ALLOCATE
        if step >= program.setup_steps:
            assert appended == looked_up == list(range(this["concurrency"]))
            blocks_after.append(sum(-(-n // size) for n in lengths.values()))
            taken.append(new)
            ended.append(freed)
    assert max(lengths.values()) <= this["max_blocks_per_seq"] * size
    # Cyclic: after the body every slot is where it was.
    assert lengths == initial
    # Periodic: every window of a period takes and ends the same number.
    period = program.period
    assert len(taken) % period == 0
    assert len({sum(taken[i : i + period]) for i in range(0, len(taken), period)}) == 1
    assert len({sum(ended[i : i + period]) for i in range(0, len(ended), period)}) == 1
    assert blocks_after == occupied_blocks(plan_decode(this), size).tolist()
    facts = decode_facts(this, program)
    assert facts["blocks_taken_per_step"] == pytest.approx(sum(taken) / len(taken))


def test_boundaries_fall_evenly_on_the_steps() -> None:
    program = decode_program(cell())
    lengths: dict[int, int] = {}
    crossings = []
    for step in range(program.setup_steps + 64):
        crossed = 0
        for _, code, a, b, _c in program.operations(step):
            if code is Op.ALLOCATE:
                lengths[a] = b
            elif code is Op.APPEND:
                crossed += lengths[a] % 16 == 0
                lengths[a] += 1
        crossings.append(crossed)
    # One sequence in sixteen, give or take one that was just admitted.
    assert all(15 <= n <= 17 for n in crossings[program.setup_steps :])


def test_seed_decides_the_order_and_nothing_else() -> None:
    assert decode_program(cell()).digest() == decode_program(cell()).digest()
    one, two = plan_decode(cell(seed=1)), plan_decode(cell(seed=2))
    assert one.progress.tolist() != two.progress.tolist()
    assert sorted(one.progress) == sorted(two.progress)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"total_blocks": 300, "concurrency": 256}, "too small for concurrency = 256"),
        ({"prompt_tokens": 4000, "output_tokens": 200}, "do not fit max_blocks_per_seq"),
        ({"output_tokens": 5000}, "leaves no room for a prompt"),
        ({"prompt_tokens": 4000, "output_tokens": 96, "concurrency": 300}, "at its peak"),
        (
            {
                "prompt_tokens": 16,
                "output_tokens": 4000,
                "concurrency": 20000,
                "total_blocks": 9000000,
                "id_bits": 32,
            },
            "appends; lower",
        ),
    ],
)
def test_a_load_that_does_not_fit_is_told(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        decode_program(cell(**params))
