"""Names at logarithmic axes: 1, 2, 5, 10 where few decades are, always two of them or more."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from blockmark.report.facts.numbers import significant, with_unit

_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))


def log_ticks(axis: Any, *, most: int = 6, words: Callable[[float], str] | None = None) -> None:
    """Ticks with names at an axis whose limits are set, at most so many if three will do."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    name = words or _plain
    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(FixedLocator(places(low, high, most)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: name(value)))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(which="minor", length=0)


def places(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high: the densest row of them that has at most `most`.

    Two or more wherever a row has two; of many decades every second or third.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    rows = [[step * 10.0**power for power in powers for step in steps] for steps in _STEPS]
    kept = [[one for one in row if low <= one <= high] for row in rows]
    fitting = [row for row in kept if 2 <= len(row) <= most]
    if fitting:
        return fitting[-1]
    if len(kept[0]) > most:
        return kept[0][:: math.ceil(len(kept[0]) / most)]
    return kept[-1]


def _plain(value: float) -> str:
    """`1`, `0.3`, `10,000`: a tick is a round number, so that no zeros behind it are needed."""
    text = significant(value, 2)
    return text.rstrip("0").rstrip(".") if "." in text else text


def time_word(value: float) -> str:
    """`300 ns`, `1 us`: for axes of times over many decades."""
    number, _, unit = with_unit(value, "ns").partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def percent_word(share: float) -> str:
    """`30 %` of a share of one."""
    return f"{_plain(share * 100)} %"


def million_word(value: float) -> str:
    """`30 M`."""
    return f"{_plain(value / 1e6)} M"
