"""Runs as tidy rows: `blockmark.load`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import blockmark
from blockmark.runs.codec import parse_run
from blockmark.runs.errors import RunFileError
from blockmark.runs.rows import rows_of
from run_factory import find_cell, make_run, scalar


def rows(content: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return rows_of(parse_run(content), **more)


def the(found: list[dict[str, Any]], **facts: Any) -> dict[str, Any]:
    [row] = [row for row in found if all(row[key] == value for key, value in facts.items())]
    return row


def test_a_value_has_a_row_with_all_that_it_is_of(tmp_path: Path) -> None:
    content = make_run()
    find_cell(content, "vector/cpp")["metrics"]["step_ns"] = scalar([7.0, 3.0, 5.0, 4.0, 6.0])
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar([1.0] * 5)
    (tmp_path / "run.json").write_text(json.dumps(content))
    for path in (tmp_path, tmp_path / "run.json", str(tmp_path)):
        row = the(
            blockmark.load(path, rounds=True),
            impl="vector/cpp",
            metric="step_ns",
            param_block_size=16,
        )
        assert row == {
            "run_id": "0001",
            "uid": None,
            "name": None,
            "tags": None,
            "cpu": "AMD EPYC (Zen 3)",
            "cores": 2,
            "load": 1.37,
            "blockmark_commit": None,
            "blockmark_dirty": None,
            "path": None,
            "digest": None,
            "commit": None,
            "dirty": None,
            "created": "2026-11-29T12:00:00+00:00",
            "quick": False,
            "complete": True,
            "scenario": "decode",
            "impl": "vector/cpp",
            "scheme": "vector",
            "tier": "cpp",
            "profile": "R",
            "kind": "manager",
            "call_style": "native",
            "status": "ok",
            "reason": None,
            "param_block_size": 16,
            "param_total_blocks": 65_536,
            "param_concurrency": 256,
            "metric": "step_ns",
            "quantile": None,
            "unit": "ns",
            "source": "clock",
            "value": 4.0,
            "low": 3.0,
            "high": 7.0,
            "approximate": True,
            "rounds": 5,
            "unavailable": None,
            "floor": "above",
            "values": [7.0, 3.0, 5.0, 4.0, 6.0],
        }


def test_a_cost_says_how_it_stands_to_its_floor() -> None:
    content = make_run()
    for impl, cost in (("null/cpp", 9.0), ("vector/cpp", 8.0), ("flat-stack/cpp", 9.0)):
        find_cell(content, impl)["metrics"]["step_ns"] = scalar([cost] * 5)
    found = {
        row["impl"]: row["floor"]
        for row in rows(content)
        if (row["metric"], row["param_block_size"]) == ("step_ns", 16)
    }
    assert (found["vector/cpp"], found["flat-stack/cpp"]) == ("below", "in its noise")
    assert (found["hash-map/cpp"], found["null/cpp"]) == ("above", None)


def test_every_value_of_the_file_is_there_once() -> None:
    content = make_run()
    expected = 0
    for cell in content["cells"]:
        for metric in cell["metrics"].values():
            expected += len(metric["quantiles"]) if "quantiles" in metric else 1
        expected += not cell["metrics"]
    found = rows(content)
    assert len(found) == expected
    identities = {
        (row["impl"], row["param_block_size"], row["metric"], row["quantile"]) for row in found
    }
    assert len(identities) == expected
    assert len({tuple(row) for row in found}) == 1
    assert "values" not in found[0]


def test_a_distribution_has_a_row_a_quantile() -> None:
    found = [
        row["quantile"]
        for row in rows(make_run())
        if (row["impl"], row["param_block_size"]) == ("vector/cpp", 16)
        and row["metric"] == "step_latency_ns"
    ]
    assert found == ["p50", "p90", "p99", "p99.9", "max"]


def test_what_was_not_measured_is_none_with_its_reason() -> None:
    found = rows(make_run(), rounds=True)
    wrong = the(found, impl="mine", param_block_size=16)
    assert (wrong["status"], wrong["metric"], wrong["value"]) == ("wrong", None, None)
    assert wrong["reason"].startswith("step 12")
    assert wrong["values"] == []
    content = make_run()
    find_cell(content, "vector/cpp")["metrics"]["step_ns"] = {
        "value": None,
        "unit": "ns",
        "source": "clock",
        "unavailable": "no clock",
    }
    row = the(rows(content), impl="vector/cpp", metric="step_ns", param_block_size=16)
    assert (row["value"], row["low"], row["rounds"]) == (None, None, 0)
    assert (row["unavailable"], row["approximate"]) == ("no clock", None)


def test_a_param_has_one_type_in_a_column() -> None:
    content = make_run(impls=("vector/cpp",))
    for place, part in enumerate((*content["settings"], *content["cells"])):
        first = place % 2 == 0
        part["params"]["prompt_tokens"] = 512 if first else {"kind": "fixed", "value": 2.0}
        part["params"]["rate"] = 1 if first else 1.5
        part["params"]["models"] = ["step"]
        part["params"]["flag"] = first
        if first:
            part["params"]["only"] = "here"
    found = rows(content)
    columns = {
        name: {row[f"param_{name}"] for row in found}
        for name in ("prompt_tokens", "rate", "models", "flag", "only")
    }
    assert columns == {
        "prompt_tokens": {"512", '{"kind":"fixed","value":2}'},
        "rate": {1.0, 1.5},
        "models": {'["step"]'},
        "flag": {True, False},
        "only": {"here", None},
    }
    assert {type(row["param_rate"]) for row in found} == {float}
    assert {type(row["value"]) for row in found} == {float}


def test_a_file_that_is_no_run_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"no run\.json in this folder"):
        blockmark.load(tmp_path)


def test_importing_blockmark_imports_next_to_nothing() -> None:
    """The module is behind every command, and inside every measured process."""
    script = (
        "import sys; before = set(sys.modules); import blockmark; print(blockmark.__version__)\n"
        "print(*set(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(done.stdout.splitlines()[1].split())
    assert "blockmark" in imported
    assert not imported & {"json", "dataclasses", "pathlib", "typing", "blockmark.runs"}


def test_the_first_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "data.md").read_text(encoding="utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "results" / "0001").mkdir(parents=True)
    (tmp_path / "results" / "0001" / "run.json").write_text(json.dumps(make_run()))
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/data.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("flat-stack/cpp 16 ")
    # Every key of a row is named on the page.
    for key in rows(make_run())[0]:
        assert key in page or key.startswith("param_")
