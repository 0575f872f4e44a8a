"""What a tool prints, such as valgrind or perf: in a limited time, which load does not decide."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .process.jobs import end_group
from .process.limits import PATIENCE_S, Watch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The exit code and texts of a tool that has ended; `late` is the time in which it did not,
    in words, and then there are no texts.
    """

    code: int
    out: str = ""
    err: str = ""
    late: str = ""


def ask_tool(
    command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None
) -> ToolOutput:
    """Run a tool to its end, or for so many seconds as limits.py counts them.

    It and what it has started are over then. Raises OSError if it can't be started.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
    )
    watch, late = Watch(process.pid, seconds), ""
    try:
        while not late:
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
                return ToolOutput(process.returncode, out, err)
            except subprocess.TimeoutExpired:
                if process.poll() is None:
                    late = watch.overdue()
                else:
                    end_group(process.pid)  # what it left behind holds its pipes
    finally:
        if process.poll() is None:
            end_group(process.pid)
            process.communicate()
    return ToolOutput(-1, late=late)
