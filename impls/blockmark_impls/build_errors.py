"""One line out of a compiler's many: the first error, and the concept that failed.

The lines of g++ and clang++ are read; LC_ALL=C keeps their words and quotes.
"""

from __future__ import annotations

import re
from pathlib import Path

_ERROR = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<said>.*)$")
_CONCEPT = re.compile(r"static assertion failed.*?: \"?(?P<said>.+ is not a \w+)\"?$")
_LINE_OF_OFFER = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+):\d+: note: (?:in expansion of|expanded from) macro "
    r"'BLOCKMARK_(?:POOL|TABLE|MANAGER)'"
)
# What g++ and clang++ say of the requirement that is not met.
_REQUIREMENTS = (
    re.compile(r"note: the required (?:expression|type) '(?P<what>.+)' is invalid"),
    re.compile(r"note: '(?P<what>.+)' does not satisfy return-type-requirement"),
    re.compile(r"note: (?:and |because )'(?P<what>.+)' (?:would be invalid|does not satisfy)"),
)
_SATISFACTION = re.compile(
    r"required for the satisfaction of '(?P<what>[^']+)' \[with \w+ = (?P<type>.+)\]"
)
_SOURCE = re.compile(r"^ *\d+ \| +(?P<text>\{.*\}.*|.*;)$")
_OF_STD = re.compile(r"\bstd::|\btypename ")


def first_error(log: str) -> str:
    """The first error of a compilation, in one line: where, and what."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        error = _ERROR.match(line)
        if error is None:
            continue
        if concept := _CONCEPT.search(error["said"]):
            return _unmet(concept["said"], lines[number:]) or f"{concept['said']}"
        return f"{_place(error)}: {error['said']}"
    # The linker's words, or none.
    said = next((line for line in lines if "undefined reference" in line or "error" in line), "")
    return " ".join(said.split()) or "the compiler gave no reason"


def _place(match: re.Match[str]) -> str:
    return f"{Path(match['file']).name}:{match['line']}"


def _unmet(said: str, lines: list[str]) -> str:
    place = next((m for m in map(_LINE_OF_OFFER.match, lines) if m), None)
    where = f"{_place(place)}: " if place else ""
    return f"{where}{said}: {_requirement(lines)}"


def _requirement(lines: list[str]) -> str:
    """What the class lacks, with the line of the concept that asks for it."""
    for number, line in enumerate(lines):
        for pattern in _REQUIREMENTS:
            if met := pattern.search(line):
                what = met["what"]
                asked = _asked(lines[number + 1 : number + 2])
                wrong = "has another return type" if "return-type" in line else "is not possible"
                return f"{what} {wrong}{asked}"
        if satisfied := _SATISFACTION.search(line):
            return f"{satisfied['what']} does not hold"
    return "a requirement is not met"


def _asked(following: list[str]) -> str:
    source = _SOURCE.match(following[0]) if following else None
    if source is None:
        return ""
    text = _OF_STD.sub("", source["text"].strip().rstrip(";"))
    return f"; needed is {text}"
