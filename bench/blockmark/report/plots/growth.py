"""Cost against an axis: a panel for each question, a line for each implementation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from blockmark.report.facts.growth import DRAWN, TABLES, Line, Quantity, floors_of, lines_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import number
from blockmark.report.facts.sweep import Sweep, ranges
from blockmark.report.plots import lines
from blockmark.report.plots.lines import Mark, Series, draw_lines
from blockmark.report.plots.looks import Look, looks
from blockmark.report.plots.style import short_name
from blockmark.report.tables.along import quantity_mark
from blockmark.runs.model import CallStyle, MetricValue, Run

_CACHES = (("L1D", "l1d_bytes"), ("L2", "l2_bytes"), ("L3", "l3_bytes"))
_MOST_GAPS = 5


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a panel: its values at the places of the axis, None where there is none."""

    line: Line
    values: tuple[MetricValue | None, ...]
    floor: bool
    unclear: tuple[bool, ...] = ()
    """Whether a value is not told from its floor, or below it."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A quantity with the curves that have it; floors come last."""

    quantity: Quantity
    curves: tuple[Curve, ...]


def panels_of(run: Run, sweep: Sweep, styles: Sequence[CallStyle]) -> list[Panel]:
    """What is to be drawn for these call styles: quantities that two places or more have."""
    by_style = lines_of(run, sweep)
    members = [line for style in styles for line in by_style.get(style, [])]
    panels = []
    for quantity in DRAWN:
        known = {line.impl: _drawable(line.amounts(sweep, quantity)) for line in members}
        managers = [line for line in members if not line.control and any(known[line.impl])]
        if max((_points(known[line.impl]) for line in managers), default=0) < 2:
            continue
        # Every table takes memory, so what takes none is no floor of it.
        measured = [] if quantity is TABLES else [x for x in members if any(known[x.impl])]
        floors = floors_of(run, measured)
        panels.append(
            Panel(
                quantity,
                (
                    *(
                        Curve(line, known[line.impl], False, _unclear(run, sweep, line, quantity))
                        for line in managers
                    ),
                    *(Curve(line, known[line.impl], True) for line in floors),
                ),
            )
        )
    return panels


def _unclear(run: Run, sweep: Sweep, line: Line, quantity: Quantity) -> tuple[bool, ...]:
    return tuple(
        cell is not None and bool(quantity_mark(run, setting, cell, quantity))
        for setting, cell in zip(sweep.settings, line.cells, strict=True)
    )


def _drawable(values: Sequence[MetricValue | None]) -> tuple[MetricValue | None, ...]:
    """A logarithmic axis has no place for a zero."""
    return tuple(value if value is not None and value.value else None for value in values)


def _points(values: Sequence[MetricValue | None]) -> int:
    return sum(value is not None for value in values)


def gaps(sweep: Sweep, panels: Sequence[Panel]) -> str:
    """Where lines are broken or end early, and why: `No hash-map/cpp at 65,536 (unavailable).`

    Empty if every line has all its points.
    """
    titles = sweep.titles()
    told: dict[str, None] = {}
    holes: dict[tuple[str, str], list[str]] = {}
    for panel in panels:
        for curve in panel.curves:
            line = curve.line
            statuses = ["" if cell is None or cell.ok else cell.status for cell in line.cells]
            for status in dict.fromkeys(filter(None, statuses)):
                where = ranges(titles, [found == status for found in statuses])
                told[f"{line.impl} at {where} ({status})"] = None
            missing = [
                value is None and not status
                for value, status in zip(curve.values, statuses, strict=True)
            ]
            if any(missing):
                key = panel.quantity.label, ranges(titles, missing)
                holes.setdefault(key, []).append(line.impl)
    for (label, where), impls in holes.items():
        panel = next(panel for panel in panels if panel.quantity.label == label)
        whose = "" if len(impls) == len(panel.curves) else f" of {', '.join(impls)}"
        told[f"{label}{whose} at {where} (not measured)"] = None
    return no_such(list(told))


def no_such(told: Sequence[str]) -> str:
    """`No hash-map/cpp at 65,536 (timeout); 3 more.`; empty without any."""
    rest = [f"{len(told) - _MOST_GAPS} more"] if len(told) > _MOST_GAPS else []
    return f"No {'; '.join([*told[:_MOST_GAPS], *rest])}." if told else ""


def draw_growth(run: Run, sweep: Sweep, panels: Sequence[Panel], title: str) -> Drawn:
    """The picture. `panels` must not be empty."""
    styles = looks(run.implementations)
    caches = [(number(run.machine, fact) or 0.0, name) for name, fact in _CACHES]
    return draw_lines(
        [
            lines.Panel(
                panel.quantity.label,
                tuple(_series(sweep, curve, styles[curve.line.impl]) for curve in panel.curves),
                panel.quantity.unit,
                x_label=short_name(sweep.axis),
                places=sweep.values,
                titles=sweep.titles(),
                short=sweep.titles(short=True),
                logarithmic=sweep.is_logarithmic,
                # A table that does not fit a cache is slower.
                guides=tuple(caches) if panel.quantity is TABLES else (),
            )
            for panel in panels
        ],
        title,
    )


def _series(sweep: Sweep, curve: Curve, look: Look) -> Series:
    name = short_name(curve.line.impl)
    marks = []
    for place, (x, value) in enumerate(zip(sweep.values, curve.values, strict=True)):
        if value is None or value.value is None:
            marks.append(Mark(x, math.nan))
        else:
            unclear = curve.unclear[place] if curve.unclear else False
            marks.append(Mark(x, value.value, value.low, value.high, empty=unclear))
    label = f"{name} (floor)" if curve.floor else name
    return Series(label, look, tuple(marks), thin=curve.floor)
