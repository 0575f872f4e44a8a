"""Reading callgrind's output: self costs by line, calls and their inclusive costs.

A pure parser of the format that valgrind documents: names compressed as `(id) name`,
positions relative to the last one (`+3`, `-2`, `*`), costs whose trailing zeros are
left out. A file or object that a call line does not name is the caller's current one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# A function, by (object, file, name).
Key = tuple[str, str, str]

_NAMED = re.compile(r"\((\d+)\)(?: (.*))?")
# `fib(int)'2` is fib called by itself: the same function, at another depth.
_RECURSION = re.compile(r"'\d+$")
_POSITION = re.compile(r"[+-]?\d+|0x[0-9a-f]+|\*")


class FormatError(ValueError):
    """Text that is no callgrind output; one line, with the number of the line."""


@dataclass(slots=True)
class Calls:
    """Calls of one function by another: how many, and what they cost in all."""

    count: int = 0
    costs: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Function:
    """Own costs by (file, line), and calls by callee.

    Costs are in the order of the output's events. Lines of inlined functions are in
    their own files.
    """

    lines: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    calls: dict[Key, Calls] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallGraph:
    """One dump. `events` names the costs; `totals` are the sums of all own costs."""

    events: tuple[str, ...]
    functions: dict[Key, Function]
    totals: list[int]


def parse_callgrind(text: str) -> CallGraph:
    """The graph of one dump.

    Raises FormatError for what is no callgrind output, for positions other than lines
    (`--dump-instr=yes`), and where the own costs do not add up to the file's totals.
    """
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            reader.line(line)
        except FormatError as error:
            raise FormatError(f"line {number}: {error}") from None
        except ValueError:
            shown = repr(line[:60])
            raise FormatError(f"line {number}: {shown} is no callgrind output") from None
    return reader.graph()


def add(costs: list[int], more: Iterable[int]) -> None:
    """Add costs to others, in place."""
    for place, cost in enumerate(more):
        costs[place] += cost


class _Reader:
    """The state between lines: where we are, and what names are known."""

    def __init__(self) -> None:
        self.events: tuple[str, ...] = ()
        self.functions: dict[Key, Function] = {}
        self.stated: list[int] | None = None
        self._names: dict[str, dict[str, str]] = {"ob": {}, "fl": {}, "fn": {}}
        self._object = self._file = ""
        self._key: Key | None = None
        self._callee: dict[str, str] = {}
        self._calls: int | None = None
        self._line = 0

    def line(self, line: str) -> None:
        """Take in one line."""
        if not line or line.startswith("#"):
            return
        if line[0].isdigit() or line[0] in "+-*":
            self._cost(line)
            return
        word = re.match(r"([a-z]+)([=:])", line)
        if word is None:
            raise ValueError(line)
        value = line[word.end() :].strip()
        if word[2] == ":":
            self._header(word[1], value)
        else:
            self._place(word[1], value)

    def _header(self, word: str, value: str) -> None:
        if word == "events":
            self.events = tuple(value.split())
        elif word == "positions" and value != "line":
            raise FormatError(f"positions are {value}; only lines are read")
        elif word == "totals":
            self.stated = self._padded([int(cost) for cost in value.split()])

    def _place(self, word: str, value: str) -> None:
        if word == "ob":
            self._object = self._named("ob", value)
        elif word in ("fl", "fi", "fe"):
            self._file = self._named("fl", value)
        elif word == "fn":
            self._key = (self._object, self._file, self._function(value))
            self.functions.setdefault(self._key, Function())
        elif word in ("cob", "cfi", "cfl"):
            kind = "ob" if word == "cob" else "fl"
            self._callee[kind] = self._named(kind, value)
        elif word == "cfn":
            self._callee["fn"] = self._function(value)
        elif word == "calls":
            if "fn" not in self._callee:
                raise FormatError("calls of no function")
            self._calls = int(value.split()[0])
        elif word not in ("jump", "jcnd", "jfi", "jfn"):
            raise ValueError(word)

    def _named(self, kind: str, value: str) -> str:
        """A name, given in full, given and numbered, or by its number alone."""
        match = _NAMED.fullmatch(value)
        if match is None:
            return value
        names = self._names[kind]
        if match[2] is not None:
            names[match[1]] = match[2]
        elif match[1] not in names:
            raise FormatError(f"the name ({match[1]}) was not given before")
        return names[match[1]]

    def _function(self, value: str) -> str:
        return _RECURSION.sub("", self._named("fn", value))

    def _cost(self, line: str) -> None:
        position, *costs = line.split()
        if not _POSITION.fullmatch(position):
            raise ValueError(line)
        if position[0] in "+-":
            self._line += int(position)
        elif position != "*":
            self._line = int(position, 0)
        if self._key is None or not self.events:
            raise FormatError("costs of no function")
        values = self._padded([int(cost) for cost in costs])
        function = self.functions[self._key]
        if self._calls is None:
            add(function.lines.setdefault((self._file, self._line), self._padded([])), values)
            return
        callee = (
            self._callee.get("ob", self._object),
            self._callee.get("fl", self._file),
            self._callee["fn"],
        )
        calls = function.calls.setdefault(callee, Calls(0, self._padded([])))
        calls.count += self._calls
        add(calls.costs, values)
        self._calls, self._callee = None, {}

    def _padded(self, costs: list[int]) -> list[int]:
        if len(costs) > len(self.events):
            raise FormatError(f"{len(costs)} costs of {len(self.events)} events")
        return costs + [0] * (len(self.events) - len(costs))

    def graph(self) -> CallGraph:
        """What was read, checked against the totals that the file states."""
        if not self.events:
            raise FormatError("no events: this is no callgrind output")
        totals = self._padded([])
        for function in self.functions.values():
            for costs in function.lines.values():
                add(totals, costs)
        if self.stated is not None and self.stated != totals:
            raise FormatError(f"own costs add up to {totals}, not to the totals {self.stated}")
        return CallGraph(self.events, self.functions, totals)
