"""Speculative decoding: slots ahead, rejected tokens, and what stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockmark.workload import speculative
from blockmark.workload.keys import ConfigError
from blockmark.workload.program import Op
from blockmark.workload.scenario import Cell
from blockmark.workload.speculative import accepted_tokens, speculative_load
from oracle_replay import check_implementations, check_load, make_cell, steps_of

SMALL: dict[str, Any] = {"total_blocks": 400, "max_blocks_per_seq": 24, "block_size": 4}


def cell(**params: Any) -> Cell:
    return make_cell("speculative", **params)


@pytest.mark.parametrize(
    "params",
    [
        {**SMALL, "concurrency": 16},
        {**SMALL, "concurrency": 7, "lookahead_tokens": 1},
        {**SMALL, "concurrency": 1, "acceptance_rate": 0.0},
        {**SMALL, "concurrency": 12, "acceptance_rate": 1.0},
        {**SMALL, "concurrency": 16, "block_size": 1},
        {**SMALL, "concurrency": 6, "prompt_tokens": 16, "output_tokens": 21},
        {**SMALL, "concurrency": 6, "prompt_tokens": 3, "lookahead_tokens": 11},
        {**SMALL, "concurrency": 4, "output_tokens": 1},
    ],
)
def test_counts_are_those_of_a_replay(params: dict[str, Any]) -> None:
    """Lengths alone, in plain Python, tell what is kept and what is rejected."""
    this = cell(**params)
    load = speculative_load(this)
    done = check_load(this, load)
    program, ahead, size = load.program, this["lookahead_tokens"], this["block_size"]
    lengths = {a: b for _, code, a, b, _ in program.operations(0) if code is Op.ALLOCATE}
    rejected = kept = 0
    prompts: dict[int, int] = {}
    # Twice, so that everybody who was admitted ends.
    for operations in steps_of(program) * 2:
        looked_up = []
        for code, a, b, _ in operations:
            if code is Op.FREE:
                # Whoever was admitted here ends with the whole output.
                prompt = prompts.pop(a, None)
                assert prompt is None or lengths[a] - prompt == load.facts["output_tokens"]
            elif code is Op.ALLOCATE:
                lengths[a] = prompts[a] = b
            elif code is Op.EXTEND:
                assert b == ahead + 1
                lengths[a] += b
                kept += b
            elif code is Op.LOOKUP:
                looked_up.append((a, b))
            elif code is Op.TRUNCATE:
                # At least the model's own token stays.
                assert 1 <= lengths[a] - b <= ahead
                rejected += lengths[a] - b
                kept -= lengths[a] - b
                lengths[a] = b
        assert len(looked_up) == this["concurrency"] * (ahead + 1)
    assert len(prompts) == this["concurrency"]
    steps = 2 * len(done.steps)
    drafted = steps * this["concurrency"] * ahead
    facts = load.facts
    assert facts["tokens_rejected_share"] == pytest.approx(rejected / drafted)
    assert facts["drafts_accepted_per_step"] == pytest.approx((drafted - rejected) / steps)
    assert facts["tokens_per_sequence_step"] == pytest.approx(kept / steps / this["concurrency"])
    assert facts["blocks_given_back_per_step"] == done.per_step("truncated")
    assert max(lengths.values()) <= this["max_blocks_per_seq"] * size


def test_lookups_are_one_for_each_scheduled_token() -> None:
    this = cell(**SMALL, concurrency=1, prompt_tokens=6, output_tokens=8)
    program = speculative_load(this).program
    length = next(b for _, code, _, b, _ in program.operations(0) if code is Op.ALLOCATE)
    for operations in steps_of(program):
        lookups = [b for code, _, b, _ in operations if code is Op.LOOKUP]
        for code, _, b, _ in operations:
            if code is Op.ALLOCATE:
                length = b
            elif code is Op.EXTEND:
                assert lookups == [(length + i) // 4 for i in range(5)]
                length += b
            elif code is Op.TRUNCATE:
                length = b


def test_a_sequence_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two drafts a step of which 0, 2 and 1 are accepted: 1 + 3 + 2 tokens stay."""
    monkeypatch.setattr(speculative, "accepted_tokens", lambda *_: np.array([0, 2, 1, 0, 0, 0]))
    params = {"prompt_tokens": 3, "lookahead_tokens": 2, "concurrency": 1}
    this = cell(**SMALL, **params, output_tokens=6)
    load = speculative_load(this)
    check_load(this, load)
    assert load.program.body_steps == 3
    assert load.facts["output_tokens"] == 6
    assert load.facts["drafts_accepted_per_step"] == 1.0
    assert load.facts["tokens_per_sequence_step"] == 2.0
    assert load.facts["tokens_rejected_share"] == 0.5
    # The engine stops at five: the sixth token was accepted, but nobody wants it.
    shorter = speculative_load(cell(**SMALL, **params, output_tokens=5))
    assert shorter.program.body_steps == 3
    assert shorter.facts["output_tokens"] == 5
    assert shorter.facts["tokens_rejected_share"] == pytest.approx(1 - 2 / 6)


@pytest.mark.parametrize(("rate", "share"), [(0.0, 1.0), (1.0, 0.0)])
def test_all_or_nothing_is_rejected(rate: float, share: float) -> None:
    load = speculative_load(cell(**SMALL, concurrency=8, acceptance_rate=rate))
    facts = load.facts
    assert facts["tokens_rejected_share"] == share
    assert facts["tokens_per_sequence_step"] == (1.0 if share else 5.0)
    assert ("truncate" in facts["operations_per_step"]) is bool(share)
    if share == 0.0:
        assert facts["blocks_given_back_per_step"] == 0.0


def test_acceptance_is_a_chain() -> None:
    accepted = accepted_tokens(np.random.default_rng(1), 0.7, 4, 100_000)
    for i in range(5):
        assert (accepted >= i).mean() == pytest.approx(0.7**i, abs=0.006)
    assert accepted.max() == 4


def test_the_default_cell() -> None:
    load = speculative_load(cell())
    facts = load.facts
    assert facts["occupancy_p95"] == pytest.approx(0.75, abs=0.02)
    assert 512 <= facts["body_steps"] <= 1024
    assert load.program.period <= 128
    # 0.7 + 0.7^2 + 0.7^3 + 0.7^4 = 1.773 of four drafts are accepted.
    assert facts["tokens_rejected_share"] == pytest.approx(1 - 1.7731 / 4, abs=0.03)
    assert facts["operations_per_step"]["lookup"] == 256 * 5
    assert facts["operations_per_step"]["extend"] == 256


def test_seed_decides() -> None:
    def digest(**params: Any) -> str:
        return speculative_load(cell(**SMALL, concurrency=8, **params)).program.digest()

    assert digest() == digest(seed=1)
    assert digest() != digest(seed=2)


def test_real_managers_replay_it() -> None:
    this = cell(**SMALL, concurrency=16)
    check_implementations(this, speculative_load(this).program)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"acceptance_rate": 1.5}, "acceptance_rate = 1.5 is out of range"),
        ({"lookahead_tokens": 0}, "lookahead_tokens = 0 is out of range"),
        # The last draft needs room too.
        ({"prompt_tokens": 4000, "output_tokens": 94}, "do not fit max_blocks_per_seq = 256"),
        ({"output_tokens": 2_000_000_000}, "a prompt and .* after it do not fit"),
        (
            {"output_tokens": 2_000_000_000, "max_blocks_per_seq": 1 << 22, "block_size": 65536},
            "life of over 262,144 steps",
        ),
        ({"prompt_tokens": 4000, "output_tokens": 60}, "at its peak"),
    ],
)
def test_a_load_that_does_not_fit_is_told(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        speculative_load(cell(**{"concurrency": 300, **params}))
