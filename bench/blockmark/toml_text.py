"""TOML that nobody vouches for: one reader for scenarios, waivers, claims and mutants.

Whatever a text holds, the answer is a table of bounded values or one error of one line.
"""

from __future__ import annotations

import math
import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST = 2**63 - 1
_DEEPEST = 16
_MOST_BYTES = 1 << 20
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_CHAIN = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*+{_PART}){{{2 * _DEEPEST}}}", re.ASCII)


class TomlError(ValueError):
    """A text that is no usable TOML; one line, without the file's name."""


def read_toml(path: Path) -> dict[str, Any]:
    """The table of a file, with or without a byte-order mark. Raises TomlError.

    Whole numbers fit 64 bits, others are finite, and tables are nested less than 16 deep.
    """
    try:
        if not path.is_file():
            raise TomlError(
                "cannot be read: not a regular file" if path.exists() else "no such file"
            )
        if path.stat().st_size > _MOST_BYTES:
            raise TomlError(f"is larger than {_MOST_BYTES >> 20} MiB; this is no such file")
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise TomlError("cannot be read: not UTF-8 text") from None
    except OSError as error:
        raise TomlError(f"cannot be read: {error.strerror or error}") from None
    return parse_toml(text)


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a text; bounds as for a file. Raises TomlError."""
    # A mark inside a text would be told as a letter that nobody sees.
    text = text.removeprefix("\ufeff")
    if len(text) > _MOST_BYTES:
        raise TomlError(f"is larger than {_MOST_BYTES >> 20} MiB; this is no such file")
    if _CHAIN.search(text):
        # tomllib takes a time for a dotted key that grows with the square of its parts.
        raise TomlError("nested too deep: a key of many parts between dots")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        lines = text.split("\n")
        end = f"at line {len(lines)}, column {len(lines[-1]) + 1}"
        problem = str(error).replace("at end of document", end)
        raise TomlError(f"TOML syntax error: {problem}") from None
    except RecursionError:
        raise TomlError("nested too deep") from None
    except ValueError as error:  # a number of thousands of digits, a day that there is not
        raise TomlError(f"TOML syntax error: {error}") from None
    _check(table, "", 0)
    return table


def _check(value: Any, key: str, depth: int) -> None:
    if depth >= _DEEPEST:
        raise TomlError(f"{key[:40]}: nested too deep; at most {_DEEPEST} tables and lists")
    if isinstance(value, dict):
        for name, item in value.items():
            _check(item, f"{key}.{name}" if key else name, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, key, depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise TomlError(f"{key[:80]} = {value} must be a finite number")
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        raise TomlError(f"{key[:80]} is a number that does not fit 64 bits")
