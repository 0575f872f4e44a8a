"""Disks that are full, read-only, or no disks at all: real ones where they can be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from blockmark.runs.errors import StoreError
from blockmark.runs.store import RunWriter

PLAN = {"order": ["vector/cpp"], "seed": 7}
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
HEADER = """
import os, resource, sys
from blockmark.runs.store import RunWriter, load_run
from blockmark.runs.errors import StoreError
from blockmark.runs.codec import parse_run
from run_factory import make_run
"""


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
    done = subprocess.run(
        [
            *("unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh"),
            *(sys.executable, "-c", HEADER + code, *map(str, arguments)),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env=ENVIRONMENT,
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
    done = subprocess.run(
        [sys.executable, "-c", HEADER + code, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    out = done.stdout.splitlines()
    assert out[1] == "6"
    assert "the file may not grow further; the 6 measurements before are kept" in out[0]
    with RunWriter.resume(tmp_path / "0001") as writer:
        assert [line["number"] for line in writer.finished] == list(range(7))
