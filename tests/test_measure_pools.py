"""Pools alone in a run: their counts, what is unavailable and why, and their loops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.replay import MissingOperationsError, bind
from blockmark.workload.pool_models import free_space_programs, pool_programs
from blockmark.workload.scenario import Cell, parse_scenario
from blockmark_impls.registry import resolve
from cli import blockmark

POOLS = Path(__file__).parent / "subjects" / "wrong_pools.py"
SMALL = """
models = ["pool", "free_space"]
total_blocks = 512
concurrency = 4
max_blocks_per_seq = 8
heap = "fresh"
pool = "burst"
pool_occupancy = 0.9
"""


def cell(text: str = SMALL) -> Cell:
    return parse_scenario(text, "small", "small.toml").cells()[0]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Any]:
    """(implementation, batch) -> metrics, of one run of the command."""
    folder = tmp_path_factory.mktemp("pools")
    (folder / "small.toml").write_text(SMALL + "[matrix]\nbatch = [8, 64]\n")
    names = ["bitmap/cpp", "stack/cpp", "linked-list/cpp[node_bytes=64]", "linked-list/py",
             "vector/py", "null/cpp", f"bare={POOLS}:Bare"]  # fmt: skip
    targets = [word for name in names for word in ("--impl", name)]
    done = blockmark("run", "small.toml", "--rounds", "1", "--json", *targets, cwd=folder)
    if "C++ core is not built" in done.stdout:
        pytest.skip("no C++ core was built")
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert {each["status"] for each in cells} == {"ok"}
    return {(each["impl"], each["params"]["batch"]): each["metrics"] for each in cells}


def test_a_run_has_the_counts_of_each_pool(measured: dict[tuple[str, int], Any]) -> None:
    for name in ("bitmap/cpp", "stack/cpp", "linked-list/py"):
        metrics = measured[name, 8]
        for metric in ("take_ns", "give_ns", "find_contiguous_ns", "compact_ns"):
            assert metrics[metric]["value"] > 0
        assert metrics["take_run_length"]["value"] * metrics["take_descriptors"]["value"] == 8.0
        # Of the 52 blocks at the top most are used; none moves twice.
        assert 26 < metrics["compact_moves"]["value"] <= 52
        assert 1 <= metrics["longest_free_run"]["value"] <= 52
    runs = {name: measured[name, 8]["take_run_length"]["value"] for name, batch in measured
            if batch == 8 and name != "null/cpp"}  # fmt: skip
    # The list of Python keeps the same order as the stack of C++.
    assert runs["vector/py"] == runs["stack/cpp"]
    assert runs["bitmap/cpp"] > runs["stack/cpp"]


def test_what_a_pool_lacks_is_named(measured: dict[tuple[str, int], Any]) -> None:
    lacks = "the implementation lacks remove"
    assert measured["stack/cpp", 8]["remove_ns"]["unavailable"] == lacks
    assert measured["vector/py", 8]["remove_ns"]["unavailable"] == lacks
    for name in ("bitmap/cpp", "linked-list/cpp[node_bytes=64]", "linked-list/py"):
        assert measured[name, 8]["remove_ns"]["value"] > 0
    bare = measured["bare", 8]
    assert bare["take_ns"]["value"] > 0
    for metric, operation in (
        ("remove_ns", "remove"),
        ("find_contiguous_ns", "find_contiguous"),
        ("compact_ns", "plan_compaction"),
    ):
        assert bare[metric]["unavailable"] == f"the implementation lacks {operation}"


def test_a_batch_that_does_not_fit_is_no_zero(measured: dict[tuple[str, int], Any]) -> None:
    reason = "batch = 64 is more than the 52 blocks that pool_occupancy = 0.9 leaves free"
    for name in ("bitmap/cpp", "linked-list/py", "vector/py"):
        for metric in ("take_ns", "give_ns", "take_run_length", "remove_ns"):
            assert measured[name, 64][metric]["unavailable"] == reason
        assert measured[name, 64]["compact_moves"]["value"] > 0
    # A control that has nothing to say is silent.
    assert "take_ns" not in measured["null/cpp", 64]
    assert "remove_ns" not in measured["null/cpp", 8]


@pytest.mark.parametrize(
    "name", ["stack/cpp", "list/cpp", "lru/cpp", "linked-list/cpp", "bitmap/cpp"]
)
def test_a_steady_pool_allocates_nothing(name: str) -> None:
    (found,) = resolve(name)
    if found.unavailable:
        pytest.skip(found.unavailable)
    for entry in [*pool_programs(cell()), *free_space_programs(cell())]:
        pool = found.make_pool(512, 16)
        try:
            replay = bind(pool, entry.program, "native")
        except MissingOperationsError:
            assert name in ("stack/cpp", "list/cpp")
            continue
        replay.setup()
        replay.run(0, 64)
        assert replay.allocations(0, 64) == (0, 0)


@pytest.mark.parametrize("name", ["linked-list/py", "bitmap/py", "linked-list/cpp", "bitmap/cpp"])
def test_a_loop_in_python_does_what_the_native_loop_does(name: str) -> None:
    """The same set-up and turns, per operation; the free ids are the same afterwards."""
    (found,) = resolve(name)
    (native,) = resolve(f"{found.scheme}/cpp")
    if native.unavailable:
        pytest.skip(native.unavailable)
    for entry in [*pool_programs(cell()), *free_space_programs(cell())]:
        ends = []
        for impl, style in ((found, "per-op"), (native, "native")):
            pool: Any = impl.make_pool(512, 16)
            replay = bind(pool, entry.program, style)
            replay.setup()
            replay.run(0, 5 * entry.program.period)
            ends.append(list(pool.take(pool.num_free)))
        assert ends[0] == ends[1]


def test_a_bitmap_finds_a_run_far_quicker_than_a_list() -> None:
    """A list of 32,768 free blocks has to be gone through; of a bitmap a word or two."""
    names = ("linked-list/cpp", "bitmap/cpp")
    if resolve(names[0])[0].unavailable:
        pytest.skip("no C++ core was built")
    this = cell(SMALL.replace("512", "65536").replace("0.9", "0.5"))
    (program,) = (
        entry.program
        for entry in free_space_programs(this)
        if entry.metrics[1] == "find_contiguous_ns"
    )
    best = {}
    for name in names:
        replay = bind(resolve(name)[0].make_pool(65_536, 16), program, "native")
        replay.setup()
        best[name] = min(replay.run(0, 4)[0] for _ in range(10))
    assert best["linked-list/cpp"] > 20 * best["bitmap/cpp"]
