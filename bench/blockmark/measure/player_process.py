"""A measured process that is talked to: a message is a line, and so is an answer."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .answers import read_answer
from .jobs import COMMAND, ProcessMark, broken_off, no_answer, worker_environment
from .limits import PATIENCE_S, Watch

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
        """Start it and send its job. It may use `timeout` seconds, as limits.py counts them,
        over its whole life; `stop` ends it from another thread.

        `command` replaces the worker's own, and `cwd` is its folder, if not this process's.
        Raises OSError if it can't be started.
        """
        self._stop = stop
        self._read = b""
        self._mark = ProcessMark()
        # A file, as nobody reads a pipe of it while the process is talked to.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                command or COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                env=self._mark.put_on(worker_environment()),
                start_new_session=True,
                cwd=cwd,
            )
        except BaseException:
            self._stderr.close()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._watch = Watch(self._process.pid, timeout)
        self.say({**request, "mark": self._mark.text, "cpu_limit": timeout})

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
        while (answer := self._next()) is None:
            ready, _, _ = select.select([self._from], [], [], PATIENCE_S)
            if ready:
                data = os.read(self._from.fileno(), 1 << 16)
                if not data:
                    return self._broken_off()
                self._read += data
            elif self._stop.is_set():
                raise KeyboardInterrupt
            elif spent := self._watch.overdue():
                self.kill()
                return no_answer(spent)
        return answer

    def _next(self) -> dict[str, Any] | None:
        """The next answer of those that have come."""
        while b"\n" in self._read:
            line, _, self._read = self._read.partition(b"\n")
            answer = read_answer(line.decode(errors="replace"), self._mark.text)
            if answer is not None:
                return answer
        return None

    def kill(self) -> None:
        """End it and all that it started. Nothing if it has ended."""
        if self._stderr.closed:
            return
        self._mark.end_all(self._process.pid)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        for stream in (self._to, self._from, self._stderr):
            with suppress(BrokenPipeError):
                stream.close()

    def _broken_off(self) -> dict[str, Any]:
        # Its output is closed; what still runs then is no player.
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._mark.end_all(self._process.pid)
            code = self._process.wait(5)
        self._stderr.seek(0)
        answer = broken_off(code, self._stderr.read().decode(errors="replace"), self._watch)
        self.kill()
        return answer
