"""Regions, and the sources that count inside them. No hardware counter is needed."""

from __future__ import annotations

import errno
import mmap
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from blockmark_impls.contract import UnknownSequence
from native_programs import ALLOCATE, LOOKUP, Steps, flat, program

native = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

# linux/perf_event.h
HARDWARE, SOFTWARE = 0, 1
TASK_CLOCK, PAGE_FAULTS = (SOFTWARE, 1), (SOFTWARE, 2)
IMPOSSIBLE = (0xFFFF, 0)

Event = tuple[int, int]


def events(*groups: Sequence[Event]) -> Any:
    """The groups' counters; skips where this machine lets nobody count anything."""
    trial = native.PerfEvents([[TASK_CLOCK]])
    error = trial.errors()[0][0]
    trial.close()
    if error in (errno.ENOSYS, errno.EPERM, errno.EACCES):
        pytest.skip(f"perf_event_open is refused here: {os.strerror(error)}")
    assert error == 0
    return native.PerfEvents(list(groups))


def touch(pages: int) -> None:
    """Write to so many pages for the first time: as many page faults."""
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as memory:
        # A huge page would be one fault for all of them.
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(pages):
            memory[page * mmap.PAGESIZE] = 1


def test_an_event_that_does_not_open_stops_no_other() -> None:
    counters = events([IMPOSSIBLE, TASK_CLOCK, PAGE_FAULTS], [PAGE_FAULTS, IMPOSSIBLE], [])
    (first, *others), (last, wrong), nothing = counters.errors()
    assert first == wrong != 0
    assert errno.errorcode[first] in ("ENOENT", "EINVAL", "EOPNOTSUPP", "ENODEV", "ENXIO")
    assert (others, last, nothing) == ([0, 0], 0, [])
    counters.enter()
    touch(64)
    counters.leave()
    (absent, clock, faults), (same_faults, also_absent), nothing = counters.read()
    assert absent is also_absent is None
    assert nothing == []
    assert clock[0] > 0
    assert faults[0] >= 64
    assert abs(faults[0] - same_faults[0]) <= 2
    # One kernel group: counted over the very same time.
    assert clock[1:] == faults[1:]
    assert clock[1] >= clock[2] > 0


def test_counts_only_inside_and_since_the_reset() -> None:
    counters = events([PAGE_FAULTS])
    touch(500)
    counters.enter()
    counters.enter()
    touch(256)
    counters.leave()
    touch(500)
    [[(faults, enabled, running)]] = counters.read()
    assert 256 <= faults < 500
    assert enabled >= running > 0
    assert counters.read() == [[(faults, enabled, running)]]
    counters.reset()
    # The kernel would go on with its times.
    assert counters.read() == [[(0, 0, 0)]]
    counters.enter()
    touch(32)
    counters.leave()
    [[(again, enabled_again, _)]] = counters.read()
    assert 32 <= again < 256
    assert enabled_again > 0


def test_closed_counters_give_back_their_files() -> None:
    counters = events([PAGE_FAULTS, TASK_CLOCK], [TASK_CLOCK])
    files = len(os.listdir("/proc/self/fd"))
    counters.close()
    assert files - len(os.listdir("/proc/self/fd")) == 3
    counters.close()
    assert counters.errors() == [[0, 0], [0]]
    counters.enter()
    counters.leave()
    for refused in (counters.read, counters.reset):
        with pytest.raises(ValueError, match="closed"):
            refused()


def test_wrong_events_are_refused() -> None:
    wrong: Any
    for wrong in ([[(-1, 0)]], [[(1 << 32, 0)]], [[(1, 1 << 64)]], [(1, 1)], [[(1, "x")]]):
        with pytest.raises(TypeError):
            native.PerfEvents(wrong)
    assert native.PerfEvents([]).read() == []
    assert native.PerfEvents([], exclude_kernel=False).errors() == []
    assert isinstance(native.PerfEvents([]), native.Region)


def heavy_and_light() -> Any:
    """Phase 1 looks up 20,000 times, phase 2 once, and phase 0 as often as phase 1."""
    steps: Steps = [
        (0, [(ALLOCATE, [(0, 1)])]),
        (1, [(LOOKUP, [(0, 0)] * 20_000)]),
        (2, [(LOOKUP, [(0, 0)])]),
        (0, [(LOOKUP, [(0, 0)] * 20_000)]),
    ]
    return program(steps, 1)


def test_a_replay_counts_the_steps_of_its_phase() -> None:
    counters = events([TASK_CLOCK])
    made, manager = heavy_and_light(), flat(4, 1, 1, 1)
    manager.replay_setup(made)

    def inside(phase: int) -> int:
        counters.reset()
        manager.replay_within(made, 0, 3, phase, counters)
        [[(ns, _, _)]] = counters.read()
        assert isinstance(ns, int)
        return ns

    one = min(inside(1) for _ in range(20))
    two = min(inside(2) for _ in range(20))
    assert one > 3 * two > 0
    counters.reset()
    manager.replay_within(made, 2, 1, 1, counters)
    manager.replay_within(made, 0, 0, 1, counters)
    assert counters.read() == [[(0, 0, 0)]]


def test_a_region_is_left_when_an_operation_fails() -> None:
    counters = events([PAGE_FAULTS])
    steps: Steps = [(1, [(LOOKUP, [(0, 0)])])]
    with pytest.raises(UnknownSequence, match=r"operation 0 \(LOOKUP\)"):
        flat(4, 1, 1, 1).replay_within(program(steps), 0, 1, 1, counters)
    counters.reset()
    touch(64)
    assert counters.read() == [[(0, 0, 0)]]


def test_a_replay_goes_by_the_phases_of_steps_alone() -> None:
    region = native.PerfEvents([])
    made, manager = heavy_and_light(), flat(4, 1, 1, 1)
    for phase in (0, 3, -1):
        with pytest.raises(ValueError, match="phase must be 1 or 2"):
            manager.replay_within(made, 0, 1, phase, region)
    with pytest.raises(ValueError, match="negative"):
        manager.replay_within(made, -1, 1, 1, region)
    with pytest.raises(TypeError):
        manager.replay_within(made, 0, 1, 1, None)
    # The same operations as any replay.
    manager.replay_setup(made)
    manager.replay_within(made, 0, 3, 1, region)
    assert (manager.num_tokens(0), manager.num_free_blocks) == (1, 3)
    native.null_manager_class(4, 1, 1, 1).replay_within(made, 0, 3, 2, region)
    native.RawArray(4, 1, 1, 1, id_bits=16).replay_within(made, 0, 3, 2, region)


@pytest.mark.parametrize("iterations", [0, 1, 255, 256, 257, 1000])
def test_the_known_loop_adds_up_its_table(iterations: int) -> None:
    assert native.count_loop(iterations) == sum(i % 256 for i in range(iterations))


def test_the_known_loop_refuses_a_negative_count() -> None:
    with pytest.raises(ValueError, match="must not be negative, as -1 is"):
        native.count_loop(-1)


def test_without_valgrind_its_requests_do_nothing() -> None:
    assert not native.running_on_valgrind()
    if not native.callgrind_header:
        with pytest.raises(RuntimeError, match="install valgrind"):
            native.CallgrindRegion()
        return
    made, manager, region = heavy_and_light(), flat(4, 1, 1, 1), native.CallgrindRegion()
    native.callgrind_start_instrumentation()
    manager.replay_setup(made)
    manager.replay_within(made, 0, 3, 1, region)
    native.callgrind_dump("nobody listens")
    native.callgrind_stop_instrumentation()


def collected(folder: Path) -> dict[str, dict[str, int]]:
    """Label to event to count, out of callgrind's dumps of one run."""
    command = [
        shutil.which("valgrind") or "valgrind",
        "-q",
        "--tool=callgrind",
        "--cache-sim=yes",
        "--collect-atstart=no",
    ]
    command += ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=33554432,16,64"]
    command += ["--instr-atstart=no", "--combine-dumps=no", "--callgrind-out-file=out"]
    tests = Path(__file__).parent
    command += [sys.executable, "-P", str(tests / "subjects" / "callgrind_regions.py")]
    folder.mkdir()
    # Little else, since what an environment takes of the stack moves what lies behind it.
    kept = {"PATH", "LD_LIBRARY_PATH"} & os.environ.keys()
    environment = {name: os.environ[name] for name in kept}
    environment |= {"PYTHONHASHSEED": "0", "PYTHONPATH": str(tests)}
    # A first import compiles modules, and leaves the heap otherwise than the next will.
    imports = [sys.executable, "-P", "-c", "import blockmark_impls._native, native_programs"]
    subprocess.run(imports, env=environment, check=True)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    parts: dict[str, dict[str, int]] = {}
    for file in folder.glob("out.*"):
        text = file.read_text()
        label = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE)
        named = re.search(r"^events: (.+)$", text, re.MULTILINE)
        totals = re.search(r"^totals: (.+)$", text, re.MULTILINE)
        if label is None:
            continue
        assert named is not None
        assert totals is not None
        counts = [int(count) for count in totals[1].split()]
        names = named[1].split()
        # Zeros at the end are left out.
        counts += [0] * (len(names) - len(counts))
        parts[label[1]] = dict(zip(names, counts, strict=True))
    return parts


def test_callgrind_collects_inside_the_region_alone(tmp_path: Path) -> None:
    if not native.callgrind_header or shutil.which("valgrind") is None:
        pytest.skip("needs valgrind, and its header when the core is built")
    parts = collected(tmp_path / "first")
    assert set(parts) == {"outside", "loop", "phase 1", "phase 1 twice", "phase 2"}
    assert not any(parts["outside"].values())
    # The loop, and the interpreter's way from one call to the next.
    assert 100_000 <= parts["loop"]["Dr"] < 110_000
    assert parts["loop"]["Ir"] > parts["loop"]["Dr"]
    # The pair of operands and the entry for each of 20,000 lookups. 20,000 more are in a
    # step of phase 0, and in each phase that is not asked for.
    once, twice = parts["phase 1"], parts["phase 1 twice"]
    assert 3 * 20_000 <= once["Dr"] < 2 * 3 * 20_000
    assert once["Ir"] > once["Dr"]
    assert 0 < parts["phase 2"]["Ir"] < 2_000
    # What the call itself takes, before it is inside, does not count: twice is twice.
    assert abs(twice["Ir"] - 2 * once["Ir"]) < 100
    again = collected(tmp_path / "again")
    for label, counts in parts.items():
        for event in ("Ir", "Dr", "Dw"):
            assert counts[event] == again[label][event], (label, event)
