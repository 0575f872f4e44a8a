"""Reading what `perf script` prints: one stack a sample, innermost call first.

A pure parser of `perf script -F event,ip,sym,dso,srcline --full-source-path`. Inlined
calls are frames of their own; they name no object, and their line says `(inlined)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark.runs.profile import UNKNOWN, Frame, Stack

from .names import readable, source_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FRAME = re.compile(r"^\s+([0-9a-f]+)(?: (.*))?$")
_OBJECT = re.compile(r" \(((?:/|\[).*)\)$")
_LINE = re.compile(r"^\s+(.*?):(\d+)(?: \(inlined\))?$")
# An object without line tables: its name and the address in it.
_NO_LINE = re.compile(r"^\s+\S+\[[0-9a-f]+\](?: \(inlined\))?$")
_EVENT = re.compile(r"^\s*(?:\d+ )?([\w.:/=,-]+?):\s*$")
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")


@dataclass(frozen=True, slots=True)
class Samples:
    """What was sampled, and the stacks, outermost call first. `symbols` are the full names."""

    event: str
    stacks: list[Stack]


def parse_perf(text: str) -> Samples:
    """The samples of a `perf script` text, equal stacks put together.

    Raises ValueError, with the number of the line, for text that is none.
    """
    event = ""
    counts: dict[tuple[Frame, ...], int] = {}
    frames: list[Frame] = []
    open_sample = False
    names: dict[str, str] = {}
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if not line.strip():
            if open_sample and frames:
                stack = tuple(reversed(frames))
                counts[stack] = counts.get(stack, 0) + 1
            open_sample, frames = False, []
        elif not open_sample:
            if (match := _EVENT.match(line)) is None:
                raise ValueError(f"line {number}: {line[:60]!r} is no sample of perf script")
            event, open_sample = match[1], True
        elif match := _FRAME.match(line):
            frames.append(_frame(match[2] or "", names))
        elif frames and _NO_LINE.match(line):
            continue
        elif frames and (match := _LINE.match(line)):
            file = source_file(match[1])
            at = int(match[2]) if file else 0
            frames[-1] = Frame(frames[-1].name, file if at else "", at)
        else:
            raise ValueError(f"line {number}: {line[:60]!r} is no frame of perf script")
    return Samples(event, [Stack(frames, count) for frames, count in counts.items()])


def _frame(text: str, names: dict[str, str]) -> Frame:
    symbol = _OFFSET.sub("", _OBJECT.sub("", text).strip())
    if symbol not in names:
        names[symbol] = readable(symbol) if symbol and symbol != UNKNOWN else UNKNOWN
    return Frame(names[symbol])


def rooted(stacks: Sequence[Stack], is_root: Callable[[str], bool]) -> tuple[list[Stack], int]:
    """Stacks from the outermost frame on whose name is a root's; and the weight of those
    that have none, which are left out.
    """
    kept: dict[tuple[Frame, ...], int] = {}
    left_out = 0
    for stack in stacks:
        for place, frame in enumerate(stack.frames):
            if is_root(frame.name):
                frames = stack.frames[place:]
                kept[frames] = kept.get(frames, 0) + stack.weight
                break
        else:
            left_out += stack.weight
    return [Stack(frames, weight) for frames, weight in kept.items()], left_out
