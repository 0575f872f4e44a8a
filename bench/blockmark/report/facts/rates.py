"""Whether a paced loop kept up with its rate, and which settings differ in the rate."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping

from blockmark.report.facts.growth import Line
from blockmark.report.facts.numbers import exact
from blockmark.report.facts.order import value_of
from blockmark.report.facts.setting import number
from blockmark.report.facts.sweep import Sweep
from blockmark.runs.metrics import METRICS
from blockmark.runs.model import Cell, Run, Setting, canonical

AXIS = "step_rate"
# A loop that reaches a smaller share of its intended steps is saturated.
HELD = 0.99
SATURATED = "saturated"


def is_of_rates(sweep: Sweep) -> bool:
    """Whether the settings differ in the step rate alone, on which no single cost depends."""
    return sweep.axes == (AXIS,)


def is_paced(cell: Cell) -> bool:
    """Whether a paced loop was asked of the cell, even if its values are unavailable."""
    return cell.ok and any(
        name in METRICS and METRICS[name].model == "rate" for name in cell.metrics
    )


def is_saturated(cell: Cell) -> bool:
    """Whether the loop fell behind its rate and no short loop held it; false if not known."""
    asked, highest = number(cell.params, AXIS), value_of(cell, "highest_rate")
    return _is_behind(cell) and (highest is None or asked is None or highest < asked)


def is_disturbed(cell: Cell) -> bool:
    """Whether the loop fell behind a rate that short loops held.

    That is not the implementation's doing: the loop was pre-empted, or what ran between
    its steps left no time.
    """
    return _is_behind(cell) and not is_saturated(cell)


def _is_behind(cell: Cell) -> bool:
    asked, reached = number(cell.params, AXIS), value_of(cell, "achieved_rate")
    return asked is not None and reached is not None and reached < HELD * asked


def highest_rate(line: Line) -> float | None:
    """Steps a second that the implementation holds: the median of what the settings found.

    The search does not depend on the setting's own rate, so each is another try.
    """
    found = [
        rate
        for cell in line.cells
        if cell is not None and (rate := value_of(cell, "highest_rate")) is not None
    ]
    return statistics.median(found) if found else None


def rate_sweeps(run: Run, sweep: Sweep) -> list[tuple[str, Sweep]]:
    """The settings of a scenario that differ in the step rate alone, at two rates or more.

    Each with what else tells them from the others, `block_size 16`, which is empty if
    the rate is the only axis. Empty if no paced loop was measured.
    """
    if AXIS not in sweep.axes:
        return []
    groups: dict[str, list[tuple[float, Setting]]] = {}
    for setting in sweep.settings:
        rate = number(setting.params, AXIS)
        if rate is not None and any(is_paced(cell) for cell in run.cells_of(setting.key)):
            others = canonical({k: v for k, v in setting.params.items() if k != AXIS})
            groups.setdefault(others, []).append((rate, setting))
    found = []
    for members in groups.values():
        members.sort(key=lambda pair: pair[0])
        rates, settings = zip(*members, strict=True)
        if len(settings) > 1:
            name = _others(sweep.axes, settings[0].params)
            found.append((name, Sweep(sweep.scenario, (AXIS,), settings, rates)))
    return found


def _others(axes: Iterable[str], params: Mapping[str, object]) -> str:
    parts = []
    for axis in axes:
        value = params.get(axis, "default")
        if axis != AXIS:
            parts.append(f"{axis} {exact(value) if isinstance(value, int | float) else value}")
    return ", ".join(parts)
