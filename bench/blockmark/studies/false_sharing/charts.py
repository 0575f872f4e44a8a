"""The picture of false sharing: how much longer a write takes beside those of others."""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.numbers import significant
from blockmark.report.order import value_of
from blockmark.report.picture import Drawn
from blockmark.report.plots.looks import FLOOR, looks
from blockmark.report.plots.style import WIDTH, drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks
from blockmark.runs.model import Run, Setting


def draw_bars(run: Run, setting: Setting, addresses: Sequence[str], title: str) -> Drawn | None:
    """A bar an implementation and metric, on an axis of ratios; None without a value."""
    cells = [cell for cell in run.cells_of(setting.key) if cell.ok]
    known = [(cell, value_of(cell, addresses[0])) for cell in cells]
    rows = [(cell, value) for cell, value in known if value]
    if not rows:
        return None
    height = 0.9 + 0.27 * len(rows)
    figure = new_figure(height, title)
    inside = (3.1 / WIDTH, 0.45 / height, 5.0 / WIDTH, (height - 0.85) / height)
    axes = figure.add_axes(inside)
    styles = looks(run.implementations)
    for place, (cell, value) in enumerate(reversed(rows)):
        found = cell.metric(addresses[0])
        axes.barh(place, value - 1, left=1, color=styles[cell.impl].color, height=0.62)
        if found is not None and found.low and found.high:
            axes.hlines(place, found.low, found.high, colors=FLOOR, linewidth=1.2)
        axes.annotate(
            f"{significant(value, 2)}x",
            (max(value, 1.0), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            size=8,
        )
    axes.set_xscale("log")
    axes.set_xlim(0.8, 1.6 * max(2.0, *(value for _, value in rows)))
    axes.axvline(1, color=FLOOR, linewidth=0.9)
    axes.set_yticks(range(len(rows)), [short_name(cell.impl) for cell, _ in reversed(rows)])
    axes.set_xlabel("time of a write with all threads / with one alone")
    log_ticks(axes.xaxis)
    return drawn(figure)
