"""Run files that nobody vouches for: truncated, foreign, or not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockmark.runs.codec import parse_run
from blockmark.runs.errors import RunFileError
from blockmark.runs.store import RunWriter, load_run
from run_factory import make_run


def finished_run(folder: Path) -> Path:
    with RunWriter.create(folder, {}) as writer:
        writer.append({"round": 1})
        return writer.publish(parse_run(make_run(impls=("vector/cpp",))))


def read_error(path: Path, data: bytes | str) -> str:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(RunFileError) as caught:
        load_run(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_every_truncation_of_a_run_file_is_an_error(tmp_path: Path) -> None:
    whole = finished_run(tmp_path).read_bytes()
    path = tmp_path / "cut.json"
    assert "the file is empty" in read_error(path, b"")
    step = len(whole) // 300
    for size in range(1, len(whole) - 2, step):
        assert "cut off" in read_error(path, whole[:size])
    # Only the line break behind the last brace can be missing.
    path.write_bytes(whole[:-1])
    assert load_run(path).run_id == "0001"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("   \n", "the file is empty; the file is damaged"),
        ("[1, 2]", "holds [1, 2], not an object; name a run folder"),
        ('"text"', "holds 'text', not an object"),
        ("{}", "not a blockmark.run file (it has no schema key); name a run folder"),
        ('{"version": "1.0", "benchmarks": []}', "it has no schema key"),
        ('{"schema": "conbench"}', "(its schema is 'conbench')"),
        ('{"schema": ["x"]}', "it has no schema key"),
        ("{'schema': 1}", "not JSON (Expecting property name enclosed in double quotes) at line 1"),
        (b"\x89PNG\r\n\x1a\n\xff", "not a text file"),
        (b"\xff\xfe{\x00}\x00", "not a text file"),
        ("[" * 100_000, "nested too deep"),
        ('{"schema": ' + "9" * 5000 + "}", "not usable JSON"),
    ],
)
def test_a_foreign_file_is_said_to_be_one(data: bytes | str, message: str, tmp_path: Path) -> None:
    assert message in read_error(tmp_path / "other.json", data)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_found_wherever_it_is(number: str, tmp_path: Path) -> None:
    content = make_run(impls=("vector/cpp",))
    for change, key in (
        ({"duration_s": 0.123456789}, "duration_s"),
        ({"machine": {"load_before": 0.123456789}}, "machine.load_before"),
    ):
        text = json.dumps(content | change).replace("0.123456789", number)
        assert read_error(tmp_path / "run.json", text).startswith(f"{key}: ")
    content["cells"][0]["metrics"]["step_ns"]["values"][2] = 0.123456789
    text = json.dumps(content).replace("0.123456789", number)
    message = read_error(tmp_path / "run.json", text)
    assert message.startswith("cells[0].metrics.step_ns.values[2]: ")
    assert "is not a number that a run may hold" in message


def test_what_is_not_there_or_no_run_is_said_with_the_way_out(tmp_path: Path) -> None:
    def error(path: Path) -> str:
        with pytest.raises(RunFileError) as caught:
            load_run(path)
        return str(caught.value)

    absent = tmp_path / "absent"
    says = "no such file, folder or name of a run; name a run folder or its run.json"
    assert error(absent) == f"{absent}: {says}"
    assert error(tmp_path) == f"{tmp_path}: no run.json in this folder; name a run folder"
    path = finished_run(tmp_path)
    finished_run(tmp_path)
    assert error(tmp_path) == (
        f"{tmp_path}: no run.json in this folder; name a run in it, such as {tmp_path / '0002'}"
    )
    plan = path.parent / "plan.json"
    assert error(plan) == f"{plan}: this is the plan of a run; name {path.parent}"
    path.unlink()
    assert error(path.parent) == (
        f"{path.parent}: this run is unfinished (1 measurements, no run.json); "
        f"go on with `blockmark run --resume {path.parent}`"
    )
    (path.parent / "cells.jsonl").unlink()
    assert "unfinished (0 measurements" in error(path.parent)
    path.mkdir()
    assert "no run.json in this folder" in error(path)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "bad\x00name"])
def test_a_path_that_is_no_file_is_refused_without_reading_it(path: str) -> None:
    with pytest.raises(RunFileError) as caught:
        load_run(path)
    assert "\n" not in str(caught.value)
    assert "\x00" not in str(caught.value)
