"""Starting a measured process, and getting an answer whatever it does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event

COMMAND = [sys.executable, "-P", "-m", "blockmark.measure.worker"]
# How often a waiting parent looks whether it should stop. A wait on a pipe, so the
# measured process does not notice.
PATIENCE_S = 0.5
_SIGNALS = {s.value: s.name for s in signal.Signals}


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
        stop: Event,
        *,
        command: list[str] | None = None,
        environment: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Start it. `timeout` in seconds; `stop` ends it from another thread.

        `command` and `environment` replace the worker's own, as where a tool starts it;
        `cwd` is its folder, if not this process's. Raises OSError if it can't be started.
        """
        self.timeout = timeout
        self._stop = stop
        self._request = json.dumps(request)
        # A session of its own: an interrupt at the terminal reaches only the parent,
        # which then ends the worker's whole group.
        self._process = subprocess.Popen(
            command or COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=worker_environment() if environment is None else environment,
            start_new_session=True,
            cwd=cwd,
        )

    def result(self) -> dict[str, Any]:
        """Wait for the answer: a dict with `status`, and `reason` unless it is ok."""
        deadline = time.monotonic() + self.timeout
        request: str | None = self._request
        try:
            while True:
                try:
                    out, err = self._process.communicate(request, timeout=PATIENCE_S)
                    break
                except subprocess.TimeoutExpired:
                    request = None  # it was sent
                    if self._stop.is_set():
                        raise KeyboardInterrupt from None
                    if time.monotonic() > deadline:
                        self.kill()
                        return no_answer(self.timeout)
        except BaseException:
            self.kill()
            raise
        return _read_answer(self._process.returncode, out, err)

    def kill(self) -> None:
        """End the worker and all that it started."""
        end_group(self._process.pid)
        with suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=5)


def _read_answer(code: int, out: str, err: str) -> dict[str, Any]:
    if code != 0 or not out:
        return {"status": "failed", "reason": why_ended(code, err)}
    return read_line(out.splitlines()[-1])


def read_line(line: str | bytes) -> dict[str, Any]:
    """A process's answer, or that it is none."""
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return {"status": "failed", "reason": "the process's answer is not JSON"}
    return answer


def no_answer(timeout: float) -> dict[str, Any]:
    """The answer in place of one that did not come."""
    return {"status": "timeout", "reason": f"no answer within {timeout:g} s; it was ended"}


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
