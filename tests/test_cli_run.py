"""`blockmark run` end to end, and what it survives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli import blockmark, command, subject, tiny


def run_json(folder: Path) -> Any:
    return json.loads((folder / "results" / "0001" / "run.json").read_text())


def wait_for_rounds(folder: Path, count: int) -> Path:
    """Wait until a run in the background has finished `count` rounds; its journal."""
    lines = folder / "results" / "0001" / "cells.jsonl"
    deadline = time.monotonic() + 90
    while not lines.exists() or lines.read_text().count('"kind":"round"') < count:
        assert time.monotonic() < deadline, "the run did not get so far"
        time.sleep(0.05)
    return lines


def test_a_run_verifies_measures_saves_and_reports(tmp_path: Path) -> None:
    done = blockmark("run", tiny(tmp_path), "--rounds", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "vector/py" in done.stdout
    assert "1 of 1 verified" in done.stdout
    assert "\x1b[" not in done.stdout  # piped: plain
    report = (tmp_path / "results" / "0001" / "report" / "report.md").read_text()
    assert "vector/py" in report
    for picture in (tmp_path / "results" / "0001" / "report").glob("*.png"):
        assert picture.name in report
        assert picture.read_bytes()[:4] == b"\x89PNG"
    # A run of a clone leaves what is committed there alone: all lies in its own folder.
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["results", "tiny.toml"]
    assert [entry.name for entry in (tmp_path / "results").iterdir()] == ["0001"]
    run = run_json(tmp_path)
    assert run["complete"] is True
    (cell,) = run["cells"]
    assert cell["status"] == "ok"
    metrics = cell["metrics"]
    assert metrics["step_ns"]["rounds"] == 2
    assert metrics["step_ns"]["low"] <= metrics["step_ns"]["value"] <= metrics["step_ns"]["high"]
    # Estimated from the cost, per sequence and at the rate of the scenario.
    assert metrics["step_per_sequence_ns"]["value"] == pytest.approx(
        metrics["step_ns"]["value"] / 8
    )
    assert metrics["busy_share_estimated"]["value"] == pytest.approx(
        metrics["step_ns"]["value"] * 2000e-9
    )


def test_json_is_the_run_file(tmp_path: Path) -> None:
    done = blockmark("run", tiny(tmp_path), "--quick", "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == run_json(tmp_path)
    assert not (tmp_path / "results" / "0001" / "report").exists()


def test_quick_says_that_it_is_not_for_decisions(tmp_path: Path) -> None:
    done = blockmark("run", tiny(tmp_path), "--quick", cwd=tmp_path)
    assert "not for decisions" in done.stdout.lower()


def test_the_same_seed_replays_the_same_operations(tmp_path: Path) -> None:
    for seed in ("7", "7", "8"):
        blockmark("run", tiny(tmp_path), "--quick", "--json", "--seed", seed, cwd=tmp_path)
    digests = [
        json.loads((tmp_path / "results" / f"000{n}" / "run.json").read_text())["settings"][0][
            "facts"
        ]["program_digest"]
        for n in (1, 2, 3)
    ]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("name", "status", "says", "code"),
    [
        ("Right", "ok", "", 0),
        ("Prints", "ok", "", 0),
        ("Wrong", "wrong", "lookup", 4),
        ("Crashes", "failed", "SIGSEGV", 3),
        ("Raises", "failed", "no license found", 3),
        ("BlowsUp", "failed", "memory", 3),
        ("Hangs", "timeout", "no answer within 3 s", 3),
    ],
)
def test_what_an_implementation_does_is_its_result_alone(
    tmp_path: Path, name: str, status: str, says: str, code: int
) -> None:
    done = blockmark(
        "run",
        tiny(tmp_path),
        "--quick",
        "--timeout",
        "3" if name == "Hangs" else "60",
        "--impl",
        f"theirs={subject(name)}",
        "--impl",
        "hash-map/py",
        cwd=tmp_path,
    )
    assert done.returncode == code, done.stderr
    cells = {cell["impl"]: cell for cell in run_json(tmp_path)["cells"]}
    assert cells["theirs"]["status"] == status
    assert says in cells["theirs"].get("reason", "")
    assert ("step_ns" in cells["theirs"]["metrics"]) is (status == "ok")
    # The rest went on.
    assert cells["hash-map/py"]["status"] == "ok"
    assert "Traceback" not in done.stderr
    if status not in ("ok",):
        assert status in done.stdout


def test_a_part_of_the_contract_is_unavailable_not_wrong(tmp_path: Path) -> None:
    target = f"part={subject('OnlyTables')}"
    done = blockmark("run", tiny(tmp_path), "--quick", "--impl", target, cwd=tmp_path)
    (cell,) = run_json(tmp_path)["cells"]
    step = cell["metrics"].get("step_ns", {})
    said = cell.get("reason", "") + step.get("unavailable", "")
    assert "lookup" in said, done.stdout + done.stderr


def test_an_interrupted_run_keeps_what_is_finished_and_goes_on(tmp_path: Path) -> None:
    scenario = tiny(tmp_path, "\n[matrix]\nseed = [1, 2, 3, 4, 5, 6, 7, 8]\n")
    process = subprocess.Popen(
        command("run", scenario, "--rounds", "3"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines = wait_for_rounds(tmp_path, 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "blockmark run --resume results/0001" in err
    kept = lines.read_text().splitlines()
    run = run_json(tmp_path)
    assert run["complete"] is False
    assert any(cell["status"] == "ok" for cell in run["cells"])
    # A torn last line, as a power cut leaves it.
    with lines.open("a") as file:
        file.write('{"kind":"round","ce')
    done = blockmark("run", "--resume", "results/0001", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines.read_text().splitlines()[: len(kept)] == kept
    run = run_json(tmp_path)
    assert run["complete"] is True
    assert [cell["metrics"]["step_ns"]["rounds"] for cell in run["cells"]] == [3] * 8


def test_a_polite_kill_is_an_interrupt(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("run", tiny(tmp_path), "--rounds", "500"),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_rounds(tmp_path, 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert run_json(tmp_path)["cells"][0]["status"] == "ok"


KILLED_WHILE_KEEPING = """
import os, signal, sys
from blockmark.__main__ import main
from blockmark.runs.store import RunWriter

number = getattr(signal, sys.argv.pop(1))
append = RunWriter.append

def interrupted(self, record):
    append(self, record)
    if record["kind"] == "round":
        os.kill(os.getpid(), number)
        # Where Python would look for signals.
        for _ in range(1000):
            pass

RunWriter.append = interrupted
main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_is_on_the_disk_is_published(tmp_path: Path, name: str) -> None:
    words = [sys.executable, "-c", KILLED_WHILE_KEEPING, name, "run", tiny(tmp_path)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 130, done.stderr
    (cell,) = run_json(tmp_path)["cells"]
    assert (cell["status"], cell["metrics"]["step_ns"]["rounds"]) == ("ok", 1)


def test_a_killed_run_can_be_gone_on_with(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("run", tiny(tmp_path), "--rounds", "6"),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for_rounds(tmp_path, 1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    refused = blockmark("report", "results/0001", cwd=tmp_path)
    assert refused.returncode == 2
    assert "unfinished" in refused.stderr
    done = blockmark("run", "--resume", "results/0001", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run_json(tmp_path)["cells"][0]["metrics"]["step_ns"]["rounds"] == 6


def test_dry_run_measures_nothing(tmp_path: Path) -> None:
    done = blockmark("run", tiny(tmp_path), "--dry-run", cwd=tmp_path)
    assert done.returncode == 0
    assert "5 measured processes" in done.stdout
    assert not (tmp_path / "results").exists()


def test_pyperf_reads_the_export(tmp_path: Path) -> None:
    blockmark("run", tiny(tmp_path), "--quick", "--json", "--pyperf", "suite.json", cwd=tmp_path)
    shown = subprocess.run(
        [command()[0], "-m", "pyperf", "stats", "suite.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "step_ns" in shown.stdout


def test_a_cell_too_large_for_the_machine_is_unavailable(tmp_path: Path) -> None:
    done = blockmark(
        "run",
        "decode",
        "--quick",
        "--json",
        "--set",
        "total_blocks=2000000000",
        "--set",
        "id_bits=32",
        "--set",
        "block_size=16",
        "--impl",
        "vector/py",
        cwd=tmp_path,
    )
    assert done.returncode == 3
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["status"] == "unavailable"
    assert "more than half of this machine's memory" in cell["reason"]


def test_a_cold_cache_is_proved_or_refused(tmp_path: Path) -> None:
    done = blockmark(
        "run", tiny(tmp_path), "--quick", "--json", "--set", "cache=l2-cold", cwd=tmp_path
    )
    (cell,) = json.loads(done.stdout)["cells"]
    step = cell["metrics"]["step_ns"]
    assert step["value"] or "cache" in step["unavailable"]
