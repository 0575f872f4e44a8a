"""`run` with counters and with an assertion on allocations, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockmark.cli.errors import worst
from blockmark.measure.probes.pmu import probe
from cli import blockmark, subject, tiny


def run_json(folder: Path) -> Any:
    return json.loads((folder / "results" / "0001" / "run.json").read_text())


def test_worst_first() -> None:
    """130, 2, 4, 1, 3, 5, whatever their order; 0 only if nothing else is there."""
    assert worst() == worst(0, 0) == 0
    assert worst(0, 5) == 5
    assert worst(5, 3, 0) == 3
    assert worst(3, 1) == 1
    assert worst(1, 4, 3) == 4
    assert worst(4, 2) == 2
    assert worst(2, 130) == 130


def test_counters_that_this_machine_does_not_have(tmp_path: Path) -> None:
    if probe().ok:
        pytest.skip("this machine has hardware counters")
    done = blockmark("run", tiny(tmp_path), "--counters", "pmu", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --counters pmu: no hardware counters: ")
    assert "works" in done.stderr or "--counters callgrind simulates" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "results").exists()


def test_hardware_counters_where_there_are_any(tmp_path: Path) -> None:
    if not (found := probe()).ok:
        pytest.skip(f"no hardware counters: {found.reason}")
    done = blockmark("run", tiny(tmp_path), "--quick", "--counters", "pmu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = run_json(tmp_path)
    assert run["counters"]["source"] == "pmu"
    instructions = run["cells"][0]["metrics"]["step_instructions_per_op"]
    assert instructions["source"] == "pmu"
    # Eight sequences take at least an append and a lookup each.
    assert instructions["value"] > 16


@pytest.mark.parametrize(("counters", "has"), [("software", True), ("none", False)])
def test_the_kernels_books(tmp_path: Path, counters: str, has: bool) -> None:
    done = blockmark("run", tiny(tmp_path), "--quick", "--counters", counters, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = run_json(tmp_path)
    assert run["counters"] == {"asked": counters, "source": counters}
    metrics = run["cells"][0]["metrics"]
    for name in (
        "minor_faults",
        "major_faults",
        "voluntary_switches",
        "involuntary_switches",
        "migrations",
        "task_clock_ns",
        "cpu_share_of_wall",
    ):
        assert (name in metrics) is has
    if has:
        assert metrics["task_clock_ns"]["value"] > 0
        assert metrics["task_clock_ns"]["source"] == "software"


def test_dry_run_says_where_counters_will_come_from(tmp_path: Path) -> None:
    done = blockmark("run", tiny(tmp_path), "--dry-run", "--counters", "auto", cwd=tmp_path)
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("counters ")]
    assert line.split()[1] in ("pmu", "callgrind", "software")


def test_no_allocation_holds_for_the_flat_stack_and_not_for_the_hash_map(tmp_path: Path) -> None:
    pytest.importorskip("blockmark_impls._native")
    names = ["--impl", "flat-stack/cpp", "--impl", "hash-map/cpp"]
    words = ["run", tiny(tmp_path), "--quick", *names]
    done = blockmark(*words, "--assert-zero-alloc", "flat-*", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = blockmark(*words, "--assert-zero-alloc", "*", "--json", cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    cells = {cell["impl"]: cell for cell in json.loads(done.stdout)["cells"]}
    counted = cells["hash-map/cpp"]["metrics"]["heap_allocations_per_step"]["value"]
    assert line == f"hash-map/cpp: {counted:.3g} heap allocations in a steady step; asserted zero"
    # Going on with a run asserts of it what is asked then.
    done = blockmark(
        "run", "--resume", "results/0002", "--assert-zero-alloc", "flat-*", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    done = blockmark("run", "--resume", "results/0002", "--assert-zero-alloc", "x", cwd=tmp_path)
    assert done.returncode == 2
    assert "it has flat-stack/cpp, hash-map/cpp" in done.stderr


def test_what_failed_cannot_be_asserted(tmp_path: Path) -> None:
    words = ["run", tiny(tmp_path), "--quick", "--impl", f"theirs={subject('Raises')}"]
    done = blockmark(*words, "--assert-zero-alloc", "theirs", cwd=tmp_path)
    assert done.returncode == 3
    assert "theirs: heap allocations can't be asserted: failed:" in done.stderr
    words = ["run", tiny(tmp_path), "--quick", "--impl", f"theirs={subject('Wrong')}"]
    assert blockmark(*words, "--assert-zero-alloc", "t*", cwd=tmp_path).returncode == 4


def test_an_assertion_on_nothing_is_refused_before_measuring(tmp_path: Path) -> None:
    done = blockmark("run", tiny(tmp_path), "--assert-zero-alloc", "flat*", cwd=tmp_path)
    assert done.returncode == 2
    assert "--assert-zero-alloc flat*: no implementation of this run" in done.stderr
    assert "it has vector/py" in done.stderr
    assert not (tmp_path / "results").exists()


def test_doctor_says_which_counters_there_are(tmp_path: Path) -> None:
    done = blockmark("doctor", cwd=tmp_path)
    lines = {line[6:24].strip(): line for line in done.stdout.splitlines()}
    hardware = lines["hardware counters"]
    found = probe()
    assert hardware.startswith("yes" if found.ok else "no ")
    assert (found.reason or found.events[0]) in hardware
    simulated = lines["simulated counters"]
    assert "32768,8,64" in simulated if simulated.startswith("yes") else "install" in simulated
    assert "migrations" in lines["software counts"]
