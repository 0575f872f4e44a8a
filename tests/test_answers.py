"""A class can print, write and leave what it likes: only the worker's own answers count."""

from __future__ import annotations

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmark.measure.process.answers import read_answer
from blockmark.measure.process.jobs import Job
from blockmark_impls.contract import PoolConfig
from cli import blockmark, tiny

FORGED = '{"status": "ok"}'
CLASS = """
import os, sys
from blockmark_impls.python.vector import VectorManager

class Mine(VectorManager):
    def __init__(self, config):
        super().__init__(config)
        BODY
"""
BODIES = {
    "print": f"print('{FORGED}', flush=True)",
    "the first stdout": f"sys.__stdout__.write('{FORGED}\\n'); sys.__stdout__.flush()",
    "every descriptor": (
        f"[os.write(fd, b'{FORGED}\\n') for fd in range(1, 30) if fd != 4 and os.path.exists("
        "f'/proc/self/fd/{fd}') and not os.readlink(f'/proc/self/fd/{fd}').startswith('/')]"
    ),
}
LEAVES = "; os._exit(0)"


def write(folder: Path, body: str) -> str:
    (folder / "mine.py").write_text(CLASS.replace("BODY", body))
    return f"mine={folder / 'mine.py'}:Mine"


def asked(target: str, kind: str = "verify") -> dict[str, Any]:
    return {
        "kind": kind,
        "impl": target,
        "call_style": "per-op",
        "params": {},
        "config": asdict(PoolConfig(16, 4, 4, 4)),
        "programs": [],
        "pool_programs": [],
        "random_programs": 1,
        "seed": 1,
    }


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_process_that_ends_itself_has_given_no_answer(tmp_path: Path, body: str) -> None:
    job = Job(asked(write(tmp_path, body + LEAVES)), 30, threading.Event())
    answer = job.result()
    assert answer["status"] == "failed"
    assert "ended with code 0" in answer["reason"]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_player_that_writes_has_given_no_answer(tmp_path: Path, body: str) -> None:
    request = asked(write(tmp_path, body + LEAVES), "turns")
    player = Job(request, 30, threading.Event(), talks=True)
    try:
        assert player.answer()["status"] == "failed"
    finally:
        player.kill()


def test_what_is_printed_spoils_no_measurement(tmp_path: Path) -> None:
    target = write(tmp_path, "; ".join(BODIES.values()))
    done = blockmark("run", tiny(tmp_path), "--impl", target, "--quick", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"step_ns"' in done.stdout


@given(st.text(), st.text(min_size=1, alphabet="abc-0123456789"))
def test_only_a_marked_object_is_an_answer(line: str, mark: str) -> None:
    assert read_answer(f"x{line}", mark) is None or f"x{line}".startswith(mark)
    assert read_answer(f'{mark}{{"a": 1}}', mark) == {"a": 1}
    assert read_answer(f"{mark}[1]", mark) is None
    assert read_answer(f"{mark}{'[' * 100_000}", mark) is None


def test_a_fault_of_our_own_is_not_told_as_the_class_s(tmp_path: Path) -> None:
    """One in a line of blockmark; one in a line of a class; one that a class's operation has."""
    from blockmark.measure.inside import failures
    from blockmark.measure.replay import bind

    def reason(code: str, name: str) -> str:
        try:
            exec(compile(code, name, "exec"), {"bind": bind})
        except Exception as error:
            return failures.why_failed(error)
        raise AssertionError

    ours = str(Path(failures.__file__).parent / "made_up.py")
    assert reason("x = missing", ours).startswith("a fault of blockmark's own")
    assert reason("x = 1 / 0", ours).startswith("a fault of blockmark's own")
    assert reason("x = missing", str(tmp_path / "mine.py")).startswith("NameError")
    assert reason("[].pop(1, 2, 3)", ours).startswith("TypeError")
