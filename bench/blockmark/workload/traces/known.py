"""All formats, and which of them a file is in, by its header or first record."""

from __future__ import annotations

import csv
import json
from typing import Any

from blockmark.workload.errors import ConfigError
from blockmark.workload.keys import nearest

from .azure import AZURE
from .bailian import BAILIAN
from .burstgpt import BURSTGPT
from .format import Format
from .lengths import LENGTHS
from .mooncake import MOONCAKE
from .vidur import VIDUR

FORMATS: dict[str, Format] = {
    form.name: form for form in (AZURE, BURSTGPT, MOONCAKE, BAILIAN, VIDUR, LENGTHS)
}
_LONGEST_QUOTE = 60
# Of records that have one in place of a time of arrival.
NO_ARRIVAL = (
    "; its delay counts from the answer before it in its session, which no trace knows: give each "
    "record its time"
)


def quote(value: object) -> str:
    """A value from a file, short enough for a message and on one line."""
    if isinstance(value, (list, dict)):
        # Not its text: that may be megabytes, or nested too deep to print.
        return "a list" if isinstance(value, list) else "an object"
    text = ascii(value) if isinstance(value, bytes) else repr(value)
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "..."


def named_format(name: str) -> Format:
    """The format called `name`. Raises ConfigError."""
    if name not in FORMATS:
        raise ConfigError(
            f'unknown trace format "{name}"{nearest(name, list(FORMATS))}; '
            f"known: {', '.join(FORMATS)}"
        )
    return FORMATS[name]


def find_format(path: str, first: str, name: str | None) -> Format:
    """The format of a file that begins with the line `first`, or the one named.

    Raises ConfigError if it is in none of them, or not in the one named.
    """
    columns = _columns(first)
    is_json = columns is None
    seen = _record_keys(first) if columns is None else columns
    fits = {form.name: form for form in FORMATS.values() if _fits(form, seen, is_json)}
    if name is None:
        # One format may have all the columns of another: the narrower one is meant.
        best = max(fits.values(), key=lambda form: len(form.needed) + len(form.marks), default=None)
        if best is None:
            raise ConfigError(
                f"{path}: in no known trace format; {_why_none(seen, is_json, first)}"
            )
        return best
    form = named_format(name)
    if is_json is not (form.kind == "jsonl"):
        wanted = "a CSV header" if form.kind == "csv" else "JSON lines"
        problem = f"its first line is {quote(first)}, not {wanted}"
    else:
        lacking = [column for column in form.needed if not _has(form, seen, column)]
        if not lacking:
            return form
        problem = f"its {'first record' if is_json else 'header'} lacks {', '.join(lacking)}"
    others = f"; it looks like {' or '.join(fits)}" if fits else ""
    raise ConfigError(f"{path}: not in the format {name}: {problem}{others}")


def _why_none(seen: set[str], is_json: bool, first: str) -> str:
    """What keeps a file from being in the format that it is most like, if it is like one."""
    lacks = {
        form.name: [column for column in form.needed if not _has(form, seen, column)]
        for form in FORMATS.values()
        if is_json is (form.kind == "jsonl")
    }
    name = min(lacks, key=lambda each: (len(lacks[each]), -len(FORMATS[each].needed)), default="")
    if name and len(lacks[name]) < len(FORMATS[name].needed):
        where = "first record" if is_json else "header"
        why = NO_ARRIVAL if "delay" in seen and FORMATS[name].arrival in lacks[name] else ""
        return f"it is like {name}, but its {where} lacks {', '.join(lacks[name])}{why}"
    known = "; ".join(form.described for form in FORMATS.values())
    return f"its first line is {quote(first)}; known: {known}"


def header_of(line: str) -> list[str]:
    """Names of the columns of a CSV header, as written. Raises csv.Error."""
    return [name.strip() for name in next(csv.reader([line], strict=True), [])]


def _columns(first: str) -> set[str] | None:
    """The columns of a CSV header in lower case; None for JSON."""
    if first.lstrip().startswith("{"):
        return None
    try:
        return {name.casefold() for name in header_of(first)}
    except csv.Error:
        return set()


def _record_keys(first: str) -> set[str]:
    try:
        record: Any = json.loads(first)
    except (ValueError, RecursionError):
        return set()
    return set(record) if isinstance(record, dict) else set()


def _fits(form: Format, seen: set[str], is_json: bool) -> bool:
    return is_json is (form.kind == "jsonl") and all(
        _has(form, seen, column) for column in (*form.needed, *form.marks)
    )


def _has(form: Format, seen: set[str], column: str) -> bool:
    return (column if form.kind == "jsonl" else column.casefold()) in seen
