"""Taking typed values out of JSON that nobody vouches for.

Each step down remembers where it is, so that an error can name the file and the
key, such as `cells[3].metrics.step_ns.value`.
"""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from blockmark.runs.errors import RunFileError, quote

_DAMAGED = "the file is damaged or was edited by hand; measure again or name another run"
_LARGEST_INTEGER = 2**63 - 1
# What a file may hold at most, so that no report of one takes minutes or overflows. Far beyond
# any time in ns, size in bytes and share; as many rounds as a run may have; a text is a name or
# a reason, and only an analysis or a command line is longer.
SMALLEST, LARGEST = 1e-30, 1e30
MOST_ROUNDS = 1000
MOST_LETTERS, MOST_PROSE = 2_000, 1_000_000
_Choice = TypeVar("_Choice", bound=str)


def read_json_object(path: Path) -> JsonObject:
    """The object that a file holds, with every number in it finite.

    Raises RunFileError if the file cannot be read, is empty, cut off, no JSON, not
    an object, or holds NaN, an infinity or what is beyond all bounds anywhere.
    """
    mend = "name a run folder or its run.json"
    try:
        mode = path.stat().st_mode
        # A device may never end, and a pipe can be read only once.
        if not stat.S_ISREG(mode):
            raise RunFileError(path, "not a regular file", mend)
        data = path.read_bytes()
    except FileNotFoundError:
        raise RunFileError(path, "no such file or folder", mend) from None
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else None
        raise RunFileError(path, f"cannot be read: {problem or error}", mend) from None
    if not data.strip():
        raise RunFileError(path, "the file is empty", _DAMAGED)
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        # At the end, or in a number or word that nothing follows, or inside a text.
        rest = error.doc[error.pos :]
        cut_off = re.fullmatch(r"\s*[\w.+-]*", rest) or error.msg.startswith("Unterminated")
        problem = "the file is cut off" if cut_off else f"not JSON ({error.msg})"
        where = f"line {error.lineno}, column {error.colno}"
        raise RunFileError(path, f"{problem} at {where}", _DAMAGED) from None
    except UnicodeDecodeError:
        raise RunFileError(path, "not a text file", mend) from None
    except (RecursionError, ValueError) as error:
        problem = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise RunFileError(path, f"not usable JSON: {problem}", _DAMAGED) from None
    if not isinstance(value, dict):
        raise RunFileError(path, f"holds {quote(value)}, not an object", mend)
    read = JsonObject(path, "", value)
    _check_bounds(read, value, "")
    return read


class JsonObject:
    """An object inside a file, with the file's path and the key that leads here.

    Every method raises RunFileError if the value is missing or of another kind.
    """

    def __init__(self, path: Path, key: str, content: Mapping[str, Any]) -> None:
        self.path = path
        self.key = key
        self.content = content

    def __contains__(self, name: str) -> bool:
        return self.content.get(name) is not None

    def fail(self, name: str | None, problem: str, mend: str = _DAMAGED) -> NoReturn:
        """Raise the error for the value of that name, or for this object."""
        raise RunFileError(self.path, problem, mend, self.key_of(name) or None)

    def key_of(self, name: str | None) -> str:
        """The way from the top of the file to that name in this object."""
        return ".".join(part for part in (self.key, name) if part)

    def get(self, name: str) -> Any:
        """Any value, but there must be one."""
        if name not in self.content:
            self.fail(name, "the key is missing")
        return self.content[name]

    def text(self, name: str, *, empty: bool = True, most: int = MOST_LETTERS) -> str:
        """A string of at most so many letters."""
        value = self.get(name)
        if not isinstance(value, str):
            self._wrong(name, value, "text")
        if len(value) > most:
            self.fail(name, f"has {len(value):,} letters; at most {most:,}")
        if not value and not empty:
            self.fail(name, "is empty")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.array(name)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self._wrong(f"{name}[{index}]", value, "text")
        return tuple(values)

    def choice(self, name: str, choices: Sequence[_Choice]) -> _Choice:
        """One of a few words."""
        value = self.text(name)
        found = next((choice for choice in choices if value == choice), None)
        if found is None:
            self.fail(name, f"{quote(value)} is none of {', '.join(choices)}")
        return found

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.get(name)
        if not isinstance(value, bool):
            self._wrong(name, value, "true or false")
        return value

    def integer(self, name: str, least: int = 0) -> int:
        """A whole number that fits 64 bits."""
        return self._integer(name, self.get(name), least)

    def integers(self, name: str, least: int = 0) -> tuple[int, ...]:
        """A list of whole numbers that fit 64 bits."""
        items = enumerate(self.array(name))
        return tuple(self._integer(f"{name}[{index}]", item, least) for index, item in items)

    def number(self, name: str) -> float:
        """A number that is not negative."""
        return self._number(name, self.get(name))

    def optional_number(self, name: str) -> float | None:
        """A number that is not negative, or null, or nothing."""
        value = self.content.get(name)
        return None if value is None else self._number(name, value)

    def numbers(self, name: str) -> tuple[float, ...]:
        """A list of numbers that are not negative, one a round."""
        items = self.array(name)
        if len(items) > MOST_ROUNDS:
            self.fail(name, f"has {len(items):,} numbers; at most {MOST_ROUNDS:,}")
        return tuple(self._number(f"{name}[{index}]", item) for index, item in enumerate(items))

    def array(self, name: str) -> Sequence[Any]:
        """A list."""
        value = self.get(name)
        if not isinstance(value, list):
            self._wrong(name, value, "a list")
        return value

    def child(self, name: str) -> JsonObject:
        """An object."""
        return self._object(name, self.get(name))

    def children(self, name: str) -> Iterator[JsonObject]:
        """A list of objects."""
        for index, item in enumerate(self.array(name)):
            yield self._object(f"{name}[{index}]", item)

    def members(self, name: str) -> Iterator[tuple[str, JsonObject]]:
        """An object whose members are objects."""
        inner = self.child(name)
        for member, value in inner.content.items():
            yield member, inner._object(member, value)

    def facts(self, name: str) -> Mapping[str, Any]:
        """An object of text, numbers, true, false and null, without lists or objects."""
        inner = self.child(name)
        for fact, value in inner.content.items():
            if isinstance(value, list | dict):
                inner._wrong(fact, value, "one value")
        return inner.content

    def _object(self, name: str, value: Any) -> JsonObject:
        if not isinstance(value, dict):
            self._wrong(name, value, "an object")
        return JsonObject(self.path, self.key_of(name), value)

    def _integer(self, name: str, value: Any, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self._wrong(name, value, "a whole number")
        if not least <= value <= _LARGEST_INTEGER:
            self.fail(name, f"{quote(value)} is out of range")
        return value

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._wrong(name, value, "a number")
        try:
            number = float(value)
        except OverflowError:
            self.fail(name, f"{quote(value)} is out of range")
        if number < 0:
            self.fail(name, f"{quote(value)} is negative")
        return number

    def _wrong(self, name: str, value: Any, wanted: str) -> NoReturn:
        self.fail(name, f"{quote(value)} is not {wanted}")


def _check_bounds(top: JsonObject, value: Any, key: str) -> None:
    """Every number and text of a file, whatever its key: those that no reader asks for, too."""
    if isinstance(value, dict):
        for name, item in value.items():
            _check_bounds(top, item, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_bounds(top, item, f"{key}[{index}]")
    elif isinstance(value, str):
        if len(value) > MOST_PROSE:
            top.fail(key, f"has {len(value):,} letters; at most {MOST_PROSE:,}")
    elif isinstance(value, float):
        if not math.isfinite(value):
            top.fail(key, f"{value} is not a number that a run may hold")
        if value and not SMALLEST <= abs(value) <= LARGEST:
            top.fail(key, f"{value} is out of range")
    elif isinstance(value, int) and abs(value) > 2 * _LARGEST_INTEGER:
        top.fail(key, f"{quote(value)} is out of range")
