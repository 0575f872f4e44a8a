"""A scenario's settings taken together: along which axis they lie, and what each is called."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from blockmark.report.facts.numbers import exact, short_count
from blockmark.runs.model import Run, Setting

# So many settings of a scenario are shown one by one; of more a reader sees only a heap.
MOST_SHOWN = 3
# The fewest points that make a line worth drawing.
_FEWEST_POINTS = 3
# From this factor between an axis' ends it is looked at in ratios.
_WIDE = 4.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """The settings of one scenario, ascending where they lie on one axis of numbers.

    `values` are their places on that axis, or empty where there is no such axis.
    """

    scenario: str
    axes: tuple[str, ...]
    settings: tuple[Setting, ...]
    values: tuple[float, ...] = ()

    @property
    def axis(self) -> str:
        """`total_blocks`, or all axes: `block_size, pool`."""
        return ", ".join(self.axes)

    @property
    def is_long(self) -> bool:
        """Whether there are too many settings to show each of them by itself."""
        return len(self.settings) > MOST_SHOWN

    @property
    def is_line(self) -> bool:
        """Whether a cost can be drawn against the axis."""
        return len(self.values) >= _FEWEST_POINTS

    @property
    def is_logarithmic(self) -> bool:
        """Whether equal ratios on the axis should be equal distances."""
        return (
            bool(self.values) and self.values[0] > 0 and self.values[-1] >= _WIDE * self.values[0]
        )

    def titles(self, *, short: bool = False) -> tuple[str, ...]:
        """What each setting is called: `65,536`, if `short` `64Ki`; of two axes `16, fresh`."""
        return tuple(
            ", ".join(_text(setting.params.get(axis, "default"), short) for axis in self.axes)
            for setting in self.settings
        )


def sweeps(run: Run) -> tuple[Sweep, ...]:
    """Each scenario of the run that has settings, in the order of the run."""
    groups: dict[str, list[Setting]] = {}
    for setting in run.settings:
        groups.setdefault(setting.scenario, []).append(setting)
    return tuple(_sweep(run, scenario, settings) for scenario, settings in groups.items())


def in_run_order(run: Run, sweep: Sweep) -> list[Setting]:
    """The settings as they were run, which is how their author listed them."""
    return [setting for setting in run.settings if setting.scenario == sweep.scenario]


def _sweep(run: Run, scenario: str, settings: Sequence[Setting]) -> Sweep:
    axes = run.axes(scenario)
    if len(axes) != 1:
        return Sweep(scenario, axes, tuple(settings))
    places = [_number(setting.params.get(axes[0])) for setting in settings]
    known = [
        (place, setting)
        for place, setting in zip(places, settings, strict=True)
        if place is not None
    ]
    if len(known) < len(settings) or len({place for place, _ in known}) < len(known):
        return Sweep(scenario, axes, tuple(settings))
    known.sort(key=lambda pair: pair[0])
    ordered = tuple(setting for _, setting in known)
    return Sweep(scenario, axes, ordered, tuple(place for place, _ in known))


def ranges(titles: Sequence[str], chosen: Sequence[bool]) -> str:
    """Which of the titles are chosen, neighbours as a range: `16, 64 to 256`."""
    parts = []
    for taken, group in itertools.groupby(zip(titles, chosen, strict=True), lambda pair: pair[1]):
        names = [title for title, _ in group]
        if taken:
            parts.append(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}")
    return ", ".join(parts)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _text(value: object, short: bool) -> str:
    number = _number(value)
    if number is None:
        return str(value)
    return short_count(number) if short else exact(number)
