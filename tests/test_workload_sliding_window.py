"""Sliding window: what is dropped, when, and what must stay."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from blockmark.workload.keys import ConfigError
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.program import Op
from blockmark.workload.scenario import Cell
from blockmark.workload.sliding_window import sliding_window_load
from oracle_replay import check_implementations, check_load, do, make_cell, steps_of

SMALL: dict[str, Any] = {
    "total_blocks": 400,
    "max_blocks_per_seq": 24,
    "block_size": 4,
    "window_tokens": 30,
}


def cell(**params: Any) -> Cell:
    return make_cell("sliding-window", **params)


@pytest.mark.parametrize(
    "params",
    [
        {**SMALL, "concurrency": 16},
        {**SMALL, "concurrency": 7, "window_tokens": 1},
        {**SMALL, "concurrency": 1, "window_tokens": 92},
        {**SMALL, "concurrency": 12, "window_tokens": 32},
        {**SMALL, "concurrency": 16, "block_size": 1, "window_tokens": 10},
        # Prompts that are longer than the window: the first step drops all at once.
        {**SMALL, "concurrency": 6, "prompt_tokens": 60, "output_tokens": 21},
        # Prompts that are shorter: nothing is dropped at first.
        {**SMALL, "concurrency": 6, "prompt_tokens": 3, "output_tokens": 60},
        # Nothing at all.
        {**SMALL, "concurrency": 4, "prompt_tokens": 3, "output_tokens": 5},
        # The pool has room for the windows and hardly more, so set-up must go in pieces.
        {**SMALL, "concurrency": 10, "total_blocks": 91, "prompt_tokens": 28},
    ],
)
def test_counts_and_what_stays(params: dict[str, Any]) -> None:
    this = cell(**params)
    load = sliding_window_load(this)
    done = check_load(this, load)
    assert load.facts["blocks_dropped_per_step"] == done.per_step("dropped")
    window, size = this["window_tokens"], this["block_size"]
    oracle = Oracle(this.pool_config)
    program = load.program
    for step in range(program.num_steps):
        looked_up = []
        for _, code, a, b, c in program.operations(step):
            do(oracle, code, a, b, c, Counter())
            if code is Op.LOOKUP:
                looked_up.append((a, b))
        for table in oracle.tables.values():
            # Tokens tokens - window to tokens - 1 are attended to, and no block before.
            assert table.first_kept == max(0, table.tokens - window) // size
            assert len(table.blocks) <= this["max_blocks_per_seq"]
        if step >= program.setup_steps:
            wanted = {(s, (t.tokens - 1) // size) for s, t in oracle.tables.items()}
            assert set(looked_up) == wanted
            assert len(looked_up) == this["concurrency"]
        oracle.released.clear()


def test_a_sequence_by_hand() -> None:
    """Window 8, blocks of 4, a prompt of 8, then tokens 9 to 20.

    With token 12 the first block lies behind (tokens 5 to 12 are attended to), with 16
    the second, with 20 the third. In use after each step: 3 3 3 2, three times.
    """
    this = cell(
        total_blocks=10,
        max_blocks_per_seq=5,
        block_size=4,
        window_tokens=8,
        concurrency=1,
        prompt_tokens=8,
        output_tokens=12,
    )
    load = sliding_window_load(this)
    steps, usage = check_load(this, load).from_admission()
    assert usage == [3, 3, 3, 2] * 3
    assert [step["dropped"] for step in steps] == [0, 0, 0, 1] * 3
    assert load.facts["blocks_dropped_per_step"] == 0.25
    assert load.facts["occupancy_mean"] == pytest.approx(0.275)
    drops = [
        (a, b) for step in steps_of(load.program) for code, a, b, _ in step if code is Op.DROP_FRONT
    ]
    assert sorted(drops) == [(0, 1), (0, 2), (0, 3)]


def test_past_the_window_each_sequence_drops_a_block_for_each_it_fills() -> None:
    this = cell(**{**SMALL, "window_tokens": 20}, concurrency=8, prompt_tokens=40)
    load = sliding_window_load(this)
    done = check_load(this, load)
    program = load.program
    # Prompts of ten blocks, of which the first step leaves 21 // 4 = 5 behind: 40 + 1 - 20.
    ends = load.facts["output_tokens"]
    late = (40 + ends - 20) // 4 - 5
    assert program.body_steps == ends
    dropped = sum(step["dropped"] for step in done.steps)
    assert dropped == 8 * (5 + late)
    assert late == pytest.approx(ends / 4, abs=1)


def test_the_default_cell() -> None:
    load = sliding_window_load(cell())
    facts = load.facts
    assert 512 <= facts["body_steps"] <= 2048
    assert load.program.period <= 128
    # A window of 1,024 tokens is 64 blocks, and a block or less on top.
    assert 64 <= facts["occupancy_mean"] * 65536 / 256 <= 65.5
    # One sequence in sixteen drops a block in a step, but for the few that were just
    # admitted: prompts end up to a block before the window's end.
    assert facts["blocks_dropped_per_step"] == pytest.approx(16, abs=0.5)


def test_seed_decides() -> None:
    def digest(**params: Any) -> str:
        return sliding_window_load(cell(**SMALL, concurrency=8, **params)).program.digest()

    assert digest() == digest(seed=1)
    assert digest() != digest(seed=2)


def test_real_managers_replay_it() -> None:
    this = cell(**SMALL, concurrency=16)
    check_implementations(this, sliding_window_load(this).program)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"window_tokens": 4096}, "no block ever falls behind it; lower window_tokens or raise"),
        ({"window_tokens": 0}, "window_tokens = 0 is out of range"),
        ({"window_tokens": 3000, "total_blocks": 20000}, "at its peak"),
        ({"prompt_tokens": 4096}, "do not fit max_blocks_per_seq = 256"),
        ({"output_tokens": 4096}, "a prompt and .* after it do not fit"),
        ({"model_shape": "opt-13b"}, "model_shape has no effect"),
    ],
)
def test_a_load_that_does_not_fit_is_told(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        sliding_window_load(cell(**params))
