"""`blockmark report` for other tools and for two runs, and `blockmark history`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from cli import blockmark
from run_factory import find_cell, make_run, scalar


def saved(folder: Path, name: str = "run.json", **changes: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(make_run(**changes)))
    return str(path)


def test_junit_of_a_run_shows_each_cells_status(tmp_path: Path) -> None:
    done = blockmark("report", saved(tmp_path), "--format", "junit", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    suite = ElementTree.fromstring(done.stdout.encode())[0]
    states = {
        (case.get("classname"), case.get("name")): [
            child.tag for child in case if child.tag != "properties"
        ]
        for case in suite.iter("testcase")
    }
    assert len(states) == len(make_run()["cells"])
    assert states["decode, block_size 16", "vector/cpp"] == []
    assert states["decode, block_size 16", "mine"] == ["error"]
    assert states["decode, block_size 1", "open-hash+lru/cpp"] == ["error"]
    assert states["decode, block_size 16", "prefix-tree"] == ["skipped"]
    assert (suite.get("errors"), suite.get("skipped")) == ("3", "2")
    [told] = [
        float(one.get("value", ""))
        for case in suite.iter("testcase")
        if (case.get("classname"), case.get("name")) == ("decode, block_size 16", "vector/cpp")
        for one in case.iter("property")
        if one.get("name") == "step_ns ns"
    ]
    told_by = find_cell(make_run(), "vector/cpp")["metrics"]["step_ns"]["value"]
    assert told == pytest.approx(told_by, rel=1e-5)


def test_github_prints_annotations_and_adds_to_the_step_summary(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = blockmark(
        "report",
        saved(tmp_path),
        "--format",
        "github",
        cwd=tmp_path,
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::error"] * 3 + ["::notice"] * 2
    assert lines[0] == (
        "::error title=blockmark%3A wrong::mine, decode, block_size 16: step 12, operation 3104 "
        "(APPEND): block 7 belongs to two sequences"
    )
    text = summary.read_text()
    assert text.startswith("before\n## blockmark: decode\n")
    assert "| flat-stack/cpp |" in text


def test_openmetrics_is_written_whole_and_may_be_read_by_others(tmp_path: Path) -> None:
    out = tmp_path / "blockmark.prom"
    run = saved(tmp_path)
    done = blockmark(
        "report", run, "--format", "openmetrics", "--output", "blockmark.prom", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "blockmark.prom\n"
    text = out.read_text()
    assert text.endswith("# EOF\n")
    mask = os.umask(0)
    os.umask(mask)
    assert out.stat().st_mode & 0o777 == 0o666 & ~mask
    # A scraper that has the old file open goes on reading the old one.
    with out.open() as reader:
        blockmark("report", run, "--format", "openmetrics", "--output", str(out), cwd=tmp_path)
        assert reader.read() == text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["blockmark.prom", "run.json"]
    printed = blockmark("report", run, "--format", "openmetrics", cwd=tmp_path)
    assert printed.stdout == text


def test_two_runs_are_compared_in_one_report(tmp_path: Path) -> None:
    one = saved(tmp_path, "one.json")
    two = saved(tmp_path, "two.json", run_id="0002", slowdown={"vector/cpp": 1.5})
    done = blockmark("report", one, two, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'report-against-0001' / 'report.md'}\n"
    text = (tmp_path / "report-against-0001/report.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| vector/cpp |"))
    # By hand: the times are 1.5 times as long; of two different times no time is judged.
    assert row.endswith("| 1.50 | - | two times |")
    assert "(before-after-block_size-16.png)" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b", "--format", "junit"], "--format junit takes one RUN"),
        (["a", "b", "c"], "report takes one RUN, or two to compare; blockmark history shows more"),
        (["a", "b", "--splice", "README.md"], "--splice takes one RUN"),
        (["a", "--brief"], "--brief goes with --splice FILE, and without --ladder"),
        (["a", "--format", "github", "--splice", "x"], "--splice goes with --format md"),
    ],
)
def test_usage(tmp_path: Path, words: list[str], said: str) -> None:
    done = blockmark("report", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    done = blockmark(
        "report", saved(tmp_path), "--format", "junit", "--output", "none/x.xml", cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: none/x.xml: the junit file can't be written: no such")
    assert done.stderr.count("\n") == 1


def test_history_prints_and_draws(tmp_path: Path) -> None:
    paths = []
    for day in range(1, 5):
        content = make_run(created=f"2026-11-0{day}T12:00:00+00:00", run_id=f"000{day}")
        step = 1500.0 if day < 3 else 1800.0
        find_cell(content, "vector/cpp")["metrics"]["step_ns"] = scalar([step] * 5)
        path = tmp_path / f"{day}.json"
        path.write_text(json.dumps(content))
        paths.append(str(path))
    words = ["history", *reversed(paths), "--impl", "vector/cpp", "--plot", "trend.png"]
    done = blockmark(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "at run 0003 2026-11-03 12:00: 1.80 us, +20.0 %, worse" in said
    assert "Picture: trend.png" in said
    assert (tmp_path / "trend.png").read_bytes().startswith(b"\x89PNG")
    wide = blockmark(*words[:-2], "--margin", "25", cwd=tmp_path)
    assert "No change was found." in wide.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--metric", "stpe_ns"], 2, "did you mean 'step_ns'"),
        (["--metric", "step_ns.p99"], 2, "it has no quantiles"),
        (["--impl", "nobody"], 2, "no implementation 'nobody'"),
        (["--metric", "step_ns", "--impl", "raw-array/cpp"], 3, "no value of step_ns"),
    ],
)
def test_history_of_what_is_not_there(
    tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    done = blockmark("history", saved(tmp_path), *words, cwd=tmp_path)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
