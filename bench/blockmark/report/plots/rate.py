"""Share of one core against step rate, as paced loops met it, and where each is full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockmark.report.facts.growth import Line, lines_of
from blockmark.report.facts.numbers import significant
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.rates import highest_rate, is_disturbed, is_saturated
from blockmark.report.facts.sweep import Sweep, ranges
from blockmark.report.plots.growth import no_such
from blockmark.report.plots.lines import Mark, Panel, Series, draw_lines
from blockmark.report.plots.looks import Look, looks
from blockmark.report.plots.style import short_name
from blockmark.runs.model import MetricValue, Run

_FULL = 1.0


@dataclass(frozen=True, slots=True)
class Curve:
    """One implementation: what it held, where it fell behind, and how far it goes.

    `held`, `saturated` and `disturbed` are (rate, busy share) ascending; shares are above
    zero. `disturbed` loops fell behind through no fault of the implementation.
    `highest` is in steps a second and may be unknown.
    """

    line: Line
    held: tuple[tuple[float, MetricValue], ...]
    saturated: tuple[tuple[float, float], ...]
    disturbed: tuple[tuple[float, float], ...]
    highest: float | None

    @property
    def label(self) -> str:
        """`flat-stack/cpp  holds 1,060,000/s`."""
        name = short_name(self.line.impl)
        return name if self.highest is None else f"{name}  holds {significant(self.highest)}/s"


def curves_of(run: Run, sweep: Sweep) -> list[Curve]:
    """Those with a share above zero at one rate or more, dearest first, controls last."""
    curves = []
    for line in (line for lines in lines_of(run, sweep).values() for line in lines):
        held: list[tuple[float, MetricValue]] = []
        saturated: list[tuple[float, float]] = []
        disturbed: list[tuple[float, float]] = []
        for rate, cell in zip(sweep.values, line.cells, strict=True):
            busy = cell.metric("busy_share") if cell is not None and cell.ok else None
            if cell is None or busy is None or not busy.value:
                continue
            if is_saturated(cell):
                saturated.append((rate, busy.value))
            elif is_disturbed(cell):
                disturbed.append((rate, busy.value))
            else:
                held.append((rate, busy))
        if held or saturated or disturbed:
            curves.append(
                Curve(
                    line,
                    tuple(held),
                    tuple(saturated),
                    tuple(disturbed),
                    highest_rate(line) or None,
                )
            )
    return sorted(curves, key=lambda curve: (curve.line.control, _cost(curve)))


def gaps(sweep: Sweep, curves: Sequence[Curve]) -> str:
    """Which points are missing: `No hash-map/cpp at 50,000 (timeout).`; may be empty."""
    titles = sweep.titles()
    told = []
    for curve in curves:
        drawn = {rate for rate, _ in (*curve.held, *curve.saturated, *curve.disturbed)}
        missing: dict[str, list[bool]] = {}
        for place, (rate, cell) in enumerate(zip(sweep.values, curve.line.cells, strict=True)):
            if rate not in drawn:
                why = "not measured" if cell is None or cell.ok else cell.status
                missing.setdefault(why, [False] * len(titles))[place] = True
        told += [
            f"{curve.line.impl} at {ranges(titles, places)} ({why})"
            for why, places in missing.items()
        ]
    return no_such(told)


def draw_rates(run: Run, sweep: Sweep, curves: Sequence[Curve], title: str) -> Drawn:
    """The picture. `curves` must not be empty."""
    styles = looks(run.implementations)
    panel = Panel(
        "",
        tuple(_series(curve, styles[curve.line.impl]) for curve in curves),
        "share",
        x_label="scheduler steps per second",
        y_label="share of one core",
        places=sweep.values,
        shade_y=(_FULL, "more than one core"),
    )
    return draw_lines([panel], title, pale="pale: disturbed, fell behind")


def _cost(curve: Curve) -> float:
    """What orders curves: the rate that is held, else the rate at which a core would be full."""
    if curve.highest:
        return curve.highest
    held = ((rate, busy.value or _FULL) for rate, busy in curve.held)
    rate, share = next(iter((*held, *curve.disturbed, *curve.saturated)))
    return rate / share


def _series(curve: Curve, look: Look) -> Series:
    """The points that were held, and a line on to where the core is full."""
    marks = [Mark(rate, busy.value or 0.0, busy.low, busy.high) for rate, busy in curve.held]
    if curve.highest:
        marks.append(Mark(curve.highest, _FULL))
    beside = tuple(Mark(rate, share) for rate, share in curve.disturbed)
    return Series(curve.label, look, tuple(marks), beside, thin=curve.line.control)
