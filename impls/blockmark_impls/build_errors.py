"""One line out of a compiler's many: the first error, and the concept that failed.

The lines of g++ and clang++ are read; LC_ALL=C keeps their words and quotes.
"""

from __future__ import annotations

import re
from pathlib import Path

_ERROR = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<said>.*)$")
_CONCEPT = re.compile(
    r"static assertion failed.*?: \"?(?P<said>(?P<class>.+) is not a (?P<concept>\w+))\"?$"
)
_OFFER = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+):\d+: note: (?:in expansion of|expanded from) macro "
    r"'BLOCKMARK_(?:POOL|TABLE|MANAGER)'"
)
# What g++ and clang++ say of the requirement that is not met; g++ goes on with an error
# that says why.
_INVALID = re.compile(
    r"note: (?:the required (?:expression|type)|because|and) '(?P<what>.+)' "
    r"(?:is invalid|would be invalid)(?:, because$|: (?P<why>.*)|$)"
)
_RETURNS = re.compile(r"note: (?:because )?'(?P<what>.+)' does not satisfy return-type-requirement")
_HOLDS = re.compile(r"required for the satisfaction of '(?P<what>[^']+)' \[with \w+ = .+\]")
_ASKED = re.compile(r"^ *\d+ \| +(?P<text>\{.*\} -> .*);$")
# The letter that stands for the class in contract.hpp and whole_manager.hpp.
_PARAMETER = re.compile(r"\b[TPM]\b")
_NOISE = re.compile(r"\bstd::|\btypename ")


def first_error(log: str, header: str = "") -> str:
    """The first error of a compilation, in one line: where, and what.

    An error in `header` (a path) goes before those that it causes elsewhere.
    """
    lines = log.splitlines()
    errors = [(number, _ERROR.match(line)) for number, line in enumerate(lines)]
    found = [(number, error) for number, error in errors if error]
    in_header = [pair for pair in found if pair[1]["file"] == header]
    concepts = [pair for pair in found if _CONCEPT.search(pair[1]["said"])]
    for number, error in (*in_header[:1], *concepts[:1], *found[:1]):
        if concept := _CONCEPT.search(error["said"]):
            return _unmet(concept, lines[number:])
        return f"{_place(error)}: {error['said']}"
    # The linker's words, or none.
    said = next((line for line in lines if "undefined reference" in line or "error" in line), "")
    return " ".join(said.split()) or "the compiler gave no reason"


def _place(match: re.Match[str]) -> str:
    return f"{Path(match['file']).name}:{match['line']}"


def _unmet(concept: re.Match[str], lines: list[str]) -> str:
    """Which class, which concept, and what the class lacks."""
    place = next((match for match in map(_OFFER.match, lines) if match), None)
    where = f"{_place(place)}: " if place else ""
    lacks = _PARAMETER.sub(concept["class"], _NOISE.sub("", _lacks(lines)))
    return f"{where}{concept['said']}: {lacks}"


def _lacks(lines: list[str]) -> str:
    for number, line in enumerate(lines):
        if invalid := _INVALID.search(line):
            later = (_ERROR.match(each) for each in lines[number + 1 :])
            why = invalid["why"] or next((error["said"] for error in later if error), "")
            return f"{invalid['what']}: {why}" if why else f"{invalid['what']} is not possible"
        if returns := _RETURNS.search(line):
            asked = _ASKED.match(lines[number + 1]) if number + 1 < len(lines) else None
            needed = f"; needed is {asked['text']}" if asked else ""
            return f"{returns['what']} has another return type{needed}"
        if holds := _HOLDS.search(line):
            return f"{holds['what']} does not hold"
    return "a requirement is not met"
