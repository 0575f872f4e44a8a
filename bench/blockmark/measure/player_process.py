"""A measured process that is talked to: a message is a line, and so is an answer."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .jobs import (
    COMMAND,
    PATIENCE_S,
    end_group,
    no_answer,
    read_line,
    why_ended,
    worker_environment,
)

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event


class PlayerProcess:
    """One worker with a job of the kind "turns". It fails as a `Job` does: by an answer."""

    def __init__(
        self,
        request: dict[str, Any],
        timeout: float,
        stop: Event,
        *,
        command: list[str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Start it and send its job. It may live for `timeout` seconds; `stop` ends it
        from another thread.

        `command` replaces the worker's own, and `cwd` is its folder, if not this process's.
        Raises OSError if it can't be started.
        """
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._stop = stop
        self._read = b""
        # A file, as nobody reads a pipe of it while the process is talked to.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                command or COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                env=worker_environment(),
                start_new_session=True,
                cwd=cwd,
            )
        except BaseException:
            self._stderr.close()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self.say(request)

    def say(self, message: dict[str, Any]) -> None:
        """Send a message; that nobody reads it is told by the next answer."""
        data = json.dumps(message).encode() + b"\n"
        with suppress(BrokenPipeError):
            while data:
                data = data[self._to.write(data) :]

    def answer(self) -> dict[str, Any]:
        """The next answer: a dict with `status`, and `reason` unless it is ok.

        Raises KeyboardInterrupt if it was told to stop.
        """
        while b"\n" not in self._read:
            ready, _, _ = select.select([self._from], [], [], PATIENCE_S)
            if ready:
                data = os.read(self._from.fileno(), 1 << 16)
                if not data:
                    return {"status": "failed", "reason": self._why_ended()}
                self._read += data
            elif self._stop.is_set():
                raise KeyboardInterrupt
            elif time.monotonic() > self._deadline:
                self.kill()
                return no_answer(self._timeout)
        line, _, self._read = self._read.partition(b"\n")
        return read_line(line)

    def kill(self) -> None:
        """End it and all that it started. Nothing if it has ended."""
        if self._stderr.closed:
            return
        end_group(self._process.pid)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        for stream in (self._to, self._from, self._stderr):
            with suppress(BrokenPipeError):
                stream.close()

    def _why_ended(self) -> str:
        # Its output is closed; what still runs then is no player.
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            end_group(self._process.pid)
            code = self._process.wait(5)
        self._stderr.seek(0)
        reason = why_ended(code, self._stderr.read().decode(errors="replace"))
        self.kill()
        return reason
