"""Rows of implementations beside panels of values on logarithmic axes.

The form of several pictures: a row is a cell, a panel a metric, and the cheap is on the left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark.report.numbers import Scale, scale_for, significant
from blockmark.report.order import CALL_STYLES, by_call_style, value_of
from blockmark.report.plots.style import (
    BAD,
    FAINT,
    FLOOR,
    INK,
    Look,
    looks,
    new_figure,
    png,
    short_name,
    tier_markers,
)
from blockmark.runs.metrics import metric_of
from blockmark.runs.model import Cell, ImplementationInfo, MetricValue, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# (metric, what it is called above its panel)
Panels = Sequence[tuple[str, str]]

_FLOORS = ("raw-array", "null")
_ROW = 0.25
_NAME_WIDTH = 2.75
_PANEL_WIDTH = 2.1


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
    width: float
    height: float


def draw_rows(run: Run, cells: Sequence[Cell], panels: Panels, title: str) -> bytes | None:
    """The cells' values in the panels that have any, as PNG; None if no value is above zero."""
    kept = [
        (metric, name) for metric, name in panels if any(value_of(cell, metric) for cell in cells)
    ]
    if not kept:
        return None
    frame = new_frame(cells, len(kept), title)
    styles = looks(run.implementations)
    for axes, (metric, name) in zip(frame.panels, kept, strict=True):
        _panel(axes, run, frame.lines, metric, name, styles)
    shown = {cell.impl for cell in cells}
    infos = [info for info in run.implementations if info.name in shown]
    add_legend(frame, infos, floor=any(info.kind == "control" for info in infos))
    return png(frame.figure)


def new_frame(cells: Sequence[Cell], panels: int, title: str) -> Frame:
    """Rows for the cells, grouped by call style, with their names; the panels are empty."""
    lines = _lines(cells)
    height = _ROW * len(lines) + 1.45
    width = _NAME_WIDTH + _PANEL_WIDTH * panels + 0.15
    figure = new_figure(width, height, title)
    left, bottom, top = _NAME_WIDTH / width, 0.72 / height, 1 - 0.62 / height
    each = (1 - left - 0.15 / width) / panels
    made = tuple(
        figure.add_axes((left + number * each, bottom, each * 0.95, top - bottom))
        for number in range(panels)
    )
    _names(made[0], lines)
    return Frame(figure, made, tuple(lines), left, width, height)


def _set_up(
    axes: Axes, frame_lines: Sequence[Line], values: Sequence[float], metric: str, name: str
) -> Scale:
    """Title, scale and limits for values above zero; returns the unit that they are drawn in."""
    row = metric_of(metric)
    # Nanoseconds throughout a panel, or microseconds: never both.
    scale = scale_for(values, row.unit if row is not None else "", 0.1)
    unit = f", {scale.label}" if scale.label not in ("", "count") else ""
    axes.set_title(f"{name}{unit}", loc="left", parse_math=False)
    axes.set_xscale("log")
    low, high = min(values) * scale.factor, max(values) * scale.factor
    reach = max(high / low, 10.0)
    # The value stands on the right of its mark, so there is room for it.
    axes.set_xlim(low / reach**0.08, high * reach**0.42)
    axes.set_ylim(frame_lines[-1].y - 0.7, frame_lines[0].y + 0.6)
    axes.set_yticks([])
    axes.grid(True, axis="x", which="major")
    axes.spines["left"].set_visible(False)
    _plain_ticks(axes)
    return scale


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
        bbox_to_anchor=(frame.left - 0.1 / frame.width, 0.02 / frame.height),
        ncols=max(1, len(handles)),
        handletextpad=0.4,
        columnspacing=1.6,
    )


def _lines(cells: Sequence[Cell]) -> list[Line]:
    """From the top: each call style's title and its cells."""
    lines: list[Line] = []
    for style, members in by_call_style(cells):
        lines.append(Line(-len(lines), CALL_STYLES[style]))
        for cell in members:
            lines.append(Line(-len(lines), short_name(cell.impl), cell))
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
            _mark(axes, line, line.cell.metric(metric), scale, styles[line.cell.impl])
    _floor(axes, run, lines, metric, scale)


def _mark(axes: Axes, line: Line, value: MetricValue | None, scale: Scale, look: Look) -> None:
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
        ends = [value.low * scale.factor, value.high * scale.factor]
        axes.plot(ends, [line.y, line.y], color=look.color, linewidth=2.2, zorder=3, alpha=0.75)
        axes.plot(ends, [line.y, line.y], "|", color=look.color, markersize=6, zorder=3)
    axes.plot(
        [x],
        [line.y],
        look.marker,
        color=look.color,
        markerfacecolor=look.color if look.filled else "white",
        markersize=6,
        zorder=4,
    )
    far = max(x, (value.high or 0.0) * scale.factor)
    beside(axes, far, line.y, significant(x), INK if look.filled else FLOOR)


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


def _names(axes: Axes, lines: Sequence[Line]) -> None:
    """Names in the margin; axis ticks would align them on the wrong side."""
    for line in lines:
        group = line.cell is None
        control = line.cell is not None and line.cell.kind == "control"
        axes.annotate(
            line.text,
            (0, line.y),
            xycoords=("axes fraction", "data"),
            xytext=(-_NAME_WIDTH * 72 + (6 if group else 16), 0),
            textcoords="offset points",
            va="center",
            size=8.5,
            weight="bold" if group else "normal",
            color=FLOOR if control else INK,
            parse_math=False,
        )


def _plain_ticks(axes: Axes) -> None:
    """1, 10, 100 in place of powers of ten; no names at the marks between."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(numticks=4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: significant(x, 1)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", length=3)
    axes.tick_params(axis="x", which="minor", length=0)
