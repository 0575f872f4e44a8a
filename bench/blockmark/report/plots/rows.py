"""Rows of implementations beside panels of values on logarithmic axes.

The form of several pictures: a row is a cell, a panel a metric, and the cheap is on the left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark.report.facts.floors import floor_mark
from blockmark.report.facts.numbers import Scale, scale_for, significant
from blockmark.report.facts.order import CALL_STYLES, by_call_style, value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.plots.looks import FLOOR, Look, looks, tier_markers
from blockmark.report.plots.style import (
    BAD,
    FAINT,
    INK,
    WIDTH,
    drawn,
    new_figure,
    panel_title,
    short_name,
)
from blockmark.report.plots.ticks import log_ticks
from blockmark.runs.metrics import metric_of
from blockmark.runs.model import Cell, ImplementationInfo, MetricValue, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What a metric is called above its panel
Panels = Mapping[str, str]

_FLOORS = ("raw-array", "null")
_ROW = 0.25
# Room for names, in inches: what the longest takes, in between.
_LEAST_NAMES, _MOST_NAMES = 1.5, 3.1
_LETTER, _INDENT = 0.066, 0.3
# Room above the panels for the picture's title and two lines of their own.
_HEAD = 0.8
_FOOT = 0.72


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the picture: a cell, or the title of a group (`cell` is None)."""

    y: float
    text: str
    cell: Cell | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """An empty picture: `panels` are the axes, and `left` where they begin."""

    figure: Figure
    panels: tuple[Axes, ...]
    lines: tuple[Line, ...]
    left: float
    height: float


def draw_rows(run: Run, cells: Sequence[Cell], panels: Panels, title: str) -> Drawn | None:
    """The cells' values in the panels that have any; None if no value is above zero."""
    kept = [
        (metric, name)
        for metric, name in panels.items()
        if any(value_of(cell, metric) for cell in cells)
    ]
    if not kept:
        return None
    frame = new_frame(run, cells, len(kept), title)
    styles = looks(run.implementations)
    for axes, (metric, name) in zip(frame.panels, kept, strict=True):
        _panel(axes, run, frame.lines, metric, name, styles)
    shown = {cell.impl for cell in cells}
    infos = [info for info in run.implementations if info.name in shown]
    add_legend(frame, infos, floor=any(info.kind == "control" for info in infos))
    return drawn(frame.figure)


def new_frame(run: Run, cells: Sequence[Cell], panels: int, title: str) -> Frame:
    """Rows for the cells, grouped by call style, with their names; the panels are empty."""
    lines = _lines(run, cells)
    height = _ROW * len(lines) + _HEAD + _FOOT
    figure = new_figure(height, title)
    longest = max((len(line.text) for line in lines if line.cell is not None), default=0)
    names = min(_MOST_NAMES, max(_LEAST_NAMES, longest * _LETTER + _INDENT))
    left, bottom, top = names / WIDTH, _FOOT / height, 1 - _HEAD / height
    each = (1 - left - 0.1 / WIDTH) / panels
    made = tuple(
        figure.add_axes((left + number * each, bottom, each * 0.93, top - bottom))
        for number in range(panels)
    )
    _names(made[0], lines, names)
    return Frame(figure, made, tuple(lines), left, height)


def _set_up(
    axes: Axes, frame_lines: Sequence[Line], values: Sequence[float], metric: str, name: str
) -> Scale:
    """Title, scale and limits for values above zero; returns the unit that they are drawn in."""
    row = metric_of(metric)
    # Nanoseconds throughout a panel, or microseconds: never both.
    scale = scale_for(values, row.unit if row is not None else "", 0.1)
    unit = f", {scale.label}" if scale.label not in ("", "count", "ratio") else ""
    panel_title(axes, f"{name}{unit}")
    axes.set_xscale("log")
    low, high = min(values) * scale.factor, max(values) * scale.factor
    reach = max(high / low, 10.0)
    # The value stands on the right of its mark, so there is room for it.
    axes.set_xlim(low / reach**0.08, high * reach**0.55)
    axes.set_ylim(frame_lines[-1].y - 0.7, frame_lines[0].y + 0.6)
    axes.set_yticks([])
    axes.grid(True, axis="x", which="major")
    axes.spines["left"].set_visible(False)
    log_ticks(axes.xaxis, most=4)
    axes.tick_params(axis="x", length=3)
    return scale


def arrow(axes: Axes, x: float, y: float, color: str, *, right: bool) -> None:
    """Says that what ends here goes on beyond the panel."""
    axes.plot([x], [y], ">" if right else "<", color=color, markersize=4, zorder=3, clip_on=False)


def beside(axes: Axes, x: float, y: float, text: str, color: str = INK) -> None:
    """Text to the right of a mark, on white so that lines stop behind it."""
    axes.annotate(
        text,
        (x, y),
        xytext=(6, -0.5),
        textcoords="offset points",
        va="center",
        size=8,
        color=color,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        zorder=3.5,
    )


def in_place_of_mark(axes: Axes, y: float, text: str, color: str = FLOOR) -> None:
    """A word at the left edge, where there is no value to mark."""
    axes.text(axes.get_xlim()[0], y, f" {text}", va="center", color=color, size=8, style="italic")


def add_legend(frame: Frame, infos: Iterable[ImplementationInfo], *, floor: bool = False) -> None:
    """The markers of tiers below the panels; with `floor` those of controls and their line."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=marker, color=INK, linestyle="none", label=word)
        for marker, word in tier_markers(info for info in infos if info.kind == "manager")
    ]
    if floor:
        handles.append(
            Line2D(
                [],
                [],
                marker="o",
                color=FLOOR,
                markerfacecolor="white",
                linestyle="none",
                label="control",
            )
        )
        handles.append(
            Line2D([], [], color=FLOOR, linestyle=(0, (3, 2)), label="floor of the group")
        )
    frame.figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(frame.left - 0.1 / WIDTH, 0.02 / frame.height),
        ncols=max(1, len(handles)),
        handletextpad=0.4,
        columnspacing=1.6,
    )


def _lines(run: Run, cells: Sequence[Cell]) -> list[Line]:
    """From the top: each call style's title and its cells.

    A profile stands behind a name where not all have the same: their work is not the same.
    """
    infos = run.implementation_by_name
    profiles = {infos[cell.impl].profile for cell in cells if cell.kind == "manager"}
    lines: list[Line] = []
    for style, members in by_call_style(cells):
        lines.append(Line(-len(lines), CALL_STYLES[style]))
        for cell in members:
            # Who loops is said by the group.
            name = short_name(re.sub(r"\[call_style=[\w-]+\]$", "", cell.impl))
            if len(profiles) > 1 and cell.kind == "manager":
                name += f" ({infos[cell.impl].profile})"
            lines.append(Line(-len(lines), name, cell))
    return lines


def _panel(
    axes: Axes,
    run: Run,
    lines: Sequence[Line],
    metric: str,
    name: str,
    styles: Mapping[str, Look],
) -> None:
    cells = [line.cell for line in lines if line.cell is not None]
    values = [value for cell in cells if (value := value_of(cell, metric))]
    scale = _set_up(axes, lines, values, metric, name)
    for line in lines:
        if line.cell is not None:
            look = styles[line.cell.impl]
            floor = floor_mark(line.cell, metric, cells, run.implementation_by_name)
            _mark(axes, line, line.cell.metric(metric), scale, look, floor)
    _floor(axes, run, lines, metric, scale)


def _mark(
    axes: Axes, line: Line, value: MetricValue | None, scale: Scale, look: Look, floor: str
) -> None:
    cell = line.cell
    assert cell is not None
    if not cell.ok:
        in_place_of_mark(axes, line.y, cell.status, BAD)
        return
    if value is None:
        return
    if not value.value:
        in_place_of_mark(axes, line.y, "unavailable" if value.value is None else "0")
        return
    left = axes.get_xlim()[0]
    x = value.value * scale.factor
    axes.plot([left, x], [line.y, line.y], color=FAINT, linewidth=1, zorder=1)
    if value.low is not None and value.high is not None and value.low > 0:
        limits = axes.get_xlim()
        ends = [value.low * scale.factor, value.high * scale.factor]
        axes.plot(ends, [line.y, line.y], color=look.color, linewidth=2.2, zorder=3, alpha=0.75)
        axes.plot(ends, [line.y, line.y], "|", color=look.color, markersize=6, zorder=3)
        if ends[0] < limits[0]:
            arrow(axes, limits[0], line.y, look.color, right=False)
        if ends[1] > limits[1]:
            arrow(axes, limits[1], line.y, look.color, right=True)
    axes.plot(
        [x],
        [line.y],
        look.marker,
        color=look.color,
        markerfacecolor=look.color if look.filled else "white",
        markersize=6,
        zorder=4,
    )
    # Behind the interval, but inside the panel.
    far = min(max(x, (value.high or 0.0) * scale.factor), max(x, axes.get_xlim()[1] / 3))
    beside(axes, far, line.y, f"{significant(x)}{floor}", INK if look.filled else FLOOR)


def _floor(axes: Axes, run: Run, lines: Sequence[Line], metric: str, scale: Scale) -> None:
    """A dashed line through each group at its floor: the plain array, else the empty loop."""
    for start, line in enumerate(lines):
        if line.cell is not None:
            continue
        group = [line]
        for other in lines[start + 1 :]:
            if other.cell is None:
                break
            group.append(other)
        for scheme in _FLOORS:
            floors = [
                value
                for other in group
                if other.cell is not None
                and run.implementation_by_name[other.cell.impl].scheme == scheme
                if (value := value_of(other.cell, metric))
            ]
            if floors:
                x = floors[0] * scale.factor
                ends = [group[-1].y - 0.3, group[0].y - 0.6]
                axes.plot([x, x], ends, color=FLOOR, linestyle=(0, (3, 2)), linewidth=1, zorder=2)
                break


def _names(axes: Axes, lines: Sequence[Line], room: float) -> None:
    """Names in the margin of so many inches; axis ticks would align them on the wrong side."""
    for line in lines:
        group = line.cell is None
        control = line.cell is not None and line.cell.kind == "control"
        axes.annotate(
            line.text,
            (0, line.y),
            xycoords=("axes fraction", "data"),
            xytext=(-room * 72 + (6 if group else 16), 0),
            textcoords="offset points",
            va="center",
            size=8.5,
            weight="bold" if group else "normal",
            color=FLOOR if control else INK,
            parse_math=False,
        )
