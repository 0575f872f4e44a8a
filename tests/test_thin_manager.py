"""A manager with the least of the contract: its pool is brought into order all the same."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.inside.setup import SubjectSetup
from blockmark.measure.probes.memory import contiguity
from blockmark.measure.process.task import CellTask
from blockmark.measure.replay import bind
from blockmark.workload import models
from blockmark.workload.models import condition_manager, plain_condition
from blockmark.workload.scenario import Cell, parse_scenario
from blockmark_impls.python.vector import VectorManager
from blockmark_impls.registry import resolve
from cli import blockmark

THIN = '''
from blockmark_impls.python.vector import VectorManager


class Thin:
    """No truncate, no extend, no fork, no packing."""

    reuse_order = "LIFO"

    def __init__(self, config):
        self._all = VectorManager(config)
        for name in ("allocate", "append_slot", "free", "lookup", "block_table"):
            setattr(self, name, getattr(self._all, name))

    @property
    def num_free_blocks(self):
        return self._all.num_free_blocks
'''


def cell_of(pool: str, **more: Any) -> Cell:
    size = {"total_blocks": 4096, "max_blocks_per_seq": 64, "concurrency": 64, **more}
    text = "\n".join(f"{key} = {value}" for key, value in size.items())
    return parse_scenario(f'title = "t"\npool = "{pool}"\n{text}\n', "t", "t.toml").cells()[0]


def handed_out(manager: Any, cell: Cell) -> list[list[int]]:
    """The tables of a conditioned manager that holds as much as it can."""
    assert manager.num_free_blocks == cell["total_blocks"]
    rows = cell["concurrency"]
    for seq in range(rows):
        manager.allocate(seq, cell["total_blocks"] // rows * cell["block_size"])
    return [list(manager.block_table(seq)) for seq in range(rows)]


def by_appending(cell: Cell) -> list[list[int]]:
    manager = VectorManager(cell.pool_config)
    for piece in plain_condition(cell):
        bind(manager, piece, "per-op").setup()
    return handed_out(manager, cell)


def test_a_burst_leaves_the_same_blocks_in_the_same_order() -> None:
    cell = cell_of("burst")
    manager = VectorManager(cell.pool_config)
    bind(manager, condition_manager(cell), "per-op").setup()
    assert by_appending(cell) == handed_out(manager, cell)


def test_shuffled_is_as_scattered() -> None:
    tables = by_appending(cell_of("shuffled"))
    assert contiguity(tables)[0] < 1.1
    steps = list(pairwise(block for table in tables for block in table))
    # No streams: the next block is as often above as below, and seldom near.
    up = sum(b > a for a, b in steps) / len(steps)
    near = sum(abs(b - a) <= 64 for a, b in steps) / len(steps)
    assert 0.4 < up < 0.6
    assert near < 0.1


@pytest.mark.parametrize("pool", ["burst", "shuffled"])
def test_odd_sizes(pool: str) -> None:
    for more in ({"block_size": 1}, {"concurrency": 1, "max_blocks_per_seq": 4096}):
        cell = cell_of(pool, **more)
        tables = by_appending(cell)
        assert len({block for table in tables for block in table}) == sum(map(len, tables))


def setup_of(folder: Path, pool: str) -> SubjectSetup:
    (folder / "mine.py").write_text(THIN)
    cell = cell_of(pool)
    condition_manager(cell).save(folder / "condition.program")
    values, condition = json.loads(json.dumps(cell.values)), str(folder / "condition.program")
    task = CellTask(values, cell.pool_config, "per-op", condition, seed=1)
    return SubjectSetup(resolve(f"{folder / 'mine.py'}:Thin")[0], task)


@pytest.mark.parametrize("pool", ["burst", "shuffled"])
def test_what_takes_too_many_calls_is_left_as_new_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: str
) -> None:
    subject = setup_of(tmp_path, pool)
    assert contiguity(handed_out(subject.manager(), cell_of(pool)))[0] < 4
    assert subject.not_conditioned == ""
    monkeypatch.setattr(models, "_MOST_APPENDS", 1000)
    subject = setup_of(tmp_path, pool)
    assert contiguity(handed_out(subject.manager(), cell_of(pool)))[0] == 64
    calls = {"burst": "196,608", "shuffled": "131,072"}[pool]
    lacks = {"burst": "extend", "shuffled": "truncate"}[pool]
    assert subject.not_conditioned == (
        f"the pool was as new, and not pool = {pool}: the implementation lacks {lacks}, without "
        f"which it takes up to {calls} calls of append_slot, more than 1,000"
    )


@pytest.mark.parametrize("pool", ["burst", "shuffled"])
def test_a_run_gives_it_a_step(tmp_path: Path, pool: str) -> None:
    (tmp_path / "mine.py").write_text(THIN)
    done = blockmark(
        *("run", "decode", "--quick", "--set", f"pool={pool}", "--set", "total_blocks=8192"),
        *("--set", "concurrency=64", "--set", "max_blocks_per_seq=128"),
        *("--impl", "mine=mine.py:Thin", "--impl", "vector/py", "--counters", "none"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = json.loads((tmp_path / "results" / "0001" / "run.json").read_text())
    cells = {cell["impl"]: cell for cell in run["cells"]}
    assert cells["mine"]["status"] == "ok"
    lengths = [cells[name]["metrics"]["pool_run_length"]["value"] for name in cells]
    assert cells["mine"]["metrics"]["step_ns"]["value"] > 0
    assert max(lengths) < 4
    assert cells["mine"]["metrics"]["can_allocate_ns"]["unavailable"] == (
        "the implementation lacks can_allocate; a step looks at num_free_blocks instead"
    )
    assert cells["mine"]["metrics"]["append_ns"]["unavailable"] == (
        "the implementation lacks truncate"
    )
    if pool == "burst":
        assert lengths[0] == lengths[1]
