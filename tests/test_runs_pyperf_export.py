"""The exported suite, as pyperf itself reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyperf
import pytest

from blockmark.runs.codec import parse_run
from blockmark.runs.errors import StoreError
from blockmark.runs.model import Run
from blockmark.runs.pyperf_export import Exported, export_pyperf
from run_factory import find_cell, make_run, scalar

IMPLS = ("vector/cpp", "flat-stack/cpp", "mine")


def run_of(**changes: Any) -> Run:
    return parse_run(make_run(**({"impls": IMPLS} | changes)))


def viewer(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pyperf", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_every_timing_is_exported_in_seconds_one_run_a_round(tmp_path: Path) -> None:
    content = make_run(impls=IMPLS)
    file = tmp_path / "suite.json"
    exported = export_pyperf(parse_run(content), file)
    suite = {bench.get_name(): bench for bench in pyperf.BenchmarkSuite.load(str(file))}
    # By hand: 2 settings x 2 measured implementations x (16 scalar timings and 5 quantiles).
    assert exported.benchmarks == len(suite) == 2 * 2 * (16 + 5)
    # Of each of these cells 5 shares, 1 + 3 counts, 3 sizes, the run length, the CPU share.
    assert exported.left_out == 2 * 2 * (5 + 4 + 3 + 2)
    assert exported.cells_left_out == 2
    values = find_cell(content, "vector/cpp", 1)["metrics"]["take_ns"]["values"]
    bench = suite["decode block_size=1 vector/cpp take_ns"]
    assert bench.get_values() == pytest.approx([value * 1e-9 for value in values])
    assert bench.get_nrun() == 5
    # 10 ms and no more than one operation above.
    assert 0.01 <= min(values) * 1e-9 * bench.get_loops() < 0.01 + min(values) * 1e-9
    metadata = bench.get_metadata()
    assert metadata["unit"] == "second"
    assert metadata["cpu_model_name"] == "AMD EPYC (Zen 3)"
    assert metadata["python_version"] == "3.11.7"
    assert metadata["blockmark_impl"] == "vector/cpp"
    assert metadata["blockmark_metric"] == "take_ns"
    p99 = find_cell(content, "vector/cpp")["metrics"]["step_latency_ns"]["quantiles"]["p99"]
    bench = suite["decode block_size=16 vector/cpp step_latency_ns.p99"]
    assert bench.get_values() == pytest.approx([value * 1e-9 for value in p99["values"]])


@pytest.mark.parametrize("rounds", [1, 5])
def test_pyperfs_viewers_read_the_file(rounds: int, tmp_path: Path) -> None:
    before, now = tmp_path / "before.json", tmp_path / "now.json.gz"
    export_pyperf(run_of(rounds=rounds, impls=("vector/cpp",)), before)
    slower = run_of(rounds=rounds, impls=("vector/cpp",), slowdown={"vector/cpp": 2.0})
    export_pyperf(slower, now)
    name = "decode block_size=16 vector/cpp step_ns"
    assert f"Number of run with values: {rounds}" in viewer("stats", before)
    assert name in viewer("hist", before)
    assert name in viewer("show", now)
    assert "2.00x slower" in viewer("compare_to", before, now)
    checked = viewer("check", before)
    assert "the shortest raw value" not in checked
    viewer("dump", "--quiet", before)


def test_names_from_a_user_are_made_harmless_and_stay_apart(tmp_path: Path) -> None:
    content = make_run(impls=("vector/cpp", "flat-stack/cpp"))
    names = {"vector/cpp": "бло\nk[red]|\u4e2d", "flat-stack/cpp": "бло\tk[red]|\u4e2d"}
    for cell in content["cells"]:
        cell["impl"] = names[cell["impl"]]
    for info in content["implementations"]:
        info["name"] = names[info["name"]]
    content["machine"] |= {"cpu_model": " ", "cores": None, "python": 3}
    content["command"] = ""
    file = tmp_path / "suite.json"
    exported = export_pyperf(parse_run(content), file)
    found = [bench.get_name() for bench in pyperf.BenchmarkSuite.load(str(file))]
    assert len(set(found)) == exported.benchmarks
    assert "decode block_size=16 бло?k[red]|\u4e2d step_ns" in found
    assert "decode block_size=16 бло?k[red]|\u4e2d step_ns (2)" in found
    assert "бло?k" in viewer("stats", file)


def test_a_zero_is_left_out_and_a_missing_value_too(tmp_path: Path) -> None:
    content = make_run(impls=("vector/cpp",))
    metrics = find_cell(content, "vector/cpp")["metrics"]
    whole = export_pyperf(parse_run(content), tmp_path / "a.json")
    metrics["take_ns"] = scalar([1.0, 0.0, 1.0])
    metrics["give_ns"] = {"value": None, "unit": "ns", "source": "clock", "unavailable": "no"}
    exported = export_pyperf(parse_run(content), tmp_path / "b.json")
    assert exported == Exported(whole.benchmarks - 2, whole.left_out + 2, 0)


def test_an_older_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "suite.json"
    file.write_text("old")
    export_pyperf(run_of(), file)
    assert len(pyperf.BenchmarkSuite.load(str(file))) == 84
    assert [entry.name for entry in tmp_path.iterdir()] == ["suite.json"]


def test_where_nothing_can_be_written_the_error_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for file in (tmp_path / "absent" / "a.json", tmp_path / "file" / "a.json", tmp_path):
        with pytest.raises(StoreError, match=r"; name another file with --pyperf$"):
            export_pyperf(run_of(), file)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file"]


def test_a_run_without_timings_is_not_exported(tmp_path: Path) -> None:
    file = tmp_path / "suite.json"
    with pytest.raises(StoreError, match="the run has no timing to export"):
        export_pyperf(run_of(impls=("mine",)), file)
    assert not file.exists()
