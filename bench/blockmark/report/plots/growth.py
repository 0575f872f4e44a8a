"""Cost against an axis: a panel for each question, a line for each implementation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark.report.growth import DRAWN, TABLES, Line, Quantity, floors_of, lines_of
from blockmark.report.numbers import Scale, scale_for, with_unit
from blockmark.report.picture import Drawn
from blockmark.report.plots.looks import FLOOR, Look, looks
from blockmark.report.plots.style import INK, WIDTH, drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks
from blockmark.report.setting import number
from blockmark.report.sweep import Sweep, ranges
from blockmark.report.tables.along import quantity_mark
from blockmark.runs.model import CallStyle, MetricValue, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_COLUMNS = 3
_PANEL_HEIGHT = 2.45
# Inside a panel, in inches: names of the marks on the left and below, the title above.
_LEFT, _BOTTOM, _TOP, _RIGHT = 0.62, 0.48, 0.32, 0.12
_HEAD, _LEGEND_LINE = 0.4, 0.2
_CACHES = (("L1D", "l1d_bytes"), ("L2", "l2_bytes"), ("L3", "l3_bytes"))
_MOST_GAPS = 5
_PALE = "#ffffff"
# Half of a mark with some air, as a share of a panel's height.
_MARK = 0.03


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
    lines = lines_of(run, sweep)
    members = [line for style in styles for line in lines.get(style, [])]
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
    if not told:
        return ""
    named = list(told)
    rest = [f"{len(named) - _MOST_GAPS} more"] if len(named) > _MOST_GAPS else []
    return f"No {'; '.join(named[:_MOST_GAPS] + rest)}."


def draw_growth(run: Run, sweep: Sweep, panels: Sequence[Panel], title: str) -> Drawn:
    """The picture. `panels` must not be empty."""
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    styles = looks(run.implementations)
    handles = _handles(panels, styles)
    longest = max(len(str(handle.get_label())) for handle in handles)
    # Names stand in the places that panels leave free, if these are enough, else below, in
    # as many columns as fit.
    width = WIDTH
    panel_width = (width - 0.1) / columns
    free = columns * rows - len(panels)
    name_width = 0.72 + 0.068 * longest
    across = int((panel_width * free - _LEFT) / name_width)
    beside = across >= 1 and _LEGEND_LINE * math.ceil(len(handles) / across) < _PANEL_HEIGHT - 0.6
    if not beside:
        across = max(1, int((width - 0.3) / name_width))
    below = 0.06 if beside else _LEGEND_LINE * math.ceil(len(handles) / across) + 0.15
    height = _HEAD + _PANEL_HEIGHT * rows + below
    figure = new_figure(height, title)
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        left = panel_width * column + _LEFT
        bottom = height - _HEAD - _PANEL_HEIGHT * (row + 1) + _BOTTOM
        axes = figure.add_axes(
            (
                left / width,
                bottom / height,
                (panel_width - _LEFT - _RIGHT) / width,
                (_PANEL_HEIGHT - _BOTTOM - _TOP) / height,
            )
        )
        lowest = place + columns >= len(panels)
        _panel(axes, run, sweep, panel, styles, axis_name=lowest)
    if beside:
        left = panel_width * (columns - free) + _LEFT
        _legend(figure, handles, across, left / width, (below + _PANEL_HEIGHT - _TOP) / height)
    else:
        _legend(figure, handles, across, 0.1 / width, below / height)
    return drawn(figure)


def _panel(
    axes: Axes,
    run: Run,
    sweep: Sweep,
    panel: Panel,
    styles: Mapping[str, Look],
    *,
    axis_name: bool,
) -> None:
    is_size = panel.quantity is TABLES
    found = [value for curve in panel.curves for value in curve.values if value is not None]
    values = [value.value for value in found if value.value]
    scale = Scale("", 1.0) if is_size else scale_for(values, panel.quantity.unit)
    label = f"{panel.quantity.label}, {scale.label}" if scale.label else panel.quantity.label
    axes.set_title(label, loc="left", parse_math=False)
    if sweep.is_logarithmic:
        axes.set_xscale("log")
    axes.set_yscale("log", base=2 if is_size else 10)
    ends = [end for value in found for end in (value.low, value.high) if end]
    low, high = min(values + ends) * scale.factor, max(values + ends) * scale.factor
    # A panel of nearly equal values must not blow up their noise.
    reach = max(high / low, 4.0)
    middle = math.sqrt(low * high)
    axes.set_ylim(middle / reach**0.58, middle * reach**0.58)
    # Both ranges are set before anything is drawn, so that nothing is scaled by itself.
    shortened = _places(axes, sweep)
    for curve in panel.curves:
        _curve(axes, sweep, curve, scale, styles[curve.line.impl])
    if is_size:
        _size_marks(axes, run)
    else:
        log_ticks(axes.yaxis)
    axes.grid(True, which="major")
    if axis_name:
        key = " (Ki: 1,024)" if shortened else ""
        axes.set_xlabel(f"{short_name(sweep.axis)}{key}", labelpad=2, parse_math=False)


def _curve(axes: Axes, sweep: Sweep, curve: Curve, scale: Scale, look: Look) -> None:
    """A point for each value; the line is broken where there is none."""
    color = look.color
    known = [
        (x, value.value * scale.factor, value)
        for x, value in zip(sweep.values, curve.values, strict=True)
        if value is not None and value.value is not None
    ]
    for x, cost, value in known:
        if value.low and value.high is not None:
            _interval(axes, x, cost, (value.low * scale.factor, value.high * scale.factor), color)
    y = {x: cost for x, cost, _ in known}
    depth = 2.5 if curve.floor else 4
    axes.plot(
        sweep.values,
        [y.get(x, math.nan) for x in sweep.values],
        color=color,
        linestyle=look.line,
        linewidth=1.1 if curve.floor else 1.6,
        zorder=depth,
    )
    unclear = dict(zip(sweep.values, curve.unclear, strict=False))
    for pale in (False, True):
        chosen = [x for x in y if unclear.get(x, False) == pale]
        axes.plot(
            chosen,
            [y[x] for x in chosen],
            color=_PALE if pale else color,
            linestyle="none",
            marker=look.marker,
            markersize=4.5,
            markeredgecolor=color,
            markerfacecolor=_PALE if pale else color if look.filled else "white",
            zorder=depth,
        )


def _interval(axes: Axes, x: float, cost: float, ends: tuple[float, float], color: str) -> None:
    """A bar from end to end, with a cap on each end that the mark does not hide."""
    axes.vlines(x, *ends, colors=color, linewidth=1.4, alpha=0.8, zorder=3)
    low, high = axes.get_ylim()
    hidden = (high / low) ** _MARK
    caps = [end for end in ends if end < cost / hidden or end > cost * hidden]
    axes.plot([x] * len(caps), caps, "_", color=color, markersize=5, markeredgewidth=1.1, zorder=3)


def _size_marks(axes: Axes, run: Run) -> None:
    """Sizes in powers of two, and the caches of the machine, beyond which a table is slower."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = axes.get_ylim()
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    stride = max(1, math.ceil((last - first + 1) / 7))
    places = [2.0**power for power in range(first, last + 1) if power % stride == 0]
    axes.yaxis.set_major_locator(FixedLocator(places))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _size(y)))
    for name, fact in _CACHES:
        size = number(run.machine, fact)
        if size and low < size < high:
            axes.axhline(size, color=FLOOR, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
            axes.annotate(
                name,
                (0, size),
                xycoords=("axes fraction", "data"),
                xytext=(4, 2),
                textcoords="offset points",
                size=7.5,
                color=FLOOR,
            )


def _size(value: float) -> str:
    """`128 KiB`; powers of two are whole numbers in their unit."""
    return with_unit(value, "bytes") if value < 1 else _whole(with_unit(value, "bytes"))


def _whole(text: str) -> str:
    figure, _, unit = text.partition(" ")
    return f"{figure.rstrip('0').rstrip('.') if '.' in figure else figure} {unit}"


def _places(axes: Axes, sweep: Sweep) -> bool:
    """A mark at each setting; names at as many as have room, both ends among them.

    Returns whether the names are shortened to powers of 1,024.
    """
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter

    logarithmic = sweep.is_logarithmic
    places = [math.log(x) if logarithmic else x for x in sweep.values]
    margin = 0.06 * (places[-1] - places[0])
    ends = [places[0] - margin, places[-1] + margin]
    axes.set_xlim(*(math.exp(end) if logarithmic else end for end in ends))
    inches = axes.get_position().width * axes.figure.get_figure(root=True).get_figwidth()
    inches_each = inches / (ends[1] - ends[0])
    whole = titles = sweep.titles()
    named = _with_room(places, titles, inches_each)
    if len(named) < len(places):
        titles = sweep.titles(short=True)
        named = _with_room(places, titles, inches_each)
    axes.xaxis.set_major_locator(FixedLocator([sweep.values[index] for index in named]))
    axes.xaxis.set_major_formatter(FixedFormatter([titles[index] for index in named]))
    axes.xaxis.set_minor_locator(FixedLocator(list(sweep.values)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=2)
    return titles != whole


def _with_room(places: Sequence[float], titles: Sequence[str], inches_each: float) -> list[int]:
    """The titles that may be written without one touching another."""

    def collide(one: int, other: int) -> bool:
        apart = (places[other] - places[one]) * inches_each
        return apart < 0.0375 * (len(titles[one]) + len(titles[other])) + 0.07

    last = len(places) - 1
    named = [0]
    for index in range(1, last):
        if not collide(named[-1], index) and not collide(index, last):
            named.append(index)
    return [*named, last]


def _handles(panels: Sequence[Panel], styles: Mapping[str, Look]) -> list[Line2D]:
    from matplotlib.lines import Line2D

    curves: dict[str, Curve] = {}
    for panel in panels:
        for curve in panel.curves:
            curves.setdefault(curve.line.impl, curve)
    handles = []
    for impl, curve in sorted(curves.items(), key=lambda pair: pair[1].floor):
        look = styles[impl]
        handles.append(
            Line2D(
                [],
                [],
                color=look.color,
                linestyle=look.line,
                linewidth=1.1 if curve.floor else 1.6,
                marker=look.marker,
                markersize=4.5,
                markerfacecolor=look.color if look.filled else "white",
                label=f"{short_name(impl)} (floor)" if curve.floor else short_name(impl),
            )
        )
    if any(any(curve.unclear) for panel in panels for curve in panel.curves):
        handles.append(
            Line2D([], [], color=INK, linestyle="none", marker="o", markersize=4.5,
                   markerfacecolor=_PALE, label="empty: not told from the floor, or below it")
        )  # fmt: skip
    return handles


def _legend(
    figure: Figure, handles: Sequence[Line2D], columns: int, left: float, top: float
) -> None:
    """Names with their upper left corner there, in fractions of the figure."""
    legend = figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(left, top),
        ncols=columns,
        handlelength=2.8,
        columnspacing=1.4,
        labelspacing=0.25,
        borderpad=0,
        borderaxespad=0,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_color(INK)
