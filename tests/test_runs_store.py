"""A run on disk: real folders, real processes, real kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from blockmark.runs.codec import parse_run
from blockmark.runs.errors import RunFileError, StoreError
from blockmark.runs.store import RunWriter, load_run, render_json
from run_factory import make_run

PLAN = {"order": ["vector/cpp"], "seed": 7}
TESTS = Path(__file__).parent


def record(number: int) -> dict[str, Any]:
    return {"kind": "round", "cell": "ab12", "round": number, "metrics": {"step_ns": 1.5}}


def finished_run(folder: Path) -> Path:
    with RunWriter.create(folder, PLAN) as writer:
        writer.append(record(1))
        return writer.publish(parse_run(make_run(impls=("vector/cpp",))))


def child(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """A Python process with the packages of this one and these imports."""
    header = (
        "import os, signal, sys, time\n"
        "from blockmark.runs.store import RunWriter, load_run\n"
        "from blockmark.runs.errors import StoreError\n"
        "from blockmark.runs.codec import parse_run\n"
        "from run_factory import make_run\n"
    )
    path = os.pathsep.join([*sys.path, str(TESTS)])
    return subprocess.Popen(
        [sys.executable, "-c", header + code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        **options,
    )


# Writing and reading back.


def test_a_run_is_published_and_loaded_by_folder_and_by_file(tmp_path: Path) -> None:
    content = make_run()
    with RunWriter.create(tmp_path / "deep" / "results", PLAN) as writer:
        path = writer.publish(parse_run(content))
        assert writer.run_id == "0001"
    assert path == tmp_path / "deep" / "results" / "0001" / "run.json"
    assert load_run(path) == load_run(path.parent) == load_run(str(path)) == parse_run(content)
    assert json.loads(path.read_text()) == content
    assert sorted(entry.name for entry in path.parent.iterdir()) == [
        "cells.jsonl",
        "lock",
        "plan.json",
        "run.json",
    ]


def test_the_plan_is_there_before_the_first_measurement(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, PLAN) as writer:
        plan = json.loads((writer.folder / "plan.json").read_text())
        assert plan == {
            "schema": "blockmark.plan",
            "schema_version": 1,
            "run_id": "0001",
            "order": ["vector/cpp"],
            "seed": 7,
        }
        assert writer.plan == plan
        assert writer.finished == []


def test_folders_are_numbered_after_the_highest_one(tmp_path: Path) -> None:
    for name in ("baseline", "0003", "0007", "12", "notes.txt", "٣٣٣٣", "9" * 40):
        (tmp_path / name).mkdir()
    ids = []
    for _ in range(2):
        with RunWriter.create(tmp_path, PLAN) as writer:
            ids.append(writer.run_id)
    assert ids == ["0008", "0009"]


def test_numbers_go_on_beyond_four_digits(tmp_path: Path) -> None:
    (tmp_path / "9999").mkdir()
    with RunWriter.create(tmp_path, PLAN) as writer:
        assert writer.run_id == "10000"


def test_runs_that_start_at_once_get_folders_of_their_own(tmp_path: Path) -> None:
    gate = threading.Barrier(8)
    ids: list[str] = []

    def start() -> None:
        gate.wait()
        with RunWriter.create(tmp_path / "results", PLAN) as writer:
            ids.append(writer.run_id)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids) == [f"{number:04d}" for number in range(1, 9)]


def test_a_file_is_readable_by_people_and_by_any_json_parser() -> None:
    content = {"a": [1, 2.5, None], "b": [{"c": "é\n"}, {}], "d": {}, "e": [[1, 2], [3, 4]]}
    text = render_json(content)
    assert json.loads(text) == content
    assert '"a": [1, 2.5, null],\n' in text
    assert '"e": [[1, 2], [3, 4]]\n' in text
    assert text.endswith("}\n")
    for bad in ({"a": float("nan")}, {"a": [{"b": float("inf")}]}, {"a": {1, 2}}):
        with pytest.raises(ValueError, match=r"Out of range|not JSON"):
            render_json(bad)


@pytest.mark.parametrize("bad", [{"x": float("nan")}, {"x": [float("inf")]}, {"x": {1}}])
def test_a_record_that_is_no_json_leaves_the_file_as_it_was(
    bad: dict[str, Any], tmp_path: Path
) -> None:
    with RunWriter.create(tmp_path, PLAN) as writer:
        writer.append(record(1))
        before = (writer.folder / "cells.jsonl").read_bytes()
        with pytest.raises(ValueError, match=r"Out of range|not JSON"):
            writer.append(bad)
        assert (writer.folder / "cells.jsonl").read_bytes() == before


def test_publishing_again_replaces_and_a_bad_run_is_not_published(tmp_path: Path) -> None:
    good = make_run(impls=("vector/cpp",))
    with RunWriter.create(tmp_path, PLAN) as writer:
        writer.publish(parse_run(good | {"complete": False}))
        path = writer.publish(parse_run(good))
        assert load_run(path).complete
        twice = parse_run(good)
        object.__setattr__(twice, "cells", twice.cells * 2)
        with pytest.raises(RunFileError, match="is there twice"):
            writer.publish(twice)
        assert load_run(path) == parse_run(good)


# Resuming.


def test_a_resumed_run_knows_what_is_finished_and_goes_on(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, PLAN) as writer:
        for number in (1, 2):
            writer.append(record(number))
    with RunWriter.resume(tmp_path / "0001") as writer:
        assert writer.plan["order"] == ["vector/cpp"]
        assert writer.run_id == "0001"
        assert writer.finished == [record(1), record(2)]
        writer.append(record(3))
    with RunWriter.resume(str(tmp_path / "0001")) as writer:
        assert writer.finished == [record(1), record(2), record(3)]


@pytest.mark.parametrize(
    "tail",
    [
        b'{"kind": "round", "ro',
        b"{",
        b'{"kind": "round"}',
        b'{"kind": "rou\n',
        b"\x00\x00\x00\x00",
        b"\xff\xfe\r\r\x0b\n",
        b"[1]\n",
        b'{"x": NaN}\n',
        b"\n",
    ],
)
def test_a_torn_last_line_is_dropped_and_never_comes_back(tail: bytes, tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, PLAN) as writer:
        writer.append(record(1))
    cells = tmp_path / "0001" / "cells.jsonl"
    whole = cells.read_bytes()
    cells.write_bytes(whole + tail)
    with RunWriter.resume(tmp_path / "0001") as writer:
        assert writer.finished == [record(1)]
        assert cells.read_bytes() == whole
        writer.append(record(2))
    assert [json.loads(line) for line in cells.read_text().splitlines()] == [record(1), record(2)]


def test_a_damaged_line_before_the_last_one_is_not_thrown_away(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, PLAN) as writer:
        writer.append(record(1))
    cells = tmp_path / "0001" / "cells.jsonl"
    spoiled = cells.read_bytes() + b"oops\n" + cells.read_bytes()
    cells.write_bytes(spoiled)
    with pytest.raises(RunFileError, match=r"cells\.jsonl: line 2 is damaged; remove that line"):
        RunWriter.resume(tmp_path / "0001")
    assert cells.read_bytes() == spoiled


def test_a_run_that_died_before_its_first_measurement_is_resumed(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, PLAN):
        pass
    (tmp_path / "0001" / "cells.jsonl").unlink()
    with RunWriter.resume(tmp_path / "0001") as writer:
        assert writer.finished == []
        writer.append(record(1))


def test_there_is_nothing_to_resume_without_a_plan(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(RunFileError, match=r"no plan\.json to go on from; start a new run"):
            RunWriter.resume(folder)
    (tmp_path / "plan.json").write_text('{"schema": "blockmark.plan", "schema_version": 9}')
    with pytest.raises(RunFileError, match="newer blockmark"):
        RunWriter.resume(tmp_path)
    (tmp_path / "plan.json").write_text('{"schema": "blockmark.pl')
    with pytest.raises(RunFileError, match="cut off at line 1"):
        RunWriter.resume(tmp_path)


def test_a_process_killed_in_mid_line_loses_that_line_alone(tmp_path: Path) -> None:
    code = """
writer = RunWriter.create(sys.argv[1], {"n": 1})
for number in range(11):
    writer.append({"number": number})
real = os.write
def half(descriptor, data):
    real(descriptor, data[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
os.write = half
writer.append({"number": 11, "long": "x" * 1000})
"""
    process = child(code, tmp_path)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    cells = tmp_path / "0001" / "cells.jsonl"
    assert not cells.read_bytes().endswith(b"\n")
    with pytest.raises(RunFileError, match=r"unfinished \(11 measurements, no run\.json\)"):
        load_run(tmp_path / "0001")
    with RunWriter.resume(tmp_path / "0001") as writer:
        assert [line["number"] for line in writer.finished] == list(range(11))
        writer.append({"number": 11})
    with RunWriter.resume(tmp_path / "0001") as writer:
        assert [line["number"] for line in writer.finished] == list(range(12))


def test_a_process_killed_while_publishing_leaves_the_old_run(tmp_path: Path) -> None:
    path = finished_run(tmp_path)
    before = path.read_bytes()
    code = """
writer = RunWriter.resume(sys.argv[1])
os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
writer.publish(parse_run(make_run()))
"""
    process = child(code, path.parent)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    with RunWriter.resume(path.parent) as writer:
        writer.publish(parse_run(make_run()))
    assert len(load_run(path).cells) == len(make_run()["cells"])


def test_an_interrupt_in_mid_line_does_not_spoil_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunWriter.create(tmp_path, PLAN) as writer:
        writer.append(record(1))
        real = os.write

        def interrupted(descriptor: int, data: memoryview) -> int:
            real(descriptor, data[:5])
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.append(record(2))
        monkeypatch.undo()
        writer.append(record(3))
    with RunWriter.resume(tmp_path / "0001") as writer:
        assert writer.finished == [record(1), record(3)]


# Two writers.


def test_a_second_writer_is_refused_until_the_first_one_ends_or_dies(tmp_path: Path) -> None:
    code = """
writer = RunWriter.create(sys.argv[1], {"n": 1})
print("ready", flush=True)
time.sleep(60)
"""
    process = child(code, tmp_path)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(StoreError, match="0001: another blockmark is writing this run; wait"):
            RunWriter.resume(tmp_path / "0001")
    finally:
        process.kill()
        process.communicate(timeout=60)
    with RunWriter.resume(tmp_path / "0001") as writer:
        with pytest.raises(StoreError, match="another blockmark"):
            RunWriter.resume(tmp_path / "0001")
        writer.close()
        writer.close()
    RunWriter.resume(tmp_path / "0001").close()
