"""Parallel sampling: what samples of one prompt share, and when they copy."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.workload.keys import ConfigError
from blockmark.workload.parallel_sampling import Samples, parallel_sampling_load
from blockmark.workload.program import Op
from blockmark.workload.scenario import Cell
from oracle_replay import check_implementations, check_load, make_cell, steps_of

SMALL: dict[str, Any] = {"total_blocks": 400, "max_blocks_per_seq": 24, "block_size": 4}


def cell(**params: Any) -> Cell:
    return make_cell("parallel-sampling", **params)


@pytest.mark.parametrize(
    "params",
    [
        {**SMALL, "concurrency": 8},
        {**SMALL, "concurrency": 5, "parallel_samples": 1},
        {**SMALL, "concurrency": 1, "parallel_samples": 2},
        {**SMALL, "concurrency": 12, "parallel_samples": 7},
        {**SMALL, "concurrency": 16, "block_size": 1},
        {**SMALL, "concurrency": 6, "prompt_tokens": 16, "output_tokens": 21},
        {**SMALL, "concurrency": 6, "prompt_tokens": 3},
        {**SMALL, "concurrency": 4, "output_tokens": 1},
    ],
)
def test_counts_are_those_of_a_replay(params: dict[str, Any]) -> None:
    this = cell(**params)
    load = parallel_sampling_load(this)
    done = check_load(this, load)
    facts = load.facts
    assert facts["forks_per_step"] == done.per_step("FORK")
    assert facts["copies_per_step"] == done.per_step("copies")
    assert facts["shared_blocks_share"] == done.total("shared") / done.total("entries")
    for operations in steps_of(load.program):
        appended = [a for code, a, _, _ in operations if code is Op.APPEND]
        assert appended == [a for code, a, _, _ in operations if code is Op.LOOKUP]
        assert len(set(appended)) == len(appended)


@pytest.mark.parametrize("samples", [1, 2, 5])
@pytest.mark.parametrize(("prompt", "copies_a_request"), [(6, None), (7, None), (8, 0), (4, 0)])
def test_all_but_the_last_writer_copy(
    samples: int, prompt: int, copies_a_request: int | None
) -> None:
    """Of a prompt's unfilled block exactly n - 1 copies are made; of whole blocks none."""
    params = {"prompt_tokens": prompt, "output_tokens": 12, "concurrency": 3}
    this = cell(**SMALL, **params, parallel_samples=samples, model_shape="1x1x1x1")
    load = parallel_sampling_load(this)
    done = check_load(this, load)
    expected = samples - 1 if copies_a_request is None else copies_a_request
    # Three requests are admitted in the body of twelve steps.
    assert sum(step["copies"] for step in done.steps) == 3 * expected
    assert load.facts["copies_per_step"] == 3 * expected / 12
    # A block has four tokens of two bytes.
    assert load.facts["copy_bytes_per_step"] == pytest.approx(3 * expected / 12 * 8)
    for operations, counts in zip(steps_of(load.program), done.steps, strict=True):
        admitted = sum(code is Op.ALLOCATE for code, *_ in operations)
        assert counts["copies"] == admitted * expected
        assert counts["FORK"] == admitted * (samples - 1)


def test_what_is_shared_by_hand() -> None:
    """A prompt of six in blocks of four: its full block is shared by all who still live."""
    this = cell(
        **SMALL, concurrency=1, parallel_samples=3, prompt_tokens=6, output_tokens=9, seed=5
    )
    lengths = Samples(this).lengths(9, 0)
    assert max(lengths) == 9
    load = parallel_sampling_load(this)
    done = check_load(this, load)
    shared = entries = 0
    for age, counts in enumerate(done.from_admission()[0], start=1):
        live = sum(length >= age for length in lengths)
        assert counts["running"] == live
        assert counts["entries"] == live * -(-(6 + age) // 4)
        assert counts["shared"] == (live if live > 1 else 0)
        shared, entries = shared + counts["shared"], entries + counts["entries"]
    assert load.facts["shared_blocks_share"] == shared / entries
    # Blocks taken: two for the prompt, two copies, and one at each boundary of each
    # sample: before the third token after the prompt, and before the seventh.
    boundaries = sum((length >= 3) + (length >= 7) for length in lengths)
    assert sum(step["taken"] for step in done.steps) == 2 + 2 + boundaries


def test_samples_end_at_different_lengths() -> None:
    samples = Samples(cell(parallel_samples=16))
    lives = [samples.lengths(800, variant) for variant in range(16)]
    assert all(max(life) == 800 and min(life) >= 200 for life in lives)
    assert all(len(set(life)) > 10 for life in lives)
    assert len({tuple(life) for life in lives}) == 16


def test_the_default_cell() -> None:
    load = parallel_sampling_load(cell())
    assert load.facts["occupancy_p95"] == pytest.approx(0.75, abs=0.02)
    assert 512 <= load.facts["body_steps"] <= 1024
    assert load.program.period <= 128
    assert 256 < load.facts["running_mean"] < 1024


def test_seed_decides() -> None:
    def digest(**params: Any) -> str:
        return parallel_sampling_load(cell(**SMALL, concurrency=8, **params)).program.digest()

    assert digest() == digest(seed=1)
    assert digest() != digest(seed=2)


@pytest.mark.parametrize("prompt", [6, 8])
def test_real_managers_replay_it(prompt: int) -> None:
    this = cell(**SMALL, concurrency=8, prompt_tokens=prompt, output_tokens=20)
    check_implementations(this, parallel_sampling_load(this).program)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"parallel_samples": 0}, "parallel_samples = 0 is out of range"),
        ({"total_blocks": 512}, "too small for this load, which needs .* at its peak"),
        ({"prompt_tokens": 4096}, "do not fit max_blocks_per_seq = 256"),
        ({"output_tokens": 4096}, "a prompt and .* after it do not fit"),
        ({"model_shape": "llama"}, "model_shape"),
        ({"output_tokens": "uniform:low=1,high=9"}, "is a distribution"),
    ],
)
def test_a_load_that_does_not_fit_is_told(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parallel_sampling_load(cell(**params))
