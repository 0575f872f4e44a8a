"""How a number is written: three significant digits, in a unit that suits the reader.

Pure text functions. Everything that prints a measured value, on a screen, in
Markdown or in a picture, writes it through here, so that 1.21 on the screen is
1.21 in the report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

ABSENT = "-"
UNAVAILABLE = "unavailable"
DIGITS = 3

# Beyond these a fixed-point number is harder to read than an exponent.
_LEAST_FIXED = 1e-6
_LEAST_EXPONENT = 1e12


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit to print in: `printed = value * factor`, followed by `label`."""

    label: str
    factor: float


_TIME = (Scale("ns", 1.0), Scale("us", 1e-3), Scale("ms", 1e-6), Scale("s", 1e-9))
_BYTES = (
    Scale("B", 1.0),
    Scale("KiB", 2.0**-10),
    Scale("MiB", 2.0**-20),
    Scale("GiB", 2.0**-30),
    Scale("TiB", 2.0**-40),
)
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?", re.ASCII)
_LADDERS = {"ns": _TIME, "bytes": _BYTES}


def scale_for(values: Iterable[float | None], unit: str, least_number: float = 1.0) -> Scale:
    """The one unit for a whole column: the largest in which none falls below `least_number`.

    One unit a column, because values of two units can't be compared by eye. Zeros
    and missing values have no say. A unit without a ladder is printed as it is.
    """
    if unit not in _LADDERS:
        return Scale(unit, 1.0)
    ladder = _LADDERS[unit]
    sizes = [abs(value) for value in values if value is not None and value != 0.0]
    least = min(sizes, default=0.0)
    best = ladder[0]
    for scale in ladder[1:]:
        if least * scale.factor >= least_number:
            best = scale
    return best


def place_of(value: float, digits: int = DIGITS) -> int:
    """Where `value` is rounded to, as `round` counts: 2 for 1.21, -2 for 12,300."""
    if value == 0.0 or not math.isfinite(value):
        return 0
    # Rounding can carry (9.996 is 10.0), so the exponent is read after rounding.
    exponent = int(f"{abs(value):.{digits - 1}e}".split("e")[1])
    return digits - 1 - exponent


def rounded_to(value: float, place: int) -> str:
    """`value` rounded and written at that place, with a comma at the thousands."""
    return f"{round(value, place):,.{max(0, place)}f}"


def significant(value: float | None, digits: int = DIGITS) -> str:
    """`value` in `digits` significant digits: 1.21, 17.9, 250, 12,300; `-` for None.

    Figures in front of the decimal point beyond `digits` are rounded to zeros.
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == 0.0:
        return "0"
    if not _LEAST_FIXED <= abs(value) < _LEAST_EXPONENT:
        return f"{value:.{digits - 1}e}"
    return rounded_to(value, place_of(value, digits))


def count(value: float | None) -> str:
    """A counted quantity: exact where it is whole, else three significant digits."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == int(value) and abs(value) < _LEAST_EXPONENT:
        return f"{int(value):,}"
    return significant(value)


def counted(number: float, thing: str, things: str = "") -> str:
    """`1 round`, `5 rounds`, `0.25 rounds`; `things` where an s is not enough."""
    return f"{count(number)} {thing if number == 1 else things or thing + 's'}"


def exact(value: float) -> str:
    """A number that somebody chose: whole with commas, else without zeros behind it, `0.25`."""
    if isinstance(value, int):
        return f"{value:,}"
    return count(value) if value == int(value) else f"{value:g}"


def short_count(value: float) -> str:
    """A number that somebody chose, where room is short: `64Ki`, `16Mi` for powers of 1,024."""
    for power, prefix in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
        if value and value % 1024**power == 0 and value < 10_000 * 1024**power:
            return f"{count(value / 1024**power)}{prefix}"
    return exact(value)


def interval(low: float | None, high: float | None, value: float | None = None) -> str:
    """`1.19-1.24`, both ends rounded where the value that they belong to is."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ABSENT
    place = place_of(high if value is None or value == 0.0 else value)
    joint = " to " if low < 0 else "-"
    return f"{rounded_to(low, place)}{joint}{rounded_to(high, place)}"


def percent(share: float | None) -> str:
    """A share of one as percent: 0.0024 is `0.240 %`."""
    if share is None or not math.isfinite(share):
        return ABSENT
    return f"{significant(share * 100)} %"


def times(ratio: float | None) -> str:
    """A ratio: `1.26x`."""
    if ratio is None or not math.isfinite(ratio):
        return ABSENT
    return f"{significant(ratio)}x"


def with_unit(value: float | None, unit: str) -> str:
    """One value alone, in the unit that suits it: `17.9 us`, `512 KiB`, `256`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    scale = scale_for([value], unit)
    text = significant(value * scale.factor)
    return f"{text} {scale.label}" if scale.label else text


def whole_size(size: float) -> str:
    """`4 MiB`: bytes that were chosen, so zeros behind the point would pretend a measurement."""
    figure, _, unit = with_unit(size, "bytes").partition(" ")
    return f"{figure.rstrip('0').rstrip('.') if '.' in figure and size >= 1 else figure} {unit}"


def same_words(text: str) -> str:
    """What is left of a text without its numbers."""
    return _NUMBER.sub("#", text)


def merged(reasons: list[str]) -> str:
    """Reasons of the same words as one, with a range where their numbers differ."""
    words = _NUMBER.split(reasons[0])
    text = words[0]
    columns = zip(*(_NUMBER.findall(reason) for reason in reasons), strict=True)
    for numbers, word in zip(columns, words[1:], strict=True):
        ends = sorted(numbers, key=lambda number: float(number.replace(",", "")))
        text += ends[0] if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"
        text += word
    return text
