"""Damage of every kind to a file: in its bytes, in its words and numbers, in its structure."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

_NUMBERS = (
    b"0", b"-1", b"1", b"-0", b"inf", b"-inf", b"nan", b"Infinity", b"1e400", b"1e-400", b"1e308",
    b"9" * 400, b"9" * 5000, b"0x" + b"f" * 6000, b"2147483648", b"4294967296",
    b"-9223372036854775809",
    b"18446744073709551616", b"0.5", b"1_000", b"true", b"null",
)  # fmt: skip
_TEXTS = (
    b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n\n", b"'", b'"', b'"""', b"[",
    b"]", b"{", b"}", b",",
    b"=", b":", b"#", b"[a.b.c]", b"[[x]]", b"../../etc/passwd", b"%s%n{}", b"[bold]x[/bold]",
    b"\x1b[31m",
    "\u202e\u2028\U0001f600".encode(), b"a" * 40_000, b"[" * 50_000, b"{" * 20_000,
    b"a = " + b"[" * 5_000,
    b"x." * 5_000 + b"y = 1\n", b"/dev/zero", b"key = 1979-05-27T07:32:00Z\n", b"\\u0000",
    b"\\ud800",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, 2**31, 2**63, 2**64, 10**400, -(10**30), "",
    "x",
    "a" * 40_000, "\0", "\ud800", "nan", [], {}, [[]], [None], {"": None}, [0] * 5_000, "-1",
    "1e9", "2-1",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four kinds of damage."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        data = rng.choice(_KINDS)(data, rng)
    return data


def damaged_json(data: bytes, rng: random.Random) -> bytes:
    """JSON that is still JSON, but for some values, keys or items of it."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return damaged(data, rng)
    for _ in range(rng.choice([1, 1, 2, 5])):
        places = _places(content, rng)
        if not places:
            break
        holder, name = rng.choice(places)
        kind = rng.randrange(5)
        if kind == 0:
            del holder[name]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(name, holder[name])
        elif kind == 2 and isinstance(holder, dict):
            holder[rng.choice(["", "x", name * 2, name.upper()])] = holder.pop(name)
        elif kind == 3:
            other, its = rng.choice(places)
            holder[name] = other[its] if its in other or isinstance(its, int) else None
        else:
            holder[name] = rng.choice(_VALUES)
    try:
        return json.dumps(content).encode()
    except (ValueError, RecursionError):  # it holds itself now
        return damaged(data, rng)


def _places(content: Any, rng: random.Random) -> list[tuple[Any, Any]]:
    """Some holders with a name or number in each: a walk from the top, many times."""
    found = []
    for _ in range(12):
        here = content
        while isinstance(here, dict | list) and here:
            name = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
            place = (here, name)
            here = here[name]
            if rng.random() < 0.15 or not (isinstance(here, dict | list) and here):
                found.append(place)
                break
    return [(h, n) for h, n in found if (n in h if isinstance(h, dict) else n < len(h))]


def _flip(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return b"\0"
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _part(data: bytes, rng: random.Random) -> tuple[int, int]:
    first = rng.randrange(len(data) + 1)
    return first, min(len(data), first + int(2 ** rng.uniform(0, 12)))


def _leave_out(data: bytes, rng: random.Random) -> bytes:
    first, end = _part(data, rng)
    return data[:first] + data[end:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    first, end = _part(data, rng)
    return data[:end] + data[first:end] * rng.choice([1, 2, 50]) + data[end:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_TEXTS + _NUMBERS) + data[at:]


def _other_number(data: bytes, rng: random.Random) -> bytes:
    found = [match.span() for match in _NUMBER.finditer(data[:200_000])]
    if not found:
        return _insert(data, rng)
    first, end = rng.choice(found)
    return data[:first] + rng.choice(_NUMBERS) + data[end:]


def _swap_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


_KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _cut, _leave_out, _repeat, _insert, _insert, _other_number, _other_number,
    _other_number,
    _swap_lines,
)  # fmt: skip
