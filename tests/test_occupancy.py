"""How full the pool is, in blocks and in token slots: against a plain count of every token."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from blockmark.recorder import Recorder
from blockmark.workload.build import build_load
from blockmark.workload.program import METHODS, Op
from blockmark.workload.recorded import describe
from blockmark.workload.recording import load_recording
from blockmark.workload.scenario import Cell, parse_scenario
from blockmark_impls.contract import PoolConfig
from blockmark_impls.python.vector import VectorManager

if TYPE_CHECKING:
    from blockmark.workload.program import Program


def cell(**params: Any) -> Cell:
    text = "\n".join(f"{key} = {value!r}" for key, value in params.items())
    return parse_scenario(text, "x", "test").cells()[0]


def tokens_and_blocks(program: Program, config: PoolConfig) -> tuple[list[int], list[int]]:
    """After each timed step: slots with a token in them, each counted by its place in the pool;
    and blocks that any table names. By a manager in Python, not by the scheduler's own account.
    """
    manager = VectorManager(config)
    tokens: dict[int, int] = {}
    filled, used = [], []
    for step in range(program.num_steps):
        for _, code, a, b, c in program.operations(step):
            match code:
                case Op.FORK:
                    manager.fork(a, b, c or None)
                    tokens[b] = c * config.block_size or tokens[a]
                case Op.ALLOCATE:
                    manager.allocate(a, b)
                    tokens[a] = b
                case Op.APPEND:
                    manager.append_slot(a)
                    tokens[a] += 1
                case Op.EXTEND:
                    manager.extend(a, b)
                    tokens[a] += b
                case Op.TRUNCATE:
                    manager.truncate(a, b)
                    tokens[a] = b
                case Op.FREE:
                    manager.free(a)
                    del tokens[a]
                case Op.LOOKUP | Op.CAN_ALLOCATE | Op.PACK:
                    pass
                case _:
                    raise AssertionError(METHODS[code])
        if program.phases[step]:
            size = config.block_size
            places = {
                (manager.block_table(seq)[at // size], at % size)
                for seq, count in tokens.items()
                for at in range(count)
            }
            filled.append(len(places))
            used.append(len({block for block, _ in places}))
    return filled, used


SERVING = {
    "workload": "serving",
    "total_blocks": 200,
    "max_blocks_per_seq": 32,
    "concurrency": 8,
    "requests": 25,
    "arrival_rate": 300.0,
    "prompt_tokens": "lognormal:median=50,p99=200",
    "output_tokens": 20,
    "prefill_chunk": 24,
}


@pytest.mark.parametrize(
    "params",
    [
        {"total_blocks": 64, "max_blocks_per_seq": 8, "concurrency": 6, "block_size": 16},
        {"total_blocks": 64, "max_blocks_per_seq": 32, "concurrency": 6, "block_size": 1},
        SERVING,
        {**SERVING, "prefix_cache": "on", "shared_prefix_tokens": 64},
        {**SERVING, "total_blocks": 40, "preemption": "swap", "host_blocks": 100},
    ],
    ids=["decode", "blocks of one", "serving", "with a prefix cache", "with swap"],
)
def test_token_slots_and_blocks(params: dict[str, Any]) -> None:
    this = cell(**params)
    load = build_load(this)
    filled, used = tokens_and_blocks(load.program, this.pool_config)
    slots = this["total_blocks"] * this["block_size"]
    assert load.facts["token_occupancy_mean"] == pytest.approx(np.mean(filled) / slots, rel=1e-9)
    assert load.facts["token_occupancy_p95"] == pytest.approx(
        np.quantile(filled, 0.95) / slots, rel=1e-9
    )
    assert load.facts["occupancy_mean"] == pytest.approx(np.mean(used) / this["total_blocks"])
    assert load.facts["token_occupancy_mean"] <= load.facts["occupancy_mean"]


def test_of_a_recording_by_hand(tmp_path: Path) -> None:
    config = PoolConfig(10, 4, 4, 4)
    recorder = Recorder(VectorManager(config), config)
    recorder.step()
    recorder.manager.allocate(0, 5)  # two blocks, five tokens
    recorder.step()
    recorder.manager.fork(0, 1)  # the same ones
    recorder.step()
    recorder.manager.append_slot(1)  # a copy of the last: three blocks, 4 + 1 + 2 tokens
    recorder.save(tmp_path / "x.program")
    facts = describe(*load_recording(tmp_path / "x.program"))
    assert facts["token_occupancy_mean"] == pytest.approx((5 + 5 + 7) / 3 / 40)
    assert facts["occupancy_mean"] == pytest.approx((2 + 2 + 3) / 3 / 10)
