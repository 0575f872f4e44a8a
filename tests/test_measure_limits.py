"""Limits in CPU time: real processes, also where others keep them from their core."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from blockmark.measure.process import limits
from blockmark.measure.process.jobs import Job
from blockmark.measure.process.limits import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not limits._tells_cpu_time(), reason="CPU times of other processes are not told here"
)

# As a worker begins. What it does then is the body of a test, which ends with `say()`.
WORKER = """
import json, os, resource, signal, subprocess, sys, time
from blockmark.measure.process.limits import extend_limit, limit_cpu_time

job = json.loads(sys.stdin.readline())
if "core" in job:
    os.sched_setaffinity(0, {job["core"]})
limit_cpu_time(job["cpu_limit"])

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def say(**more):
    print(job["mark"] + json.dumps({"status": "ok", **more}), flush=True)

"""
SPIN = "while True: pass"


def ask(body: str, limit: float, **request: Any) -> dict[str, Any]:
    """The answer of a worker that does what `body` says."""
    command = [sys.executable, "-P", "-c", WORKER + body]
    return Job(request, limit, threading.Event(), command=command).result()


def ended(spent: str) -> dict[str, Any]:
    return {"status": "timeout", "reason": f"no answer within {spent}; it was ended"}


@contextmanager
def busy_core(spinners: int) -> Iterator[int]:
    """A core on which so many other processes run all the time."""
    core = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{core}}})\n{SPIN}"
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(spinners)]
    try:
        yield core
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_one_that_spins_is_ended_by_its_cpu_time_beside_two_that_spin() -> None:
    with busy_core(2) as core:
        start = time.monotonic()
        answer = ask(SPIN, 1, core=core)
        wall = time.monotonic() - start
    assert answer == ended("1 s of CPU time")
    # A third of a core for one to two seconds of CPU time.
    assert 1.5 < wall < 60


def test_one_that_is_slow_and_right_is_waited_for_beside_three_that_spin() -> None:
    with busy_core(3) as core:
        start = time.monotonic()
        answer = ask("burn(2.7)\nsay()", 3, core=core)
        wall = time.monotonic() - start
    assert answer == {"status": "ok"}
    # It had half of the core at most, also where each session has the same share.
    assert wall > 3.5


def test_progress_moves_the_limit_on() -> None:
    body = "for _ in range(4):\n    burn(1)\n    extend_limit()\nsay()"
    assert ask(body, 2)["status"] == "ok"


def test_progress_that_ends_is_no_excuse() -> None:
    assert ask("burn(1)\nextend_limit()\n" + SPIN, 2) == ended("2 s of CPU time")


@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(600)",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "subprocess.run(['sleep', '600'])",
        "signal.pause()",
        # It writes more often than its parent looks for silence.
        "while True:\n    print('no answer', flush=True)\n    time.sleep(0.1)",
    ],
)
def test_one_that_waits_without_using_the_cpu_is_ended(body: str) -> None:
    assert ask(body, 1.5) == ended("1.5 s")


def test_one_that_works_now_and_then_is_waited_for() -> None:
    assert ask("for _ in range(30):\n    burn(0.02)\n    time.sleep(0.1)\nsay()", 1.5) == {
        "status": "ok"
    }


@pytest.mark.parametrize(
    "body",
    [
        "signal.signal(signal.SIGXCPU, lambda *_: None)",
        "resource.setrlimit(resource.RLIMIT_CPU, (1000, resource.RLIM_INFINITY))",
        "resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2)",
    ],
)
def test_one_that_evades_the_kernels_limit_is_ended_by_the_parent(body: str) -> None:
    assert ask(f"{body}\n{SPIN}", 1) == ended("1 s of CPU time")


def test_a_process_that_it_started_is_counted() -> None:
    body = f"subprocess.run([sys.executable, '-c', 'import signal; signal.signal(24, 1)\\n{SPIN}'])"
    assert ask(body, 1) == ended("1 s of CPU time")


@pytest.mark.parametrize("pipes", ["", ", stderr=subprocess.DEVNULL"])
def test_a_process_left_behind_is_ended(pipes: str) -> None:
    """Also one that holds the pipes on which the answer is waited for."""
    body = (
        f"child = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL{pipes})\n"
        "say(child=child.pid)"
    )
    answer = ask(body, 30)
    assert answer["status"] == "ok"
    assert_gone(answer["child"])


def test_a_process_in_a_session_of_its_own_does_not_hold_up_the_answer() -> None:
    body = (
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\nsay(child=child.pid)"
    )
    start = time.monotonic()
    answer = ask(body, 300)
    assert time.monotonic() - start < 60
    os.kill(answer["child"], 9)


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} still runs")


def test_a_player_has_a_limit_over_its_whole_life() -> None:
    body = "say()\nfor line in sys.stdin:\n    burn(0.7)\n    say()"
    command = [sys.executable, "-P", "-c", WORKER + body]
    player = Job({}, 2, threading.Event(), command=command, talks=True)
    answers = [player.answer()]
    # While the other side plays it is not waited for.
    time.sleep(3)
    for _ in range(6):
        player.say({})
        answers.append(player.answer())
        if answers[-1]["status"] != "ok":
            break
    player.kill()
    assert answers[:2] == [{"status": "ok"}] * 2
    assert answers[-1] == ended("2 s of CPU time")


def test_threads_of_a_study_have_the_time_of_their_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockmark.measure.process.jobs.usable_cores", lambda: 4)
    for threads, limit in ((1, 3.0), (2, 6.0), (16, 12.0)):
        asked = ask("say(limit=job['cpu_limit'])", 3, params={"threads": threads})
        assert asked["limit"] == limit
    assert ask("say(limit=job['cpu_limit'])", 3, params={})["limit"] == 3


def test_without_cpu_times_the_limit_is_wall_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockmark.measure.process.limits._tells_cpu_time", lambda: False)
    assert ask("for _ in range(600):\n    burn(0.01)\n    time.sleep(0.1)", 1.5) == ended("1.5 s")


def test_time_in_which_the_parent_did_not_look_is_not_held_against_a_process() -> None:
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        watch = Watch(sleeper.pid, 2.5)
        watch._last_look -= 1000  # as where the whole machine was stopped
        assert watch.overdue() == ""
        watch._last_look -= 1000
        assert watch.overdue() == ""
        watch._last_look -= 1000
        assert watch.overdue() == "2.5 s"
        watch.renew()
        assert watch.overdue() == ""
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_worker_ends_a_class_that_spins(tmp_path: Path) -> None:
    (tmp_path / "spins.py").write_text(f"{SPIN}\n")
    size = {"total_blocks": 8, "block_size": 4, "max_seqs": 2, "max_blocks_per_seq": 4}
    job = {"kind": "corpus", "targets": [f"{tmp_path / 'spins.py'}:Manager"], "config": size}
    assert Job(job, 1, threading.Event()).result() == ended("1 s of CPU time")


SHORT = """
from blockmark.measure.inside.failures import why_failed

def full():
    raise MemoryError("no free block")

def reason(function):
    try:
        function()
    except MemoryError as error:
        return why_failed(error)

def hoard():
    kept = []
    while True:
        kept.append(bytes(1 << 26))

"""


def test_a_memory_error_is_of_the_limit_only_where_memory_is_short() -> None:
    limit = 1 << 30
    unlimited = "say(reasons=[reason(full)])"
    limited = (
        f"resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))\n"
        "say(reasons=[reason(full), reason(hoard), reason(full)])"
    )
    raised = "MemoryError: no free block (in <string>:"
    (alone,) = ask(SHORT + unlimited, 30)["reasons"]
    assert alone.startswith(raised)
    # The third time, what the second one took has been given back.
    before, over, after = ask(SHORT + limited, 30)["reasons"]
    assert over == f"out of memory: over the limit of {limit:,} bytes for one process"
    assert before.startswith(raised)
    assert after.startswith(raised)
