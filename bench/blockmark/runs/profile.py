"""A profile: where a replay's instructions or samples went, by function and by line.

Whoever profiles makes one, whoever prints reads one. Weights are whole numbers of
`unit`; the weights of all functions add up to `total`, and so do those of all lines
and of all stacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

UNKNOWN = "[unknown]"


@dataclass(frozen=True, slots=True)
class Frame:
    """One call in a stack.

    `line` is where the call stood, `starts` the line where its function begins; 0 is
    unknown, as is an empty `file`. `name` and `file` together are the function.
    """

    name: str
    file: str = ""
    line: int = 0
    starts: int = 0

    @property
    def function(self) -> tuple[str, str]:
        """What makes two frames calls of the same function."""
        return self.name, self.file


@dataclass(frozen=True, slots=True)
class Stack:
    """Calls from the outermost to the innermost, and the weight that fell on them."""

    frames: tuple[Frame, ...]
    weight: int


@dataclass(frozen=True, slots=True)
class HotFunction:
    """A function's own weight, and with all that it called.

    `calls` is None where calls were not counted. `events` has further counts of the
    function's own, by event. `cycle` says that functions call each other in a circle:
    then `total` is that of the whole circle, since it can't be told apart.
    """

    name: str
    file: str
    line: int
    own: int
    total: int
    calls: int | None = None
    events: Mapping[str, int] = field(default_factory=dict)
    cycle: bool = False


@dataclass(frozen=True, slots=True)
class HotLine:
    """A source line's own weight; `text` is the line, empty where it can't be read."""

    file: str
    line: int
    own: int
    events: Mapping[str, int] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """The whole: `source` is `callgrind`, `perf` or `python`; `unit` is `instructions` or
    `samples`.

    `exact` says that weights were counted, not sampled, and then `stacks` are derived
    from the graph of calls. `events` holds totals of further counts. Functions and lines
    come with the heaviest first.
    """

    source: str
    unit: str
    total: int
    functions: Sequence[HotFunction]
    lines: Sequence[HotLine]
    stacks: Sequence[Stack]
    events: Mapping[str, int] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether the weights are counts."""
        return self.source == "callgrind"


def functions_of(stacks: Iterable[Stack]) -> list[HotFunction]:
    """Functions by own weight; of a recursive call the total counts once a stack."""
    own: dict[tuple[str, str], int] = {}
    total: dict[tuple[str, str], int] = {}
    starts: dict[tuple[str, str], int] = {}
    for stack in stacks:
        if not stack.frames:
            continue
        leaf = stack.frames[-1].function
        own[leaf] = own.get(leaf, 0) + stack.weight
        for function in {frame.function for frame in stack.frames}:
            total[function] = total.get(function, 0) + stack.weight
        for frame in stack.frames:
            place = frame.starts or frame.line
            known = starts.get(frame.function, 0)
            # Where nobody tells the beginning, it is at most the first line seen.
            starts[frame.function] = min(place, known) if known and place else place or known
    found = [
        HotFunction(name, file, starts[name, file], own.get((name, file), 0), weight)
        for (name, file), weight in total.items()
    ]
    return sorted(found, key=lambda each: (-each.own, -each.total, each.name, each.file))


def lines_of(stacks: Iterable[Stack]) -> list[HotLine]:
    """Lines by own weight: those on which the innermost call stood."""
    own: dict[tuple[str, int], int] = {}
    for stack in stacks:
        if stack.frames:
            place = stack.frames[-1].file, stack.frames[-1].line
            own[place] = own.get(place, 0) + stack.weight
    found = [HotLine(file, line, weight) for (file, line), weight in own.items()]
    return sorted(found, key=lambda each: (-each.own, each.file, each.line))


def collapsed(stacks: Iterable[Stack]) -> str:
    """Stacks as text, one a line: `outer (file:line);inner (file:line) weight`.

    The form that flame graph tools read. Semicolons inside a name become commas.
    """
    return "".join(
        f"{';'.join(map(_collapsed_frame, stack.frames))} {stack.weight}\n" for stack in stacks
    )


def _collapsed_frame(frame: Frame) -> str:
    place = f" ({frame.file}:{frame.line})" if frame.file else ""
    return "".join(
        "," if letter == ";" else letter if letter.isprintable() else "?"
        for letter in frame.name + place
    )


@dataclass(frozen=True, slots=True)
class ProfiledReplay:
    """A profile, and of what it is one.

    `params` are the cell's keys. `tool` says in words what counted or sampled. `steps`
    and `operations` are those that were replayed under it. `notes` are sentences that a
    reader needs beside the numbers. `raw` are the names of files in the profile's folder
    that the tool wrote.
    """

    profile: Profile
    implementation: str
    scenario: str
    model: str
    call_style: str
    params: Mapping[str, object]
    tool: str
    steps: int
    operations: int
    notes: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()
