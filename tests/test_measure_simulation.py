"""Simulated cells: whatever a process under valgrind does, each cell has its answer.

The first part has a script in valgrind's place, the second the real one, where there is one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.probes.callgrind import Geometry, Valgrind, find_valgrind
from blockmark.measure.run.plan import make_plan
from blockmark.measure.run.programs import prepare
from blockmark.measure.simulation import Simulator, simulation_requests
from blockmark.workload.program import Op, ProgramBuilder
from blockmark.workload.scenario import parse_scenario
from cli import subject
from fake_valgrind import DUMP, TOTALS, install

# What the script does for a cell is in the cell's name.
CHILD = f"""
import json
out = next(w.partition("=")[2] for w in words if w.startswith("--callgrind-out-file="))
folder = os.path.dirname(os.path.abspath(__file__))
with open(folder + "/starts", "a") as starts:
    starts.write(f"{{os.getpid()}}\\n")
number = 0

def dump(label, totals):
    global number
    number += 1
    with open(f"{{out}}.{{number}}", "w") as file:
        file.write({DUMP!r}.format(label=label, totals=totals))

request = json.load(sys.stdin)
for job in request["cells"]:
    cell = job["cell"]
    if "crashes" in cell:
        print("vex: the last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if "unknown" in cell:
        print("vex amd64->IR: unhandled instruction bytes: 0x62 0xF1", file=sys.stderr)
        sys.exit(1)
    if "hangs" in cell:
        if os.fork() == 0:
            open(folder + "/child", "w").write(str(os.getpid()))
        time.sleep(600)
    if "nothing" not in cell:
        dump(cell + "|subject", "0" if "empty" in cell else {TOTALS!r})
    if "torn" in cell:
        open(f"{{out}}.999", "w").write("# callgrind format\\nevents: Ir Dr\\n")
    one = {{"cost": "step_ns", "label": cell + "|subject", "baseline": None, "units": 10.0,
           "warm": True}}
    answer = {{"cell": cell, "status": "ok", "passes": [one], "unavailable": {{"pack_ns": "why"}}}}
    if "raises" in cell:
        answer = {{"cell": cell, "status": "failed", "reason": "ValueError: bad"}}
    print(request["mark"] + json.dumps(answer), flush=True)
"""


def simulate(folder: Path, *cells: str, timeout_s: float = 60.0) -> dict[str, Any]:
    """Cell -> answer, with the script in valgrind's place."""
    install(folder, CHILD)
    simulator = Simulator(Valgrind(str(folder / "valgrind"), "3.19.0"), Geometry(), timeout_s)
    request = {"name": "it", "impl": "it", "cells": [{"cell": cell} for cell in cells]}
    return {cell: answer for _, cell, answer in simulator.simulate([request])}


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text().splitlines())


def test_one_process_serves_every_cell(tmp_path: Path) -> None:
    found = simulate(tmp_path, "a", "b torn", "c")
    assert [answer["status"] for answer in found.values()] == ["ok"] * 3
    assert starts(tmp_path) == 1
    metrics = found["c"]["metrics"]
    # 20 misses in 400 loads of 10 steps: the totals of the script's dump.
    assert metrics["step_l1d_misses_per_op"] == {"value": 2.0, "source": "callgrind"}
    assert metrics["step_l1d_miss_rate"]["value"] == 0.05
    assert metrics["pack_l1d_misses_per_op"] == {"unavailable": "why", "source": "callgrind"}


def test_a_crash_costs_its_own_cell_alone(tmp_path: Path) -> None:
    found = simulate(tmp_path, "a", "b crashes", "c")
    assert found["a"]["status"] == found["c"]["status"] == "ok"
    assert found["b crashes"] == {
        "status": "failed",
        "reason": "under valgrind the process crashed with SIGSEGV: vex: the last words",
    }
    assert starts(tmp_path) == 2


def test_the_others_are_tried_once_more_and_not_for_ever(tmp_path: Path) -> None:
    found = simulate(tmp_path, "a crashes", "b crashes", "c", "d")
    assert [answer["status"] for answer in found.values()] == ["failed"] * 4
    assert starts(tmp_path) == 2


def test_what_an_implementation_raises_costs_its_cell_and_no_process(tmp_path: Path) -> None:
    found = simulate(tmp_path, "a raises", "b")
    assert found["a raises"] == {"status": "failed", "reason": "ValueError: bad"}
    assert found["b"]["status"] == "ok"
    assert starts(tmp_path) == 1


def test_an_instruction_that_valgrind_does_not_know_has_a_mend(tmp_path: Path) -> None:
    found = simulate(tmp_path, "a unknown")
    assert "without -march=native" in found["a unknown"]["reason"]


def test_a_hanging_process_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    found = simulate(tmp_path, "a", "b hangs", timeout_s=1.0)
    assert found["a"]["status"] == "ok"
    assert found["b hangs"]["status"] == "timeout"
    assert "within 1 s" in found["b hangs"]["reason"]
    assert_gone(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("cell", ["nothing", "empty"])
def test_counts_that_are_missing_or_zero_fail_loudly(tmp_path: Path, cell: str) -> None:
    found = simulate(tmp_path, cell)
    assert found[cell]["status"] == "failed"
    assert "callgrind" in found[cell]["reason"]


def test_a_valgrind_that_is_gone(tmp_path: Path) -> None:
    simulator = Simulator(Valgrind(str(tmp_path / "none"), "3.19.0"), Geometry(), 60.0)
    request = {"name": "it", "impl": "it", "cells": [{"cell": "a"}, {"cell": "b"}]}
    answers = [answer for _, _, answer in simulator.simulate([request])]
    assert len(answers) == 2
    assert all("valgrind can't be started" in answer["reason"] for answer in answers)


def test_a_caller_that_stops_asking_ends_the_processes(tmp_path: Path) -> None:
    install(tmp_path, CHILD)
    simulator = Simulator(Valgrind(str(tmp_path / "valgrind"), "3.19.0"), Geometry(), 600.0)
    request = {"name": "it", "impl": "it", "cells": [{"cell": "a"}, {"cell": "b hangs"}]}
    answers = simulator.simulate([request])
    assert next(answers)[1] == "a"
    wait_for(tmp_path / "child")
    answers.close()  # type: ignore[attr-defined]
    assert_gone(int((tmp_path / "starts").read_text()))
    assert_gone(int((tmp_path / "child").read_text()))


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def assert_gone(pid: int) -> None:
    """No such process, or one that only waits to be reaped."""
    deadline = time.monotonic() + 60
    while True:
        try:
            os.kill(pid, 0)
            if ") Z" in Path(f"/proc/{pid}/stat").read_text():
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_operations_are_weighed_by_what_they_do() -> None:
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, [0, 1], 4)
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.LOOKUP, [0, 1, 0], 1)
    builder.step(phase=2)
    builder.run(Op.PACK, [0, 1])
    program = builder.build(period=2, units={1: 3, 2: 1}, width=8)
    assert program.work_in(1) == 3
    assert program.work_in(2) == 3 + 2 * 8
    # One operation that hands out 100 blocks is as much as 100.
    builder = ProgramBuilder()
    builder.step(phase=1)
    builder.run(Op.ALLOCATE, 0, 100)
    builder.run(Op.FREE, 0)
    assert builder.build(units={1: 100}).work_in(1) == 100


REAL = find_valgrind()
needs_valgrind = pytest.mark.skipif(isinstance(REAL, str), reason=str(REAL))

# A flat table of 64 x 512 ids of 2 bytes: twice the simulated first level.
LARGE = """
title = "Large"
total_blocks = 32768
max_blocks_per_seq = 512
concurrency = 64
heap = "aged"
models = ["lookup", "alloc_free"]
"""
SMALL = """
title = "Small"
total_blocks = 256
max_blocks_per_seq = 16
concurrency = 8
heap = "aged"
block_size = 4
models = ["step", "alloc_free"]
"""


def real(folder: Path, scenario: str, *impls: str) -> dict[str, Any]:
    """Implementation -> the answer of its only cell."""
    assert isinstance(REAL, Valgrind)
    folder.mkdir(exist_ok=True)
    plan = make_plan([parse_scenario(scenario, "s", "s.toml")], list(impls), command="test")
    prepared = prepare(plan.cells, folder / "programs")
    simulator = Simulator(REAL, Geometry(), 300.0)
    requests = simulation_requests(plan.pairs(), prepared, 1)
    return {name: answer for name, _, answer in simulator.simulate(requests)}


def values(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["status"] == "ok", answer
    return {name: entry.get("value") for name, entry in answer["metrics"].items()}


@needs_valgrind
def test_misses_are_those_that_the_layout_makes(tmp_path: Path) -> None:
    found = real(tmp_path, LARGE, "null/cpp", "flat-stack/cpp", "hash-map/cpp")
    null = values(found["null/cpp"])
    flat, hashed = values(found["flat-stack/cpp"]), values(found["hash-map/cpp"])
    # A lookup streams two operands of 4 bytes: two loads, an eighth of a line.
    assert null["lookup_ordered_l1d_loads_per_op"] == pytest.approx(2, rel=0.01)
    assert null["lookup_ordered_l1d_misses_per_op"] == pytest.approx(8 / 64, rel=0.02)
    # Above these, lookups in order stream the table: 2 bytes each.
    assert flat["lookup_ordered_l1d_misses_per_op"] == pytest.approx(2 / 64, rel=0.03)
    assert flat["lookup_ordered_ll_misses_per_op"] == 0
    for operation in ("lookup_ordered", "alloc_free_interleaved"):
        name = f"{operation}_l1d_misses_per_op"
        assert hashed[name] > 10 * flat[name]
    sources = {entry["source"] for entry in found["flat-stack/cpp"]["metrics"].values()}
    assert sources == {"callgrind-net"}
    assert {entry["source"] for entry in found["null/cpp"]["metrics"].values()} == {"callgrind"}


@needs_valgrind
def test_counts_are_the_same_from_run_to_run(tmp_path: Path) -> None:
    implementations = ("hash-map/cpp", "vector/cpp[call_style=per-op]", "vector/py")
    # Two folders with names of one length, as any two runs in one environment have.
    first = real(tmp_path / "a", SMALL, *implementations)
    second = real(tmp_path / "b", SMALL, *implementations)
    for name in implementations:
        assert values(first[name]) == values(second[name])
        assert len(values(first[name])) > 50


@needs_valgrind
def test_python_is_counted_above_the_empty_loop(tmp_path: Path) -> None:
    found = real(tmp_path, SMALL, "vector/py", "null/py")
    vector, null = values(found["vector/py"]), values(found["null/py"])
    assert found["vector/py"]["metrics"]["step_l1d_loads_per_op"]["source"] == "callgrind-net"
    # What the loop itself takes is off: less is left than the loop takes alone.
    name = "can_allocate_instructions_per_op"
    assert 0 < vector[name] < null[name]


@needs_valgrind
def test_implementations_that_break_under_it(tmp_path: Path) -> None:
    found = real(tmp_path, SMALL, subject("Raises"), subject("Crashes"), "vector/cpp")
    reasons = {name: answer.get("reason", "") for name, answer in found.items()}
    assert any("RuntimeError: no license found" in reason for reason in reasons.values())
    assert any("under valgrind" in r and "SIGSEGV" in r for r in reasons.values())
    assert found["vector/cpp"]["status"] == "ok"
