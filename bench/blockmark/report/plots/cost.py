"""Cost by implementation: a row each, a panel for each question, log axes, floors."""

from __future__ import annotations

from collections.abc import Sequence
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
from blockmark.runs.model import Cell, MetricValue, Run, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The questions, in the order of a reader's interest.
PANELS = (
    ("step_ns", "whole step"),
    ("lookup_chain_shuffled_ns", "lookup chain, shuffled"),
    ("alloc_free_interleaved_ns", "alloc + free, mixed"),
    ("pack_ns", "pack all rows"),
)
_FLOORS = ("raw-array", "null")
_ROW = 0.25
_NAME_WIDTH = 2.75
_PANEL_WIDTH = 2.1


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the picture: a cell, or the title of a group (`cell` is None)."""

    y: float
    text: str
    cell: Cell | None = None


def draw_costs(run: Run, setting: Setting, title: str) -> bytes | None:
    """The picture as PNG; None if no panel has a value above zero."""
    cells = run.cells_of(setting.key)
    panels = [
        (metric, name) for metric, name in PANELS if any(value_of(cell, metric) for cell in cells)
    ]
    if not panels:
        return None
    lines = _lines(cells)
    height = _ROW * len(lines) + 1.45
    width = _NAME_WIDTH + _PANEL_WIDTH * len(panels) + 0.15
    figure = new_figure(width, height, title)
    styles = looks(run.implementations)
    left, bottom, top = _NAME_WIDTH / width, 0.72 / height, 1 - 0.62 / height
    each = (1 - left - 0.15 / width) / len(panels)
    for number, (metric, name) in enumerate(panels):
        axes = figure.add_axes((left + number * each, bottom, each * 0.95, top - bottom))
        _panel(axes, run, lines, metric, name, styles)
        if number == 0:
            _names(axes, lines)
    _legend(figure, run, cells, left, width, height)
    return png(figure)


def _lines(cells: Sequence[Cell]) -> list[_Line]:
    """From the top: each call style's title and its cells."""
    lines: list[_Line] = []
    for style, members in by_call_style(cells):
        lines.append(_Line(-len(lines), CALL_STYLES[style]))
        for cell in members:
            lines.append(_Line(-len(lines), short_name(cell.impl), cell))
    return lines


def _panel(
    axes: Axes,
    run: Run,
    lines: Sequence[_Line],
    metric: str,
    name: str,
    styles: dict[str, Look],
) -> None:
    cells = [line.cell for line in lines if line.cell is not None]
    values = [value for cell in cells if (value := value_of(cell, metric))]
    # Nanoseconds throughout a panel, or microseconds: never both.
    scale = scale_for(values, "ns", 0.1)
    axes.set_title(f"{name}, {scale.label}", loc="left", parse_math=False)
    axes.set_xscale("log")
    low, high = min(values) * scale.factor, max(values) * scale.factor
    reach = max(high / low, 10.0)
    # The value stands on the right of its mark, so there is room for it.
    axes.set_xlim(low / reach**0.08, high * reach**0.42)
    axes.set_ylim(lines[-1].y - 0.7, lines[0].y + 0.6)
    axes.set_yticks([])
    axes.grid(True, axis="x", which="major")
    axes.spines["left"].set_visible(False)
    _plain_ticks(axes)
    for line in lines:
        if line.cell is not None:
            _mark(axes, line, line.cell.metric(metric), scale, styles[line.cell.impl])
    _floor(axes, run, lines, metric, scale)


def _mark(axes: Axes, line: _Line, value: MetricValue | None, scale: Scale, look: Look) -> None:
    left = axes.get_xlim()[0]
    cell = line.cell
    assert cell is not None
    if not cell.ok:
        axes.text(left, line.y, f" {cell.status}", va="center", color=BAD, size=8, style="italic")
        return
    if value is None:
        return
    if not value.value:
        word = "unavailable" if value.value is None else "0"
        axes.text(left, line.y, f" {word}", va="center", color=FLOOR, size=8, style="italic")
        return
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
    axes.annotate(
        significant(x),
        (far, line.y),
        xytext=(6, -0.5),
        textcoords="offset points",
        va="center",
        size=8,
        color=INK if look.filled else FLOOR,
        # A floor's line stops behind the figures.
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        zorder=3.5,
    )


def _floor(axes: Axes, run: Run, lines: Sequence[_Line], metric: str, scale: Scale) -> None:
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


def _names(axes: Axes, lines: Sequence[_Line]) -> None:
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


def _legend(
    figure: Figure, run: Run, cells: Sequence[Cell], left: float, width: float, height: float
) -> None:
    from matplotlib.lines import Line2D

    shown = {cell.impl for cell in cells}
    infos = [info for info in run.implementations if info.name in shown]
    handles = [
        Line2D([], [], marker=marker, color=INK, linestyle="none", label=word)
        for marker, word in tier_markers(info for info in infos if info.kind == "manager")
    ]
    if any(info.kind == "control" for info in infos):
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
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(left - 0.1 / width, 0.02 / height),
        ncols=len(handles),
        handletextpad=0.4,
        columnspacing=1.6,
    )
