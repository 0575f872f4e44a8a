"""From the text of a row to its fields, and from a field to a number.

Errors are ValueErrors without the place, which the caller knows; `FieldError` names
the field.
"""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any, Protocol

from blockmark.workload.errors import ConfigError

from .known import NO_ARRIVAL, header_of, quote

if TYPE_CHECKING:
    from .format import Format

# More than the keys of a scenario take: 2**31 tokens are no prompt.
MOST_TOKENS = 1 << 31
_MOST_IGNORED = 20
# (arrival, prompt, output, hash ids) as they stand in the row; None where there are none.
Fields = tuple[Any, Any, Any, Any]


class FieldError(ValueError):
    """A row without a field, or with one that can't be read."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)


class Rows(Protocol):
    """Takes rows apart. `ignored`: names of columns that nobody knows, as met so far."""

    ignored: dict[str, None]

    def fields(self, text: str) -> Fields:
        """The fields of one row. Raises FieldError."""


class CsvRows:
    """Rows of a CSV file, by column name. Raises ConfigError for a header that won't do."""

    def __init__(self, path: str, header: str, form: Format) -> None:
        names = header_of(header)
        folded = [name.casefold() for name in names]
        twice = sorted({name for name in form.needed if folded.count(name.casefold()) > 1})
        if twice:
            raise ConfigError(f"{path}: two columns are called {twice[0]}; rename one")
        places = [None if name is None else folded.index(name.casefold()) for name in _asked(form)]
        self._form = form
        self._names = names
        self._arrival, self._prompt, self._output, _ = places
        known = {name.casefold() for name in (*form.needed, *form.also)}
        unknown = [name for name in names if name and name.casefold() not in known]
        self.ignored = dict.fromkeys(unknown[:_MOST_IGNORED])

    def fields(self, text: str) -> Fields:
        """The fields of one row, as text. Raises FieldError."""
        values = text.split(",")
        if '"' in text:
            try:
                # A line at a time: a stray quote must not swallow the rest of the file.
                values = next(csv.reader([text], strict=True), [])
            except csv.Error as error:
                raise FieldError("", f"not a CSV row ({error})") from None
        if len(values) != len(self._names):
            self._check_count(values)
        return (
            None if self._arrival is None else values[self._arrival],
            values[self._prompt or 0],
            values[self._output or 0],
            None,
        )

    def _check_count(self, values: list[str]) -> None:
        if len(values) < len(self._names):
            for name in self._form.needed:
                place = [column.casefold() for column in self._names].index(name.casefold())
                if place >= len(values):
                    raise FieldError(name, "is missing; the row is cut short")
        elif any(value.strip() for value in values[len(self._names) :]):
            raise FieldError(
                "", f"has {len(values)} fields where the header has {len(self._names)}"
            )


class JsonRows:
    """Records of a file of JSON lines, by key."""

    def __init__(self, form: Format) -> None:
        self._form = form
        self._known = {*form.needed, *form.also}
        self.ignored: dict[str, None] = {}

    def fields(self, text: str) -> Fields:
        """The fields of one record. Raises FieldError."""
        try:
            record: Any = json.loads(text)
        except json.JSONDecodeError as error:
            raise FieldError("", f"not JSON ({error.msg} at column {error.colno:,})") from None
        except (ValueError, RecursionError):  # a number or a nesting beyond all bounds
            raise FieldError("", "not JSON that can be read") from None
        if not isinstance(record, dict):
            raise FieldError("", f"{quote(record)} is not a JSON object")
        if not record.keys() <= self._known and len(self.ignored) < _MOST_IGNORED:
            unknown = [name for name in record if name not in self._known]
            self.ignored.update(dict.fromkeys(unknown[: _MOST_IGNORED - len(self.ignored)]))
        for name in self._form.needed:
            if name not in record:
                late = name == self._form.arrival and "delay" in record
                raise FieldError(name, "is missing" + (NO_ARRIVAL if late else ""))
        arrival, prompt, output, ids = (
            None if name is None else record[name] for name in _asked(self._form)
        )
        return arrival, prompt, output, ids


def _asked(form: Format) -> tuple[str | None, str, str, str | None]:
    return form.arrival, form.prompt, form.output, form.hash_ids


def tokens(value: object) -> int:
    """A number of tokens: 374, "374", "374.0". Raises ValueError with what is wrong."""
    number: int | None = None
    if isinstance(value, str):
        text = value.strip()
        if text.isdecimal() and len(text) < 20:
            number = int(text)
        elif len(text) < 40:
            number = _whole(_float(text))
    elif isinstance(value, float):
        number = _whole(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    if number is None:
        raise ValueError(f"{quote(value)} is not a whole number")
    if not 0 <= number <= MOST_TOKENS:
        raise ValueError(f"{quote(value)} is not between 0 and {MOST_TOKENS:,} tokens")
    return number


def ids(value: object) -> tuple[int, ...]:
    """A list of hash ids, of any size, also as text. Raises ValueError with what is wrong."""
    if not isinstance(value, list):
        raise ValueError(f"{quote(value)} is not a list of ids")
    found = value if set(map(type, value)) <= {int} else [_id(item) for item in value]
    if found and min(found) < 0:
        raise ValueError(f"{quote(min(found))} is not an id; ids are whole numbers from 0")
    return tuple(found)


def _id(value: object) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) < 1000:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"{quote(value)} is not an id; ids are whole numbers from 0")


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _whole(value: float) -> int | None:
    return int(value) if value.is_integer() else None
