"""Beam search: survival, copies, forks, and a group followed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockmark.workload import beam
from blockmark.workload.beam import beam_load, candidates_kept
from blockmark.workload.keys import ConfigError
from blockmark.workload.program import Op
from blockmark.workload.scenario import Cell
from oracle_replay import check_implementations, check_load, make_cell, replay_on_oracle, steps_of

SMALL: dict[str, Any] = {"total_blocks": 400, "max_blocks_per_seq": 24, "block_size": 4}


def cell(**params: Any) -> Cell:
    return make_cell("beam", **params)


@pytest.mark.parametrize(
    "params",
    [
        {**SMALL, "concurrency": 8},
        {**SMALL, "concurrency": 8, "beam_survival": "steady"},
        {**SMALL, "concurrency": 8, "beam_survival": "dominant", "beam_width": 3},
        {**SMALL, "concurrency": 7, "beam_width": 1},
        {**SMALL, "concurrency": 1, "beam_width": 2},
        {**SMALL, "concurrency": 16, "block_size": 1},
        {**SMALL, "concurrency": 6, "prompt_tokens": 16, "output_tokens": 21},
        {**SMALL, "concurrency": 6, "prompt_tokens": 3},
        {**SMALL, "concurrency": 4, "output_tokens": 40},
        {**SMALL, "concurrency": 20, "beam_width": 8, "occupancy": 1.0},
    ],
)
def test_counts_are_those_of_a_replay(params: dict[str, Any]) -> None:
    this = cell(**params)
    load = beam_load(this)
    done = check_load(this, load)
    facts, width = load.facts, this["beam_width"]
    assert facts["forks_per_step"] == done.per_step("FORK")
    assert facts["copies_per_step"] == done.per_step("copies")
    # The default model has 128 KiB of KV entries a token.
    block_bytes = this["block_size"] * (128 << 10)
    assert facts["copy_bytes_per_step"] == pytest.approx(done.per_step("copies") * block_bytes)
    assert facts["shared_blocks_share"] == done.total("shared") / done.total("entries")
    assert facts["running_mean"] == this["concurrency"] * width
    everybody = list(range(this["concurrency"] * width))
    for operations in steps_of(load.program):
        assert sorted(a for code, a, _, _ in operations if code is Op.APPEND) == everybody
        assert sorted(a for code, a, _, _ in operations if code is Op.LOOKUP) == everybody
        # Whoever is forked into a slot, somebody else has left it or was not there yet.
        codes = [code for code, *_ in operations]
        assert codes == sorted(codes, key=[*beam.BeamGroup.stages].index)


def test_the_default_cell() -> None:
    load = beam_load(cell())
    assert load.facts["occupancy_p95"] == pytest.approx(0.75, abs=0.02)
    assert 512 <= load.facts["body_steps"] <= 1024
    assert load.program.period <= 128
    # A prompt is named by four beams.
    assert load.facts["shared_blocks_share"] > 0.9


def followed(monkeypatch: pytest.MonkeyPatch, kept: list[list[int]], **params: Any) -> Any:
    """One group whose candidates are kept as told."""
    monkeypatch.setattr(beam, "candidates_kept", lambda *_: np.array(kept))
    this = cell(concurrency=1, beam_width=len(kept[0]), output_tokens=len(kept), **params)
    load = beam_load(this)
    return load, *check_load(this, load).from_admission()


def test_a_group_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two beams, blocks of two tokens, a prompt of three.

    1. Prompt in blocks a b, forked. The fourth token goes into b: a copy c for beam 0.
       Tables ac, ab: 3 blocks, 2 of 4 entries shared.
    2. Beam 1 dies, beam 0 is forked. The fifth token begins a block: acd, ace, no copy.
       4 blocks, 4 of 6 entries shared.
    3. Beam 0 dies, beam 1 is forked. The sixth token goes into e: a copy f for beam 0.
       acf, ace: 4 blocks, 4 of 6 entries shared.
    """
    load, steps, usage = followed(
        monkeypatch, [[1, 1], [2, 0], [0, 2]], block_size=2, prompt_tokens=3, model_shape="1x1x1x1"
    )
    assert usage == [3, 4, 4]
    assert [step["copies"] for step in steps] == [1, 0, 1]
    assert [step["FORK"] for step in steps] == [1, 1, 1]
    assert [step["FREE"] for step in steps] == [2, 1, 1]
    assert [step["taken"] for step in steps] == [2 + 1, 2, 1]
    facts = load.facts
    assert facts["forks_per_step"] == 1.0
    assert facts["copies_per_step"] == pytest.approx(2 / 3)
    # A copied block has two tokens of two bytes.
    assert facts["copy_bytes_per_step"] == pytest.approx(2 / 3 * 4)
    assert facts["shared_blocks_share"] == 10 / 16
    assert facts["blocks_taken_per_step"] == 2.0
    assert load.program.body_steps == load.program.period == 3


@pytest.mark.parametrize("width", [2, 4, 7])
def test_a_take_over_forks_all_others_and_copies_all_but_one(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    alive, winner = [1] * width, [0] * (width - 1) + [width]
    # Tokens before each step: 10 (prompt), 11, ..., so the block is full before step 3.
    kept = [alive, winner, winner, alive, alive]
    _, steps, _ = followed(monkeypatch, kept, block_size=4, prompt_tokens=10)
    assert [step["FORK"] for step in steps] == [width - 1, width - 1, width - 1, 0, 0]
    assert [step["copies"] for step in steps] == [width - 1, width - 1, 0, 0, 0]
    assert [step["FREE"] for step in steps] == [width, width - 1, width - 1, 0, 0]


def test_copies_wait_for_nothing_but_a_shared_unfilled_block() -> None:
    """In every step: one copy for each fork into a group that is not at a boundary."""
    this = cell(**SMALL, concurrency=8)
    program = beam_load(this).program
    lengths: dict[int, int] = {}
    done = replay_on_oracle(this, program)
    for step in range(program.setup_steps):
        for _, code, a, b, c in program.operations(step):
            if code is Op.ALLOCATE:
                lengths[a] = b
            elif code is Op.FORK:
                lengths[b] = c * 4 if c else lengths[a]
            elif code is Op.EXTEND:
                lengths[a] += b
    for operations, counts in zip(steps_of(program), done.steps, strict=True):
        expected = 0
        for code, a, b, _ in operations:
            if code is Op.ALLOCATE:
                lengths[a] = b
            elif code is Op.FORK:
                lengths[b] = lengths[a]
                expected += lengths[a] % 4 != 0
            elif code is Op.APPEND:
                lengths[a] += 1
            elif code is Op.LOOKUP:
                assert b == (lengths[a] - 1) // 4
        assert counts["copies"] == expected


@pytest.mark.parametrize(
    "params",
    [
        {"beam_width": 1},
        {"block_size": 1},
        # Nobody takes over in a life of two tokens after a prompt of whole blocks.
        {"prompt_tokens": 8, "output_tokens": 1},
    ],
)
def test_no_copies(params: dict[str, Any]) -> None:
    load = beam_load(cell(**{**SMALL, "concurrency": 4, **params}))
    assert load.facts["copies_per_step"] == 0.0
    assert load.facts["copy_bytes_per_step"] == 0.0


def test_a_lone_beam_is_never_forked() -> None:
    facts = beam_load(cell(**SMALL, concurrency=4, beam_width=1)).facts
    assert facts["forks_per_step"] == facts["shared_blocks_share"] == 0.0


@pytest.mark.parametrize("width", [1, 2, 4, 16, 64])
@pytest.mark.parametrize("survival", ["steady", "dominant", "mixed"])
def test_as_many_live_as_there_are_beams(survival: str, width: int) -> None:
    kept = candidates_kept(np.random.default_rng(3), survival, width, 300)
    assert kept.shape == (300, width)
    assert (kept.sum(axis=1) == width).all()
    assert (kept >= 0).all()


def test_patterns_of_survival() -> None:
    def died(survival: str) -> Any:
        kept = candidates_kept(np.random.default_rng(5), survival, 8, 4096)
        return (kept == 0).sum(axis=1)

    steady = died("steady")
    # A few of eight in nearly every step, all others in none.
    assert 1.0 < steady.mean() < 3.0
    assert (steady == 0).mean() < 0.2
    assert (steady == 7).sum() == 0
    dominant = died("dominant")
    assert set(dominant.tolist()) == {0, 7}
    assert (dominant == 7).mean() == pytest.approx(1 / 16, abs=0.02)
    mixed = died("mixed").reshape(-1, 32)
    assert set(mixed[1::2].ravel().tolist()) == {0, 7}
    assert 1.0 < mixed[0::2].mean() < 3.0


def test_seed_decides() -> None:
    def digest(**params: Any) -> str:
        return beam_load(cell(**SMALL, concurrency=8, **params)).program.digest()

    assert digest() == digest(seed=1)
    assert digest() != digest(seed=2)
    assert digest() != digest(beam_survival="steady")
    # How much a copy weighs changes nothing of what is done.
    assert digest() == digest(model_shape="opt-125m")


@pytest.mark.parametrize("survival", ["steady", "dominant"])
def test_real_managers_replay_it(survival: str) -> None:
    this = cell(**SMALL, concurrency=8, beam_survival=survival)
    check_implementations(this, beam_load(this).program)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"beam_width": 65}, "beam_width = 65 is out of range; it must be between 1 and 64"),
        ({"total_blocks": 512}, "too small for this load, which needs .* at its peak"),
        ({"prompt_tokens": 4000, "output_tokens": 200}, "do not fit max_blocks_per_seq = 256"),
        ({"prompt_tokens": 4096}, "do not fit max_blocks_per_seq = 256"),
        ({"output_tokens": 5000}, "a prompt and .* after it do not fit"),
        ({"output_tokens": 4090}, "a prompt and .* after it do not fit"),
        ({"model_shape": "llama-9"}, "model_shape"),
        (
            {"output_tokens": 100_000, "max_blocks_per_seq": 65536},
            "life of over 65,536 steps; lower it",
        ),
        (
            {"output_tokens": 20_000, "max_blocks_per_seq": 65536, "concurrency": 1000},
            "make a program of 80,000,000 tokens",
        ),
    ],
)
def test_a_load_that_does_not_fit_is_told(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        beam_load(cell(**params))
