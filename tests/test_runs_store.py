"""A run on disk: real folders, real processes, real full disks."""

from __future__ import annotations

import json
import os
import shutil
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
        "import os, signal, sys, time, resource\n"
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


def answer(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return out


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


# Disks that refuse.


def test_a_file_where_a_folder_should_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    for folder in (tmp_path / "results", tmp_path / "results" / "deeper"):
        with pytest.raises(StoreError) as caught:
            RunWriter.create(folder, PLAN)
        assert str(caught.value) == (
            f"{folder}: a file is where a folder should be; "
            "make room or name another folder with --output"
        )


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc on this system")
def test_a_folder_that_takes_no_files_is_said() -> None:
    with pytest.raises(StoreError, match=r"^/proc/blockmark: .*; make room or name another folder"):
        RunWriter.create("/proc/blockmark", PLAN)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_said(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir(mode=0o555)
    with pytest.raises(StoreError, match="no permission to write here; make room or name another"):
        RunWriter.create(tmp_path / "results", PLAN)


def on_small_disk(code: str, *arguments: object, options: str) -> str:
    """Run code in a mount namespace of its own, with a small tmpfs at /mnt."""
    if shutil.which("unshare") is None:
        pytest.skip("no `unshare` to make a small disk with")
    mount = f"mount -t tmpfs -o {options} none /mnt"
    probe = subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {probe.stderr.strip()}")
    path = os.pathsep.join([*sys.path, str(TESTS)])
    header = (
        "import os, sys\n"
        "from blockmark.runs.store import RunWriter, load_run\n"
        "from blockmark.runs.errors import StoreError\n"
        "from blockmark.runs.codec import parse_run\n"
        "from run_factory import make_run\n"
    )
    done = subprocess.run(
        [
            *("unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh"),
            *(sys.executable, "-c", header + code, *map(str, arguments)),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_disk_that_fills_up_keeps_what_is_finished_and_goes_on_with_room() -> None:
    code = """
writer = RunWriter.create("/mnt/results", {"n": 1})
kept = 0
try:
    while True:
        writer.append({"number": kept, "long": "x" * 3000})
        kept += 1
except StoreError as error:
    print(error)
try:
    writer.publish(parse_run(make_run()))
except StoreError as error:
    print(error)
print(sorted(os.listdir("/mnt/results/0001")))
print(all(line.endswith(b"}\\n") for line in open("/mnt/results/0001/cells.jsonl", "rb")))
os.unlink("/mnt/ballast")
writer.append({"number": kept, "long": "x" * 3000})
writer.close()
with RunWriter.resume("/mnt/results/0001") as writer:
    print([line["number"] for line in writer.finished] == list(range(kept + 1)))
    print(kept)
"""
    # The ballast leaves about 32 KiB to the run.
    ballast = "open('/mnt/ballast', 'wb').write(bytes(32768))\n"
    out = on_small_disk(ballast + code, options="size=65536").splitlines()
    kept = int(out[-1])
    assert 2 <= kept <= 12
    assert out[:-1] == [
        f"/mnt/results/0001/cells.jsonl: the disk is full; the {kept} measurements before are "
        "kept; mend this, then `blockmark run --resume /mnt/results/0001`",
        "/mnt/results/0001/run.json: the disk is full; make room or name another folder with "
        "--output, then `blockmark run --resume /mnt/results/0001`",
        "['cells.jsonl', 'lock', 'plan.json']",
        "True",
        "True",
    ]


def test_a_full_disk_leaves_no_folder_behind() -> None:
    code = """
os.mkdir("/mnt/results")
try:
    open("/mnt/ballast", "wb").write(bytes(1 << 20))
except OSError:
    pass
try:
    RunWriter.create("/mnt/results", {"n": "x" * 5000})
except StoreError as error:
    print(error)
print(os.listdir("/mnt/results"))
"""
    out = on_small_disk(code, options="size=65536").splitlines()
    assert out == [
        "/mnt/results/0001/plan.json: the disk is full; "
        "make room or name another folder with --output",
        "[]",
    ]


def test_a_read_only_disk_is_said_even_to_root() -> None:
    code = """
try:
    RunWriter.create("/mnt/results", {"n": 1})
except StoreError as error:
    print(error)
"""
    assert on_small_disk(code, options="size=65536,ro") == (
        "/mnt/results: the disk is read-only; make room or name another folder with --output\n"
    )


def test_a_write_that_is_cut_short_is_taken_back(tmp_path: Path) -> None:
    # A limit on the size of files takes the first part of a line and refuses the rest.
    code = """
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
writer = RunWriter.create(sys.argv[1], {"n": 1})
kept = 0
try:
    while True:
        writer.append({"number": kept, "long": "x" * 3000})
        kept += 1
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
writer.append({"number": kept})
print(kept)
"""
    out = answer(child(code, tmp_path)).splitlines()
    assert out[1] == "6"
    assert "the file may not grow further; the 6 measurements before are kept" in out[0]
    with RunWriter.resume(tmp_path / "0001") as writer:
        assert [line["number"] for line in writer.finished] == list(range(7))


# Files that nobody vouches for.


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
        ("\ufeff{}", "not JSON (Unexpected UTF-8 BOM"),
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
    assert error(absent) == (f"{absent}: no such file or folder; name a run folder or its run.json")
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
