"""Starting a measured process, and getting an answer whatever it does."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any

from blockmark import reaper
from blockmark.interrupts import interrupted

from .answers import read_answer
from .limits import PATIENCE_S, Watch
from .machine import usable_cores

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COMMAND = [sys.executable, "-P", "-m", "blockmark.measure.worker"]
# Looks at a process that has ended while another one, in a session of its own, holds its
# pipes open.
_LOOKS_AFTER_ITS_END = 4
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
    ) -> None:
        """Start it. `timeout` in seconds, as limits.py counts them; `stop` ends it from
        another thread.

        `command` and `environment` replace the worker's own, as where a tool starts it;
        `cwd` is its folder, if not this process's. Raises OSError if it can't be started.
        """
        self._stop = stop or Event()
        # Threads use CPU time on several cores at once; without a study of them a job has
        # one thread, whose CPU time is at most the wall time.
        cores = min(usable_cores(), request.get("params", {}).get("threads", 1))
        self._mark = ProcessMark()
        request = {**request, "mark": self._mark.text, "cpu_limit": timeout * cores}
        self._request = json.dumps(request)
        # A session of its own: an interrupt at the terminal reaches only the parent,
        # which then ends the worker's whole group.
        self._process = subprocess.Popen(
            command or COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._mark.put_on(worker_environment() if environment is None else environment),
            start_new_session=True,
            cwd=cwd,
        )
        self._watch = Watch(self._process.pid, timeout, cores)

    def result(self) -> dict[str, Any]:
        """Wait for the answer: a dict with `status`, and `reason` unless it is ok."""
        try:
            request: str | None = self._request
            looks_left = _LOOKS_AFTER_ITS_END
            while True:
                try:
                    out, err = self._process.communicate(request, timeout=PATIENCE_S)
                    break
                except subprocess.TimeoutExpired as so_far:
                    request = None  # it was sent
                    if self._stop.is_set():
                        raise KeyboardInterrupt from None
                    if self._process.poll() is not None:
                        # Its answer is complete; who holds its pipes is a process that it
                        # left behind.
                        self._mark.end_all(self._process.pid)
                        looks_left -= 1
                        if not looks_left:
                            out, err = _text(so_far.output), _text(so_far.stderr)
                            self._close()
                            break
                    elif spent := self._watch.overdue():
                        self.kill()
                        return no_answer(spent)
        except BaseException:
            self.kill()
            raise
        self._mark.end_all(self._process.pid)
        if interrupted():
            raise KeyboardInterrupt  # it was ended, so it says nothing
        return self._read_answer(self._process.returncode, out, err)

    def kill(self) -> None:
        """End the worker and all that it started."""
        self._mark.end_all(self._process.pid)
        with suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=5)
        self._close()

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _read_answer(self, code: int, out: str, err: str) -> dict[str, Any]:
        if code == 0:
            for line in reversed(out.split("\n")):
                if (answer := read_answer(line, self._mark.text)) is not None:
                    return answer
        return broken_off(code, err, self._watch)


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


def _text(data: bytes | str | None) -> str:
    return data.decode(errors="replace") if isinstance(data, bytes) else data or ""
