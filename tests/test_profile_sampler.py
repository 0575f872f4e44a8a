"""The sampler of Python loops, in a process that it could take along."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from blockmark.measure.profiling.tracebacks import Call, parse_tracebacks
from blockmark_impls import _native

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
import ctypes, faulthandler, signal, sys
from blockmark_impls import _native

with open(sys.argv[1], "w") as file:
    faulthandler.register(signal.SIGALRM, file, all_threads=False)
    _native.stack_samples_start(file.fileno())
    ctypes.string_at(8)
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
    assert lost < samples / 10


def test_a_crash_of_the_load_itself_is_still_one(tmp_path: Path) -> None:
    run = python(CRASHES, tmp_path / "stacks")
    assert run.returncode == -signal.SIGSEGV
    assert (tmp_path / "stacks").read_text() == ""


def test_sampling_needs_a_handler_and_its_order() -> None:
    with pytest.raises(ValueError, match="no fault handler is registered"):
        _native.stack_samples_start(2)
    with pytest.raises(ValueError, match="not being sampled"):
        _native.stack_samples_stop()


def test_a_stack_that_was_lost_half_way_is_left_out() -> None:
    text = (
        'Stack (most recent call first):\n  File "/a/v.py", line 84 in append\n'
        'Stack (most recent call first):\n  File "/a/v.py", line 85 in append\n  File "\nLost\n'
        "Stack (most recent call first):\n\nLost\n"
        'Stack (most recent call first):\n  File "/a/v.py", line 84 in append\n'
    )
    assert parse_tracebacks(text) == {(Call("append", "/a/v.py", 84),): 2}
