"""Pictures of the studies in which several threads or coroutines write at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.report.picture import Drawn
from blockmark.report.plots.latency import tail
from blockmark.report.plots.looks import FLOOR, Look, looks
from blockmark.report.plots.rows import panel_title
from blockmark.report.plots.style import WIDTH, drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks, million_word, percent_word, time_word
from blockmark.runs.metrics import metric_of
from blockmark.runs.model import Cell, Run, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_HEIGHT = 2.9
_LEFT, _BOTTOM, _TOP, _RIGHT = 0.95, 0.55, 0.5, 0.15
_HEAD, _LEGEND_LINE = 0.4, 0.19
_MOST_PANELS = 3
# Nothing drawn on a logarithmic axis can be zero; nor can less than a nanosecond be told.
_LEAST_NS = 1.0
# Below it a latency is that of reading the clock.
CLOCK_NS = 30.0


@dataclass(frozen=True, slots=True)
class LinePanel:
    """A metric over a key of the settings, ascending; a line an implementation."""

    title: str
    axis: str
    address: str
    settings: tuple[Setting, ...]
    x_label: str
    y_label: str
    # The places beyond which threads take turns; None where there is no such place.
    most_at_once: float | None = None


@dataclass(frozen=True, slots=True)
class TailPanel:
    """The latencies of one setting: which share of calls takes longer than x."""

    title: str
    setting: Setting
    metric: str


def draw_lines(run: Run, panels: Sequence[LinePanel], title: str) -> Drawn | None:
    """Lines on logarithmic axes; None if no panel has a line of two points."""
    chosen = [panel for panel in panels if _lines(run, panel)][:_MOST_PANELS]
    if not chosen:
        return None
    names = dict.fromkeys(name for panel in chosen for name in _lines(run, panel))
    styles = looks(run.implementations)
    # One range for panels of one metric, so that heights can be set side by side.
    alike = len({panel.address for panel in chosen}) == 1
    figure, places = _framed(len(chosen), len(names), title, alike=alike)
    every = [y for panel in chosen for points in _lines(run, panel).values() for _, y in points]
    for number, (panel, place) in enumerate(zip(chosen, places, strict=True)):
        axes = figure.add_axes(place)
        _line_panel(axes, run, panel, styles, every if alike else None)
        if alike and number:
            axes.tick_params(axis="y", labelleft=False)
        else:
            axes.set_ylabel(panel.y_label)
    _legend(figure, {name: styles[name] for name in names})
    return drawn(figure)


def draw_tails(run: Run, panels: Sequence[TailPanel], title: str) -> Drawn | None:
    """Complementary distributions on logarithmic axes; None if there is none."""
    chosen = [panel for panel in panels if _tails(run, panel)][:_MOST_PANELS]
    if not chosen:
        return None
    names = dict.fromkeys(name for panel in chosen for name in _tails(run, panel))
    styles = looks(run.implementations)
    figure, places = _framed(len(chosen), len(names), title, alike=True)
    found = [each for panel in chosen for each in _tails(run, panel).values()]
    slowest = max(end for ends, *_ in found for end in ends)
    rarest = min(1 / samples for *_, samples in found)
    for number, (panel, place) in enumerate(zip(chosen, places, strict=True)):
        axes = figure.add_axes(place)
        _tail_panel(axes, run, panel, styles, (slowest, rarest))
        if number:
            axes.tick_params(axis="y", labelleft=False)
        else:
            axes.set_ylabel("share of calls that take longer")
    _legend(figure, {name: styles[name] for name in names})
    return drawn(figure)


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


def _line_panel(
    axes: Axes,
    run: Run,
    panel: LinePanel,
    styles: Mapping[str, Look],
    common: Sequence[float] | None,
) -> None:
    lines = _lines(run, panel)
    row = metric_of(panel.address)
    unit = row.unit if row is not None else ""
    places = sorted({x for points in lines.values() for x, _ in points})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    heights = common or [y for points in lines.values() for _, y in points]
    axes.set_ylim(min(heights) / 1.4, max(heights) * 1.4)
    axes.set_xlim(places[0] / 1.2, places[-1] * 1.2)
    for name, points in lines.items():
        look = styles[name]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=look.color,
            # Between two points a line would say what nobody measured.
            linestyle=look.line if len(points) > 2 else "none",
            marker=look.marker,
            markersize=4.5,
            linewidth=1.5,
            markerfacecolor=look.color if look.filled else "white",
            zorder=3,
        )
    if panel.most_at_once is not None and places[-1] > panel.most_at_once:
        _oversubscribed(axes, panel.most_at_once, places)
    axes.set_xticks(places, [f"{place:,g}" for place in places])
    axes.xaxis.set_minor_locator(_no_ticks())
    words = {"ns": time_word, "share": percent_word, "1/s": million_word}
    log_ticks(axes.yaxis, words=words.get(unit))
    panel_title(axes, panel.title)
    axes.set_xlabel(panel.x_label)
    axes.grid(True, which="major")


def _oversubscribed(axes: Axes, most: float, places: Sequence[float]) -> None:
    """Shade where threads share processors: what stands there shows no overlap."""
    first = min(place for place in places if place > most)
    start = (most * first) ** 0.5
    axes.axvspan(start, axes.get_xlim()[1], color="#eeeeee", zorder=0, linewidth=0)
    axes.annotate(
        "take\nturns",
        (start, 0),
        xycoords=("data", "axes fraction"),
        xytext=(3, 4),
        textcoords="offset points",
        size=8,
        color=FLOOR,
    )


def _tails(run: Run, panel: TailPanel) -> Mapping[str, tuple[list[int], list[float], int]]:
    found = {}
    for cell in run.cells_of(panel.setting.key):
        value = cell.metric(panel.metric) if cell.ok else None
        samples = sum(one.samples for one in value.histograms) if value is not None else 0
        if value is not None and samples:
            found[cell.impl] = (*tail(value.histograms), samples)
    return found


def _tail_panel(
    axes: Axes,
    run: Run,
    panel: TailPanel,
    styles: Mapping[str, Look],
    ends_of_all: tuple[float, float],
) -> None:
    slowest, rarest = ends_of_all
    tails = _tails(run, panel)
    for name, (ends, shares, samples) in tails.items():
        look = styles[name]
        axes.plot(
            [max(float(end), _LEAST_NS) for end in (ends[0], *ends)],
            [1.0, *shares[:-1], 1 / samples],
            drawstyle="steps-post",
            color=look.color,
            linestyle=look.line,
            linewidth=1.5,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    first = min(max(float(ends[0]), _LEAST_NS) for ends, *_ in tails.values())
    axes.set_xlim(min(first, CLOCK_NS / 2) / 1.2, slowest * 1.3)
    axes.set_ylim(rarest / 1.5, 1.5)
    # Steps of the clock are no latencies, so they lie behind a veil.
    axes.axvspan(axes.get_xlim()[0], CLOCK_NS, color="#e8e8e8", alpha=0.85, zorder=5, linewidth=0)
    axes.annotate(
        "clock",
        (CLOCK_NS, 0),
        xycoords=("data", "axes fraction"),
        xytext=(-3, 4),
        textcoords="offset points",
        ha="right",
        size=8,
        color=FLOOR,
        zorder=6,
    )
    panel_title(axes, panel.title)
    axes.set_xlabel("time to get blocks")
    log_ticks(axes.xaxis, most=5, words=time_word)
    log_ticks(axes.yaxis, words=percent_word)
    axes.grid(True, which="major")


def _framed(
    panels: int, names: int, title: str, *, alike: bool
) -> tuple[Figure, list[tuple[float, float, float, float]]]:
    """A figure, and the place of each panel in it; names stand below in three columns.

    Where panels are `alike`, the first alone has numbers on its left.
    """
    below = _LEGEND_LINE * -(-names // 3) + 0.15
    height = _HEAD + _PANEL_HEIGHT + below
    figure = new_figure(height, title)
    between = _RIGHT + (0.05 if alike else _LEFT)
    each = (WIDTH - _LEFT - _RIGHT - between * (panels - 1)) / panels
    places = [
        (
            (_LEFT + (each + between) * number) / WIDTH,
            (below + _BOTTOM) / height,
            each / WIDTH,
            (_PANEL_HEIGHT - _BOTTOM - _TOP) / height,
        )
        for number in range(panels)
    ]
    return figure, places


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
        handles=handles, loc="lower left", ncols=3, handlelength=3.2, labelspacing=0.25
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()
