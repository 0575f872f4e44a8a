"""Reading stacks in the words of Python's fault handler, one after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CALL = re.compile(r'^  File "(.*)", line (\d+|\?\?\?) in (.*)$')
_START = re.compile(r"^(?:Stack|(?:Current )?[Tt]hread 0x[0-9a-f]+.*) \(most recent call first\):$")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the function's bare name, and the line on which it stood (0 if unknown)."""

    name: str
    file: str
    line: int


def parse_tracebacks(text: str) -> dict[tuple[Call, ...], int]:
    """Stacks, outermost call first, and how often each was written.

    Lines that are no part of a stack are passed over, and so is a stack without calls.
    """
    counts: dict[tuple[Call, ...], int] = {}
    calls: list[Call] = []

    def finish() -> None:
        if calls:
            stack = tuple(reversed(calls))
            counts[stack] = counts.get(stack, 0) + 1
            calls.clear()

    for line in text.splitlines():
        if _START.match(line):
            finish()
        elif match := _CALL.match(line):
            number = int(match[2]) if match[2].isdigit() else 0
            calls.append(Call(match[3], match[1], number))
    finish()
    return counts
