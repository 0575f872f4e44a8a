"""What the stationary loads have in common: lives, their stagger, and any cell at all."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from blockmark.workload.build import build_load
from blockmark.workload.keys import ConfigError
from blockmark.workload.lengths import best_life, period_of
from blockmark.workload.lives import rebuild
from blockmark.workload.oracle.model import Oracle
from blockmark.workload.steady import stagger
from blockmark_impls.contract import PoolConfig
from oracle_replay import check_load, do, make_cell, shape

WORKLOADS = ("beam", "parallel-sampling", "speculative", "sliding-window")


def random_params(rng: random.Random, workload: str) -> dict[str, Any]:
    total = rng.choice([8, 30, 100, 300])
    params: dict[str, Any] = {
        "total_blocks": total,
        "max_blocks_per_seq": rng.choice([1, 2, 3, 5, 8, 16, 40]),
        "block_size": rng.choice([1, 2, 3, 4, 16]),
        "concurrency": rng.randint(1, min(24, total)),
        "occupancy": rng.choice([0.1, 0.5, 0.75, 1.0]),
        "seed": rng.randint(0, 99),
    }
    for key in ("prompt_tokens", "output_tokens"):
        if rng.random() < 0.4:
            params[key] = rng.randint(1, 60)
    match workload:
        case "beam":
            params["beam_width"] = rng.choice([1, 2, 3, 4, 9])
            params["beam_survival"] = rng.choice(["steady", "dominant", "mixed"])
        case "parallel-sampling":
            params["parallel_samples"] = rng.choice([1, 2, 3, 8])
        case "speculative":
            params["lookahead_tokens"] = rng.choice([1, 2, 4, 12])
            params["acceptance_rate"] = rng.choice([0.0, 0.3, 0.7, 0.99, 1.0])
        case _:
            params["window_tokens"] = rng.choice([1, 2, 3, 7, 16, 40])
    return params


@pytest.mark.parametrize("workload", WORKLOADS)
def test_any_cell_is_right_or_is_refused_in_one_line(workload: str) -> None:
    rng = random.Random(workload)
    outcomes: Counter[object] = Counter()
    for _ in range(150):
        cell = make_cell(workload, **random_params(rng, workload))
        try:
            load = build_load(cell)
        except ConfigError as error:
            outcomes["\n" not in str(error) and "refused"] += 1
            continue
        check_load(cell, load)
        outcomes["right"] += 1
    assert set(outcomes) == {"right", "refused"}
    assert min(outcomes.values()) > 20


@pytest.mark.parametrize("concurrency", [1, 2, 7, 16, 48, 64, 256, 257])
@pytest.mark.parametrize("steps", [1, 15, 64, 100, 768])
def test_the_same_lives_are_at_the_same_ages_after_a_period(concurrency: int, steps: int) -> None:
    when = stagger(make_cell("decode", concurrency=concurrency), 4, steps)
    assert steps % when.period == 0

    def who(step: int) -> list[tuple[int, int]]:
        return sorted(zip(when.ages(step).tolist(), when.variants.tolist(), strict=True))

    assert who(0) == who(when.period) == who(3 * when.period)
    assert who(-1) == sorted(zip(when.progress.tolist(), when.variants.tolist(), strict=True))
    assert len(set(when.variants.tolist())) == when.num_variants
    # Evenly over a life.
    assert Counter(age for age, _ in who(0)).most_common(1)[0][1] <= -(-concurrency // steps)


def test_periods_are_short_where_they_can_be() -> None:
    for concurrency in (16, 64, 256):
        steps = best_life(concurrency, 4, 1024)
        period, lives = period_of(concurrency, 4, steps)
        assert 768 <= steps <= 1024
        assert period <= 128
        assert lives > 1


def rebuilt(oracle: Oracle, spare: int) -> tuple[Oracle, int]:
    """A new oracle with the same tables, and the most blocks that were named on the way."""
    other = Oracle(oracle.config)
    most = 0
    tables = dict(sorted(oracle.tables.items()))
    for code, a, b, c in rebuild(tables, oracle.config.block_size, spare):
        do(other, code, a, b, c, Counter())
        most = max(most, len(other.ref_counts))
    return other, most


def test_shared_blocks_are_rebuilt_as_they_are() -> None:
    oracle = Oracle(PoolConfig(total_blocks=100, block_size=2, max_seqs=8, max_blocks_per_seq=20))
    oracle.allocate(2, 4)
    oracle.fork(2, 0)
    for seq in (0, 2):
        oracle.extend(seq, 3)
    oracle.fork(0, 5)
    for seq in (0, 2, 5):
        oracle.extend(seq, 2)
    oracle.allocate(1, 1)
    # All three share two blocks, 0 and 5 a third; the fourth was copied. Their own: two,
    # two, and three of sequence 2; and one of sequence 1.
    assert len(oracle.ref_counts) == 2 + 1 + (2 + 2 + 3) + 1
    other, most = rebuilt(oracle, 0)
    assert shape(other) == shape(oracle)
    assert most == len(oracle.ref_counts)


@pytest.mark.parametrize("spare", [0, 1, 2, 5, 100])
def test_dropped_fronts_are_rebuilt_in_pieces(spare: int) -> None:
    oracle = Oracle(PoolConfig(total_blocks=100, block_size=4, max_seqs=4, max_blocks_per_seq=20))
    oracle.allocate(0, 61)
    oracle.drop_front(0, 11)
    oracle.allocate(1, 5)
    other, most = rebuilt(oracle, spare)
    assert shape(other) == shape(oracle)
    assert most <= len(oracle.ref_counts) + max(1, spare)
