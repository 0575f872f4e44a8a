"""perf, where it can sample this user's processes: how to find it and how to start it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..tool_output import ask_tool

# Cycles where there are counters; else the kernel's own timer. User space alone, which
# is all that an unprivileged user may see.
_EVENTS = ("cycles:u", "cpu-clock:u")
_HERTZ = 997
_BUSY = "for _ in range(3_000_000): pass"
_PATIENCE_S = 30.0
_SCRIPT_PATIENCE_S = 300.0
_INSTALL = (
    "install it (Debian: `apt install linux-perf`, Ubuntu: `apt install linux-tools-generic`)"
)
# Room for the replay's own stack; what lies outside of it is not looked at.
_STACK_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Perf:
    """A perf that can be used: its path, its version, and the event that it samples."""

    path: str
    version: str
    event: str


class PerfError(RuntimeError):
    """perf could not read its own record; one line, why."""


def find_perf() -> Perf | str:
    """The perf on PATH, tried on a short loop; or in one line why not, and the mend."""
    path = shutil.which("perf")
    if path is None:
        return f"perf is not installed; {_INSTALL}"
    code, out, err = _call([path, "--version"], _PATIENCE_S)
    if code != 0 or not out.startswith("perf version"):
        return f"{path} does not work ({_last(err or out)}); {_INSTALL}"
    version = out.split()[2]
    said = ""
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        data = Path(folder, "trial.data")
        for event in _EVENTS:
            busy = [sys.executable, "-S", "-c", _BUSY]
            trial = Perf(path, version, event)
            code, _, err = _call([*record_command(trial, data), "--", *busy], _PATIENCE_S)
            if code == 0:
                _, events, _ = _call([path, "script", "-F", "event", "-i", str(data)], _PATIENCE_S)
                # perf itself may have chosen another event than it was asked for, and some
                # machines have a counter that stays at 0.
                if event in events:
                    return trial
            said = _last(err) if code else said
    return (
        f"perf can't sample here ({said or 'it took no samples'}); "
        "/proc/sys/kernel/perf_event_paranoid must be 2 or less, and a container must allow "
        "perf_event_open"
    )


def record_command(perf: Perf, data: Path) -> list[str]:
    """`perf record` into a file, with whole stacks; the command to run comes after it."""
    return [
        perf.path,
        "record",
        "-q",
        "-e",
        perf.event,
        "-F",
        str(_HERTZ),
        f"--call-graph=dwarf,{_STACK_BYTES}",
        "-o",
        str(data),
    ]


def controlled(control: Path, acknowledged: Path) -> list[str]:
    """Options of `perf record` that leave its beginning and end to the process."""
    return ["-D", "-1", f"--control=fifo:{control},{acknowledged}"]


def script_of(perf: Perf, data: Path) -> str:
    """The samples as text: stacks with inlined functions and source lines.

    Raises PerfError.
    """
    command = [perf.path, "script", "-i", str(data), "--full-source-path"]
    command += ["-F", "event,ip,sym,dso,srcline"]
    code, out, err = _call(command, _SCRIPT_PATIENCE_S)
    if code != 0:
        raise PerfError(f"perf script can't read {data.name}: {_last(err)}")
    return out


def _call(command: list[str], timeout_s: float) -> tuple[int, str, str]:
    """Exit code, output and errors; a code of -1 for what does not start or end."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBUGINFOD_URLS": ""}
    try:
        said = ask_tool(command, timeout_s, environment)
    except OSError as error:
        return -1, "", f"can't be started: {error.strerror}"
    return said.code, said.out, f"no end within {said.late}" if said.late else said.err


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it says nothing"
