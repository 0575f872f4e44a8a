"""Pictures of the studies in which several threads or coroutines write at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.report.numbers import scale_for, significant
from blockmark.report.plots.latency import tail
from blockmark.report.plots.style import FLOOR, Look, looks, new_figure, png, short_name
from blockmark.runs.metrics import metric_of
from blockmark.runs.model import Cell, Run, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_WIDTH, _PANEL_HEIGHT = 4.1, 2.9
_LEFT, _BOTTOM, _TOP, _RIGHT = 0.95, 0.55, 0.35, 0.2
_HEAD, _LEGEND_LINE = 0.4, 0.19
_MOST_PANELS = 3
# Nothing drawn on a logarithmic axis can be zero; nor can less than a nanosecond be told.
_LEAST_NS = 1.0


@dataclass(frozen=True, slots=True)
class LinePanel:
    """A metric over a key of the settings, ascending; a line an implementation."""

    title: str
    axis: str
    address: str
    settings: tuple[Setting, ...]
    x_label: str
    y_label: str


@dataclass(frozen=True, slots=True)
class TailPanel:
    """The latencies of one setting: which share of calls takes longer than x."""

    title: str
    setting: Setting
    metric: str


def draw_lines(run: Run, panels: Sequence[LinePanel], title: str) -> bytes | None:
    """Lines on logarithmic axes; None if no panel has a line of two points."""
    chosen = [panel for panel in panels if _lines(run, panel)][:_MOST_PANELS]
    if not chosen:
        return None
    names = dict.fromkeys(name for panel in chosen for name in _lines(run, panel))
    styles = _looks(run, names)
    figure, places = _framed(len(chosen), len(names), title)
    for panel, place in zip(chosen, places, strict=True):
        _line_panel(figure.add_axes(place), run, panel, styles)
    _legend(figure, styles)
    return png(figure)


def draw_tails(run: Run, panels: Sequence[TailPanel], title: str) -> bytes | None:
    """Complementary distributions on logarithmic axes; None if there is none."""
    chosen = [panel for panel in panels if _tails(run, panel)][:_MOST_PANELS]
    if not chosen:
        return None
    names = dict.fromkeys(name for panel in chosen for name in _tails(run, panel))
    styles = _looks(run, names)
    figure, places = _framed(len(chosen), len(names), title)
    for panel, place in zip(chosen, places, strict=True):
        _tail_panel(figure.add_axes(place), run, panel, styles)
    _legend(figure, styles)
    return png(figure)


def draw_bars(run: Run, setting: Setting, addresses: Sequence[str], title: str) -> bytes | None:
    """A bar an implementation and metric, on an axis of ratios; None without a value."""
    cells = [cell for cell in run.cells_of(setting.key) if cell.ok]
    known = [(cell, _value(cell, addresses[0])) for cell in cells]
    rows = [(cell, value) for cell, value in known if value]
    if not rows:
        return None
    height = 0.9 + 0.27 * len(rows)
    figure = new_figure(7.6, height, title)
    axes = figure.add_axes((3.1 / 7.6, 0.45 / height, 4.1 / 7.6, (height - 0.85) / height))
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
    _plain_ticks(axes.xaxis)
    return png(figure)


def _value(cell: Cell, address: str) -> float | None:
    found = cell.metric(address) if cell.ok else None
    return found.value if found is not None else None


def _lines(run: Run, panel: LinePanel) -> Mapping[str, list[tuple[float, float]]]:
    """Points above zero by implementation, of those that have two or more."""
    points: dict[str, list[tuple[float, float]]] = {}
    for setting in panel.settings:
        place = float(setting.params[panel.axis])
        for cell in run.cells_of(setting.key):
            value = _value(cell, panel.address)
            if value and value > 0 and place > 0:
                points.setdefault(cell.impl, []).append((place, value))
    return {name: sorted(found) for name, found in points.items() if len(found) > 1}


def _line_panel(axes: Axes, run: Run, panel: LinePanel, styles: Mapping[str, Look]) -> None:
    lines = _lines(run, panel)
    row = metric_of(panel.address)
    unit = row.unit if row is not None else ""
    scale = scale_for([y for points in lines.values() for _, y in points], unit)
    factor, label = (1e-6, "million/s") if unit == "1/s" else (scale.factor, scale.label)
    if unit == "share":
        factor, label = 100.0, "%"
    for name, points in lines.items():
        look = styles[name]
        axes.plot(
            [x for x, _ in points],
            [y * factor for _, y in points],
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markersize=4.5,
            linewidth=1.5,
            markerfacecolor=look.color if look.filled else "white",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    places = sorted({x for points in lines.values() for x, _ in points})
    axes.set_xticks(places, [f"{place:,g}" for place in places])
    axes.xaxis.set_minor_locator(_no_ticks())
    _plain_ticks(axes.yaxis)
    axes.set_title(panel.title, loc="left", parse_math=False)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(f"{panel.y_label}, {label}" if label else panel.y_label)
    axes.grid(True, which="major")


def _tails(run: Run, panel: TailPanel) -> Mapping[str, tuple[list[int], list[float], int]]:
    found = {}
    for cell in run.cells_of(panel.setting.key):
        value = cell.metric(panel.metric) if cell.ok else None
        samples = sum(one.samples for one in value.histograms) if value is not None else 0
        if value is not None and samples:
            found[cell.impl] = (*tail(value.histograms), samples)
    return found


def _tail_panel(axes: Axes, run: Run, panel: TailPanel, styles: Mapping[str, Look]) -> None:
    tails = _tails(run, panel)
    scale = scale_for([max(float(ends[0]), _LEAST_NS) for ends, *_ in tails.values()], "ns", 0.1)
    for name, (ends, shares, samples) in tails.items():
        look = styles[name]
        axes.plot(
            [max(float(end), _LEAST_NS) * scale.factor for end in (ends[0], *ends)],
            [1.0, *shares[:-1], 1 / samples],
            drawstyle="steps-post",
            color=look.color,
            linestyle=look.line,
            linewidth=1.5,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(panel.title, loc="left", parse_math=False)
    axes.set_xlabel(f"time to get blocks, {scale.label}")
    axes.set_ylabel("share of calls that take longer")
    axes.yaxis.set_major_formatter(_percents())
    _plain_ticks(axes.xaxis)
    axes.grid(True, which="major")


def _framed(
    panels: int, names: int, title: str
) -> tuple[Figure, list[tuple[float, float, float, float]]]:
    """A figure, and the place of each panel in it; names stand below in one column."""
    width = _PANEL_WIDTH * panels * (1.5 if panels == 1 else 1) + 0.1
    below = _LEGEND_LINE * -(-names // 2) + 0.15
    height = _HEAD + _PANEL_HEIGHT + below
    figure = new_figure(width, height, title)
    each = (width - 0.1) / panels
    places = [
        (
            (each * number + _LEFT) / width,
            (below + _BOTTOM) / height,
            (each - _LEFT - _RIGHT) / width,
            (_PANEL_HEIGHT - _BOTTOM - _TOP) / height,
        )
        for number in range(panels)
    ]
    return figure, places


def _looks(run: Run, names: Iterable[str]) -> dict[str, Look]:
    """How each is drawn, in the order of names. Only what is drawn takes a colour: there are
    more schemes in a run than colours that can be told apart.
    """
    infos = {info.name: info for info in run.implementations}
    return looks(infos[name] for name in names)


def _legend(figure: Figure, styles: Mapping[str, Look]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markersize=4.5,
            markerfacecolor=look.color if look.filled else "white",
            label=short_name(name),
        )
        for name, look in styles.items()
    ]
    legend = figure.legend(
        handles=handles, loc="lower left", ncols=2, handlelength=3.2, labelspacing=0.25
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _plain_ticks(axis: Any) -> None:
    """1, 10, 100 and not powers; names of the steps between only where few decades are."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    reach = high / max(low, 1e-12)
    subs = (1.0, 2.0, 5.0) if reach < 60 else (1.0, 3.0) if reach < 1500 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=10 if reach < 1e5 else 5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 1)))
    axis.set_minor_formatter(NullFormatter())


def _percents() -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda share, _: f"{significant(share * 100, 1)} %")


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()
