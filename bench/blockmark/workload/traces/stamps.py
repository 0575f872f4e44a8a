"""Times of rows, as whole nanoseconds: exact, where a float of epoch seconds is not."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache

from .format import SECOND
from .known import quote

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[.,](\d{1,18}))?\s?(Z|UTC|[+-]\d\d:?\d\d)?", re.ASCII
)
_NUMBER = re.compile(r"[+-]?\d{1,25}(\.\d{0,25})?([eE][+-]?\d{1,2})?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A number this large is a time since 1970 in nanoseconds, microseconds or
# milliseconds: as seconds it would lie thousands of years ahead.
_EPOCH_UNITS = ((10**17, 1), (10**14, 1_000), (10**11, 1_000_000))
_LARGEST = 10**20


def to_ns(value: object, unit_ns: int) -> int:
    """A stamp as nanoseconds from some origin of the trace's own.

    Takes numbers, as such or as text, in units of `unit_ns` nanoseconds (epoch
    nanoseconds, microseconds and milliseconds are known by their size), and
    `2023-11-16 18:17:03.9799600`, with or without an offset (without one it is UTC;
    digits past the ninth are dropped). Raises ValueError with what is wrong.
    """
    if isinstance(value, str):
        text = value.strip()
        if found := _ISO.fullmatch(text):
            return _calendar_ns(found)
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"{quote(value)} is no time")
        number: int | Decimal = int(text) if text.isdecimal() else Decimal(text)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{quote(value)} is no time")
    elif isinstance(value, int):
        number = value
    elif math.isfinite(value):
        number = Decimal(repr(value))
    else:
        raise ValueError(f"{quote(value)} is no time")
    size = -number if number < 0 else number
    if size >= _LARGEST:
        raise ValueError(f"{quote(value)} is no time: too large")
    for least, epoch_unit in _EPOCH_UNITS:
        if size >= least:
            unit_ns = epoch_unit
            break
    return int(number * unit_ns)


def _calendar_ns(found: re.Match[str]) -> int:
    second, fraction, offset = found.groups()
    try:
        whole = _second_of(second)
    except ValueError as error:
        raise ValueError(f"{quote(found.group())} is no time: {error}") from None
    ns = int(fraction[:9].ljust(9, "0")) if fraction else 0
    if offset and offset[0] in "+-":
        digits = offset[1:].replace(":", "")
        seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        whole -= seconds if offset[0] == "+" else -seconds
    return whole * SECOND + ns


@lru_cache(maxsize=16)
def _second_of(text: str) -> int:
    """Seconds since 1970; neighbouring rows share them, hence the cache."""
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH
    return moment.days * 86400 + moment.seconds
