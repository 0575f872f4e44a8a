"""Two runs, cell by cell: what was before stands at 1, and a line leads to what is now.

All panels have the same axis of ratios, so that a long line is a large change wherever it
is; on axes of costs, which span decades, a change of ten per cent could not be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from blockmark.report.facts.picture import Drawn
from blockmark.report.plots.looks import FLOOR, Look, looks
from blockmark.report.plots.rows import (
    Line,
    add_legend,
    arrow,
    beside,
    in_place_of_mark,
    new_frame,
)
from blockmark.report.plots.style import BAD, INK, drawn, panel_title
from blockmark.report.tables.check import change
from blockmark.runs.metrics import label_of
from blockmark.runs.model import Cell, Setting
from blockmark.verdict.compare import CellChange, RunComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 4
_PALE = 0.4
# The axis reaches at least this far to both sides, and not further than that.
_LEAST_REACH, _MOST_REACH = 1.12, 4.0
_TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0)
# Marks closer than this share of the axis would run into each other's figures.
_CLOSEST = 0.12


def draw_before_after(comparison: RunComparison, setting: Setting, title: str) -> Drawn | None:
    """The picture of a setting: the first metrics of the comparison, at most four.

    None if no metric has a ratio above zero. Cells that cannot be compared have a word in
    the place of their marks.
    """
    rows = [row for row in comparison.rows if row.cell.setting == setting.key]
    kept = [
        metric
        for metric in comparison.metrics
        if any(row.metric == metric and _ratio(row) for row in rows)
    ][:_MOST_PANELS]
    if not kept:
        return None
    rows = [row for row in rows if row.metric in kept]
    now = comparison.now
    shown = {row.cell.impl for row in rows}
    cells: Sequence[Cell] = [cell for cell in now.cells_of(setting.key) if cell.impl in shown]
    frame = new_frame(now, cells, len(kept), title)
    styles = looks(now.implementations)
    reach = _reach(rows)
    for axes, metric in zip(frame.panels, kept, strict=True):
        _set_up(axes, frame.lines, reach, label_of(metric))
        of_metric = {row.cell.impl: row for row in rows if row.metric == metric}
        for line in frame.lines:
            row = None if line.cell is None else of_metric.get(line.cell.impl)
            if row is not None:
                _pair(axes, line, row, reach, styles[row.cell.impl])
    add_legend(frame, [info for info in now.implementations if info.name in shown])
    return drawn(frame.figure)


def _ratio(row: CellChange) -> float | None:
    """The ratio if it can stand on a logarithmic axis."""
    return (row.ratio.value or None) if row.ratio is not None else None


def _reach(rows: Sequence[CellChange]) -> float:
    """How far the axis goes from 1 to either side, as a factor."""
    ratios = [ratio for row in rows if (ratio := _ratio(row))]
    furthest = max(max(ratio, 1.0 / ratio) for ratio in ratios)
    return min(_MOST_REACH, max(_LEAST_REACH, furthest * 1.05))


def _set_up(axes: Axes, lines: Sequence[Line], reach: float, name: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    panel_title(axes, name)
    axes.set_xscale("log")
    # The change stands on the right of the marks, so there is room for it.
    low, high = 1.0 / reach, reach**1.9
    axes.set_xlim(low, high)
    axes.set_ylim(lines[-1].y - 0.7, lines[0].y + 0.6)
    axes.set_yticks([])
    ticks: list[float] = []
    for tick in sorted(_TICKS, key=lambda tick: max(tick, 1.0 / tick)):
        apart = (abs(_place(tick, reach) - _place(other, reach)) for other in ticks)
        if 1.0 / reach <= tick <= reach and min(apart, default=1.0) >= _CLOSEST:
            ticks.append(tick)
    axes.xaxis.set_major_locator(FixedLocator(sorted(ticks)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.tick_params(axis="x", length=3)
    axes.grid(True, axis="x", which="major")
    axes.axvline(1.0, color=FLOOR, linewidth=1, zorder=1)
    axes.spines["left"].set_visible(False)


def _place(ratio: float, reach: float) -> float:
    """Where a ratio stands on the axis, from 0 at its left end to 1."""
    from math import log

    return (log(ratio) / log(reach) + 1.0) / 2.9


def _pair(axes: Axes, line: Line, row: CellChange, reach: float, look: Look) -> None:
    if row.ratio is None:
        in_place_of_mark(axes, line.y, "incomparable", BAD)
        return
    ratio = _ratio(row)
    if ratio is None:
        in_place_of_mark(axes, line.y, f"{row.before.value:g} -> {row.now.value:g}", INK)
        return
    told = not row.control and row.reading not in ("same", "unclear")
    alpha = 1.0 if told else _PALE
    # Beyond the axis an arrow stands at its end; the figures beside it stay true.
    at = min(max(ratio, 1.0 / reach), reach)
    marker = look.marker if at == ratio else ">" if ratio > at else "<"
    if row.ratio.low is not None and row.ratio.high is not None:
        ends = [min(max(end, 1.0 / reach), reach) for end in (row.ratio.low, row.ratio.high)]
        axes.plot(ends, [line.y] * 2, "-", color=FLOOR, linewidth=0.9, alpha=0.6, zorder=2)
        if row.ratio.low < ends[0]:
            arrow(axes, ends[0], line.y, FLOOR, right=False)
        if row.ratio.high > ends[1]:
            arrow(axes, ends[1], line.y, FLOOR, right=True)
    axes.plot([1.0, at], [line.y] * 2, color=look.color, linewidth=2.2, alpha=alpha, zorder=3)
    for x, face, shape in ((1.0, "white", look.marker), (at, look.color, marker)):
        axes.plot(
            [x],
            [line.y],
            shape,
            color=look.color,
            markerfacecolor=face,
            markersize=6,
            alpha=alpha,
            zorder=4,
        )
    far = max(1.0, at, min(row.ratio.high or 0.0, reach))
    beside(axes, far, line.y, change(ratio), INK if told else FLOOR)
