"""`blockmark run --counters callgrind` from end to end, and what it survives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.probes.callgrind import find_valgrind
from cli import blockmark, command, tiny
from fake_valgrind import install

REAL = find_valgrind()
needs_valgrind = pytest.mark.skipif(isinstance(REAL, str), reason=str(REAL))


def header() -> bool:
    try:
        from blockmark_impls import _native
    except ImportError:
        return False
    return _native.callgrind_header


needs_header = pytest.mark.skipif(not header(), reason="the core has no header of valgrind's")
ANSWERS = 'if words == ["--version"]:\n    print("valgrind-3.19.0")\n    sys.exit()\n'


def valgrind(folder: Path, body: str) -> dict[str, str]:
    """An environment whose valgrind tells its version, and else does `body`."""
    return install(folder / "bin", ANSWERS + body)


def run_json(folder: Path) -> Any:
    return json.loads((folder / "results" / "0001" / "run.json").read_text())


def journal(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "results" / "0001" / "cells.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@needs_valgrind
def test_a_run_holds_simulated_counts_and_says_so(tmp_path: Path) -> None:
    done = blockmark(
        "run",
        tiny(tmp_path),
        *("--impl", "vector/py", "--impl", "flat-stack/cpp", "--impl", "null/cpp"),
        *("--quick", "--counters", "callgrind", "--cache", "l1=49152,12,64"),
        *("--rounds", "2", "--json", "--set", "cache=hot,l2-cold"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    run = run_json(tmp_path)
    assert run["complete"] is True
    assert run["counters"]["source"] == "callgrind"
    assert run["counters"]["d1"] == "49152,12,64"
    for cell in run["cells"]:
        if cell["params"]["cache"] != "hot":
            continue
        source = "callgrind" if cell["kind"] == "control" else "callgrind-net"
        counted = cell["metrics"]["step_l1d_loads_per_op"]
        assert (counted["source"], counted["rounds"]) == (source, 1)
        assert counted["value"] > 0
        assert cell["metrics"]["step_ns"]["source"] == "clock"


@needs_valgrind
def test_only_hot_caches_are_simulated(tmp_path: Path) -> None:
    done = blockmark(
        "run",
        tiny(tmp_path),
        *("--quick", "--counters", "callgrind", "--json", "--set", "cache=l2-cold"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    run = run_json(tmp_path)
    assert run["complete"] is True
    (cell,) = run["cells"]
    assert cell["status"] == "ok"
    missing = cell["metrics"]["step_l1d_misses_per_op"]
    assert missing["unavailable"] == "caches are simulated for cache = hot alone"


@needs_valgrind
def test_resuming_simulates_what_is_missing_alone(tmp_path: Path) -> None:
    words = ("--quick", "--counters", "callgrind", "--json", "--impl", "vector/py")
    blockmark("run", tiny(tmp_path), *words, "--impl", "flat-stack/cpp", cwd=tmp_path)
    whole = run_json(tmp_path)
    records = journal(tmp_path)
    assert [record["kind"] for record in records] == ["verify"] * 2 + ["round"] * 2 + [
        "counters"
    ] * 2
    # As an interrupt leaves it: one of two was simulated.
    folder = tmp_path / "results" / "0001"
    lines = (folder / "cells.jsonl").read_text().splitlines(keepends=True)
    (folder / "cells.jsonl").write_text("".join(lines[:-1]))
    (folder / "run.json").unlink()
    done = blockmark("run", "--resume", str(folder), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = journal(tmp_path)
    assert again[:-1] == records[:-1]
    assert (again[-1]["kind"], again[-1]["impl"]) == ("counters", records[-1]["impl"])
    assert run_json(tmp_path)["complete"] is True
    assert {c["impl"] for c in run_json(tmp_path)["cells"]} == {c["impl"] for c in whole["cells"]}


@needs_header
def test_a_valgrind_that_crashes_leaves_the_timings(tmp_path: Path) -> None:
    env = valgrind(tmp_path, "print('out of luck', file=sys.stderr)\nos.abort()")
    done = blockmark(
        "run", tiny(tmp_path), "--quick", "--counters", "callgrind", cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    run = run_json(tmp_path)
    assert run["complete"] is True
    (cell,) = run["cells"]
    assert cell["status"] == "ok"
    assert cell["metrics"]["step_ns"]["value"] > 0
    missing = cell["metrics"]["step_l1d_misses_per_op"]
    assert missing["unavailable"] == (
        "under valgrind the process crashed with SIGABRT: out of luck"
    )
    # Said once, not for each of its counters.
    assert [name for name in cell["metrics"] if name.endswith("_per_op")] == [
        "step_l1d_misses_per_op"
    ]


@needs_header
def test_an_interrupt_keeps_the_rounds_and_ends_valgrind(tmp_path: Path) -> None:
    pid = tmp_path / "bin" / "pid"
    env = valgrind(tmp_path, f"open({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)")
    words = command("run", tiny(tmp_path), "--quick", "--counters", "callgrind", "--json")
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 90
        while not pid.exists() or not pid.read_text():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    run = run_json(tmp_path)
    assert run["complete"] is False
    assert run["cells"][0]["metrics"]["step_ns"]["value"] > 0
    # Another valgrind by then: nothing is mixed.
    other = install(tmp_path / "bin", "print('valgrind-3.20.0')")
    done = blockmark(
        "run", "--resume", str(tmp_path / "results" / "0001"), "--json", cwd=tmp_path, env=other
    )
    assert done.returncode == 0, done.stderr
    run = run_json(tmp_path)
    assert run["complete"] is True
    assert run["cells"][0]["metrics"]["step_l1d_misses_per_op"]["unavailable"] == (
        "this run was begun with valgrind 3.19.0; here is 3.20.0"
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("print('valgrind-3.15.0')", "valgrind 3.15.0 is too old"),
        ("os.abort()", "is ended by signal 6 when asked for its version"),
    ],
)
def test_a_valgrind_that_can_not_be_used_is_refused_before_anything_runs(
    tmp_path: Path, body: str, problem: str
) -> None:
    env = install(tmp_path / "bin", body)
    done = blockmark("run", tiny(tmp_path), "--counters", "callgrind", cwd=tmp_path, env=env)
    assert done.returncode == 2
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert not (tmp_path / "results").exists()
