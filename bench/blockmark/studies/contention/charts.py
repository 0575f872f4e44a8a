"""Lines of the study of contention: a metric over a key of the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.plots.lines import Mark, Panel, Series, draw_lines
from blockmark.report.plots.looks import Look, looks
from blockmark.report.plots.style import short_name
from blockmark.runs.metrics import metric_of
from blockmark.runs.model import Run, Setting

MOST_PANELS = 3


@dataclass(frozen=True, slots=True)
class LinePanel:
    """A metric over a key of the settings, ascending; a line an implementation."""

    title: str
    axis: str
    address: str
    settings: tuple[Setting, ...]
    y_label: str
    # The places beyond which threads take turns; None where there is no such place.
    most_at_once: float | None = None


def draw_over(run: Run, panels: Sequence[LinePanel], title: str) -> Drawn | None:
    """Lines on logarithmic axes; None if no panel has a line of two points.

    Panels of one metric have one range, so that heights can be set side by side.
    """
    styles = looks(run.implementations)
    found = [(panel, points) for panel in panels if (points := _points(run, panel))][:MOST_PANELS]
    if not found:
        return None
    alike = len({panel.address for panel, _ in found}) == 1
    return draw_lines([_panel(*each, styles) for each in found], title, alike=alike)


def _points(run: Run, panel: LinePanel) -> Mapping[str, list[tuple[float, float]]]:
    """Points above zero by implementation, of those that have two or more."""
    points: dict[str, list[tuple[float, float]]] = {}
    for setting in panel.settings:
        place = float(setting.params[panel.axis])
        for cell in run.cells_of(setting.key):
            value = value_of(cell, panel.address)
            if value and value > 0 and place > 0:
                points.setdefault(cell.impl, []).append((place, value))
    return {name: sorted(found) for name, found in points.items() if len(found) > 1}


def _panel(
    panel: LinePanel, points: Mapping[str, list[tuple[float, float]]], styles: Mapping[str, Look]
) -> Panel:
    row = metric_of(panel.address)
    places = sorted({x for found in points.values() for x, _ in found})
    shade = None
    if panel.most_at_once is not None and places[-1] > panel.most_at_once:
        # What stands where threads share processors shows no overlap.
        first = min(place for place in places if place > panel.most_at_once)
        shade = (panel.most_at_once * first) ** 0.5, "take\nturns"
    return Panel(
        panel.title,
        tuple(
            # Between two points a line would say what nobody measured.
            Series(
                short_name(name),
                styles[name],
                tuple(Mark(x, y) for x, y in found),
                joined=len(found) > 2,
            )
            for name, found in points.items()
        ),
        row.unit if row is not None else "",
        x_label=panel.axis,
        y_label=panel.y_label,
        places=tuple(places),
        titles=tuple(f"{place:,g}" for place in places),
        shade_x=shade,
    )
