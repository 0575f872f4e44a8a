"""Starting a measured process, and getting an answer whatever it does."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict
from threading import Event
from typing import IO, TYPE_CHECKING, Any

from blockmark import reaper
from blockmark.interrupts import interrupted

from ..machine import usable_cores
from .answers import read_answer
from .limits import PATIENCE_S, Watch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WORKER = "blockmark.measure.inside.worker"
COMMAND = [sys.executable, "-P", "-m", WORKER]
# Looks at a process that has ended while another one, in a session of its own, holds its
# pipes open.
_LOOKS_AFTER_ITS_END = 4
# Of what it wrote, of which the last line is told.
_LAST_BYTES = 1 << 16
_SIGNALS = {s.value: s.name for s in signal.Signals}
_numbers = itertools.count(1)


class ProcessMark:
    """What the environment of one measured process, and of all that it starts, can be known by.

    Of one length, as the environment lies at the top of the stack.
    """

    def __init__(self) -> None:
        self.text = f"{reaper.TOKEN}-{next(_numbers):06d}"

    def put_on(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment with the mark."""
        return {**environment, "BLOCKMARK_JOB": self.text}

    def end_all(self, leader: int) -> None:
        """End a process that leads a session and all that it has started, in whatever session."""
        end_group(leader)
        reaper.end_marked(self.text)


def worker_environment() -> dict[str, str]:
    """The same for every round: no hash randomisation, no threads behind the back."""
    return {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


class Job:
    """One worker process; a crash, a hang or a blow-up of it is a result like any other."""

    def __init__(
        self,
        request: dict[str, Any],
        timeout: float,
        stop: Event | None = None,
        *,
        command: list[str] | None = None,
        environment: dict[str, str] | None = None,
        cwd: Path | None = None,
        talks: bool = False,
    ) -> None:
        """Start it. `timeout` in seconds, as limits.py counts them, over its whole life; `stop`
        ends it from another thread.

        `command` and `environment` replace the worker's own, as where a tool starts it; `cwd` is
        its folder, if not this process's. With `talks` it is told more by `say`. Raises OSError
        if it can't be started.
        """
        self._stop = stop or Event()
        # Threads use CPU time on several cores at once; without a study of them a job has
        # one thread, whose CPU time is at most the wall time.
        cores = min(usable_cores(), request.get("params", {}).get("threads", 1))
        self._mark = ProcessMark()
        self._read = b""
        self._spent = ""
        line = _line({**request, "mark": self._mark.text, "cpu_limit": timeout * cores})
        with ExitStack() as until_it_runs:
            # Files, as a pipe would have to be served while something else is waited for.
            self._stderr = until_it_runs.enter_context(tempfile.TemporaryFile())
            asked = None if talks else until_it_runs.enter_context(_file_with(line))
            # A session of its own: an interrupt at the terminal reaches only the parent,
            # which then ends the worker's whole group.
            self._process = subprocess.Popen(
                command or COMMAND,
                stdin=asked or subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                env=self._mark.put_on(worker_environment() if environment is None else environment),
                start_new_session=True,
                cwd=cwd,
            )
            until_it_runs.pop_all()
        if asked:
            asked.close()
        assert self._process.stdout is not None
        self._from = self._process.stdout
        self._watch = Watch(self._process.pid, timeout, cores)
        if talks:
            self._send(line)

    def say(self, message: dict[str, Any]) -> None:
        """Tell one that talks; that nobody reads it is told by the next answer."""
        self._send(_line(message))

    def answer(self) -> dict[str, Any]:
        """The next answer of one that talks: a dict with `status`, and `reason` unless it is ok.

        Raises KeyboardInterrupt if it was told to stop.
        """
        answer = self._hear()
        if answer is not None:
            return answer
        self._await_end()
        return self._why_ended()

    def result(self) -> dict[str, Any]:
        """The last answer of a process that ended well after it, or else why there is none."""
        last = None
        try:
            while (answer := self._hear()) is not None:
                last = answer
            self._await_end()
        except BaseException:
            self.kill()
            raise
        why = self._why_ended()
        if interrupted():
            raise KeyboardInterrupt  # it was ended, so it says nothing
        ended_well = not self._spent and self._process.returncode == 0
        return last if ended_well and last is not None else why

    def kill(self) -> None:
        """End the worker and all that it started. Nothing if it has ended."""
        if self._stderr.closed:
            return
        self._mark.end_all(self._process.pid)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        for stream in (self._process.stdin, self._from, self._stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            while data:
                data = data[self._process.stdin.write(data) or 0 :]

    def _hear(self) -> dict[str, Any] | None:
        """The next answer; None where there is none to come."""
        looks_left, looked = _LOOKS_AFTER_ITS_END, time.monotonic()
        while (answer := self._next()) is None:
            if select.select([self._from], [], [], PATIENCE_S)[0]:
                # One that never stops writing has no more time than one that is silent.
                if time.monotonic() - looked > PATIENCE_S:
                    looked = time.monotonic()
                    if not self._may_go_on():
                        return None
                data = os.read(self._from.fileno(), 1 << 16)
                if not data:
                    return None
                self._read += data
            elif self._process.poll() is not None:
                # Its answer is complete; who holds its pipe is a process that it left behind.
                self._mark.end_all(self._process.pid)
                looks_left -= 1
                if not looks_left:
                    return None
            elif not self._may_go_on():
                return None
        return answer

    def _next(self) -> dict[str, Any] | None:
        """The next answer of those that have come."""
        while b"\n" in self._read:
            line, _, self._read = self._read.partition(b"\n")
            answer = read_answer(line.decode(errors="replace"), self._mark.text)
            if answer is not None:
                return answer
        return None

    def _may_go_on(self) -> bool:
        """To be asked while it is waited for. Raises KeyboardInterrupt if it should stop."""
        if self._stop.is_set():
            raise KeyboardInterrupt
        self._spent = self._watch.overdue()
        return not self._spent

    def _await_end(self) -> None:
        """Wait until it has ended, or has had its time."""
        while not self._spent:
            try:
                self._process.wait(PATIENCE_S)
                return
            except subprocess.TimeoutExpired:
                self._may_go_on()

    def _why_ended(self) -> dict[str, Any]:
        """How it ended, as an answer; nothing of it is left."""
        said = "" if self._spent else _last_of(self._stderr)
        code = self._process.returncode
        self.kill()
        return no_answer(self._spent) if self._spent else broken_off(code, said, self._watch)


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, default=asdict).encode() + b"\n"


def _file_with(data: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the process's
    file.write(data)
    file.seek(0)
    return file


def _last_of(stderr: IO[bytes]) -> str:
    """Enough of what it wrote to hold its last words."""
    stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - _LAST_BYTES))
    return stderr.read().decode(errors="replace")


def no_answer(spent: str) -> dict[str, Any]:
    """The answer in place of one that did not come within a time, such as `60 s`."""
    return {"status": "timeout", "reason": f"no answer within {spent}; it was ended"}


def broken_off(code: int, stderr: str, watch: Watch) -> dict[str, Any]:
    """The answer in place of that of a process that has ended without one."""
    if code == -signal.SIGXCPU:
        return no_answer(watch.cpu_time)
    return {"status": "failed", "reason": why_ended(code, stderr)}


def end_group(leader: int) -> None:
    """End a process that leads a session, and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def why_ended(code: int, stderr: str) -> str:
    """How a process ended, and its last words."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = f": {lines[-1][:300]}" if lines else ""
    if code < 0:
        return f"the process crashed with {_SIGNALS.get(-code, -code)}{last}"
    return f"the process ended with code {code}{last}"
