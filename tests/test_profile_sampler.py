"""The sampler of Python loops, in a process that it could take along."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from blockmark.measure.profiling.tracebacks import parse_tracebacks
from blockmark_impls import _native

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        not _native.knows_python_frames, reason="the core does not know this Python's frames"
    ),
]

# C that enters functions in Python, over and over: a look at the stack that falls between
# the two met garbage within some hundred samples and ended the process.
ENTERED_FROM_C = """
import sys, time
from pathlib import Path
from blockmark.measure.profiling import sampler

sampler._LEAST_GAP_S, sampler._MOST_GAP_S = 0.00005, 0.000075

def double(number):
    return number * 2

def load(end):
    while time.perf_counter() < end:
        for _ in map(double, range(100)):
            pass

taken = sampler.Sampler(load.__code__, Path(sys.argv[1]), 1)
taken.start()
taken.enter()
load(time.perf_counter() + 1.5)
taken.leave()
taken.stop()
stacks = taken.stacks()
inner = sum(count for stack, count in stacks if stack[-1][0] == "double")
print(sum(count for _, count in stacks), inner, taken.lost)
"""

CRASHES = """
import ctypes, sys
from blockmark_impls import _native

with open(sys.argv[1], "w") as file:
    _native.stack_samples_start(file.fileno())
    ctypes.string_at(8)
"""

# Calls of several kinds. Each stack is told by the interpreter's frames, too, on the line on
# which the signal came.
STANDS = """
import json, os, signal, sys
from blockmark_impls import _native

told = []

class Table:
    def größe(self):
        return [
            step
            for step in walk()
        ]

def walk():
    yield tell(os.kill(os.getpid(), signal.SIGALRM), sys._getframe())

def tell(_, frame):
    calls = []
    while frame:
        calls.insert(0, (frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    told.append(calls)

def load():
    max(1, 2, key=lambda number:
        number == 2 and len(Table().größe()))

def deep(calls):
    return deep(calls - 1) if calls else list(walk())

with open(sys.argv[1], "w") as file:
    _native.stack_samples_start(file.fileno())
    load()
    sys.setrecursionlimit(5_000)
    deep(900)
    deep(4_000)
    print(json.dumps([_native.stack_samples_stop(), told]))
"""


def python(text: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", text, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_sample_that_meets_no_stack_is_lost_and_the_process_is_not(tmp_path: Path) -> None:
    run = python(ENTERED_FROM_C, tmp_path / "stacks")
    assert run.returncode == 0, (run.returncode, run.stderr)
    samples, inner, lost = map(int, run.stdout.split())
    assert samples > 2_000
    assert inner > samples / 20
    # Nearly each of those between two functions is charged to what led there.
    assert lost < samples / 200


def test_a_crash_of_the_load_itself_is_still_one(tmp_path: Path) -> None:
    run = python(CRASHES, tmp_path / "stacks")
    assert run.returncode == -signal.SIGSEGV
    assert (tmp_path / "stacks").read_text() == ""


def test_sampling_has_its_order(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not being sampled"):
        _native.stack_samples_stop()
    with (tmp_path / "stacks").open("w") as file:
        _native.stack_samples_start(file.fileno())
        with pytest.raises(ValueError, match="being sampled already"):
            _native.stack_samples_start(file.fileno())
        assert _native.stack_samples_stop() == 0


def test_a_stack_has_every_call_and_its_line(tmp_path: Path) -> None:
    program = tmp_path / "größe 块 𝄞.py"
    program.write_text(STANDS)
    command = [sys.executable, program, tmp_path / "stacks"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    lost, told = json.loads(run.stdout)
    # The last is too deep to be written.
    assert [len(calls) for calls in told[1:]] == [903, 4_003]
    assert lost == 1
    written = parse_tracebacks((tmp_path / "stacks").read_text("utf-8"))
    assert [[[call.name, call.line] for call in calls] for calls in written] == told[:2]
    assert {call.file for calls in written for call in calls} == {str(program)}
    assert told[0][-2][0] in ("größe", "<listcomp>")
