"""How a measured process answers: by lines of JSON on a descriptor of its own.

What the measured code prints goes to stderr, whether from Python, from C or from a process that
it starts. A line that it writes to the other descriptor by its number is not taken for an
answer either: each answer begins with a mark that the parent has named.
"""

from __future__ import annotations

import json
import os
from typing import Any


class Answers:
    """The side of the measured process; to be made before any of its code is imported."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self._mark = ""

    def begin_with(self, mark: str) -> None:
        """Put the parent's mark in front of every answer from now on."""
        self._mark = mark

    def say(self, message: dict[str, Any]) -> None:
        """Answer, or tell how far it is."""
        self._stream.write(f"{self._mark}{json.dumps(message, allow_nan=False)}\n")
        self._stream.flush()


def read_answer(line: str, mark: str) -> dict[str, Any] | None:
    """What a line says; None if it is none of the process's own."""
    if not line.startswith(mark):
        return None
    try:
        answer = json.loads(line[len(mark) :])
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None
