"""The chart of tails: which share of the samples takes longer than the time on the axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.report.facts.picture import Drawn
from blockmark.report.plots.looks import FLOOR, Look, looks
from blockmark.report.plots.style import WIDTH, drawn, new_figure, panel_title, short_name
from blockmark.report.plots.ticks import log_ticks, percent_word, time_word
from blockmark.runs.histogram import bucket_range
from blockmark.runs.model import Cell, HistogramData, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GUIDES = (("p50", 0.5), ("p99", 0.01), ("p99.9", 0.001))
_LEFT, _RIGHT, _BETWEEN = 0.88, 0.42, 0.2
_LEGEND_LINE = 0.175
# Below it a latency of a pool that threads share is that of reading the clock.
CLOCK_NS = 30.0


@dataclass(frozen=True, slots=True)
class Tail:
    """One cell's samples, all rounds together: their ends and the shares beyond; see `tail`."""

    cell: Cell
    ends: tuple[int, ...]
    shares: tuple[float, ...]
    samples: int


def tails_of(cells: Sequence[Cell], metric: str) -> list[Tail]:
    """Those of the cells that have samples of the metric, one of them above zero."""
    found = []
    for cell in cells:
        value = cell.metric(metric) if cell.ok else None
        samples = sum(each.samples for each in value.histograms) if value is not None else 0
        if value is not None and samples and max(each.max for each in value.histograms) > 0:
            ends, shares = tail(value.histograms)
            found.append(Tail(cell, tuple(ends), tuple(shares), samples))
    return found


def tail(histograms: Sequence[HistogramData]) -> tuple[list[int], list[float]]:
    """(ns, share of the samples that took longer), ascending; the last share is 0.

    Each bucket counts at its upper end, the last at the exact maximum.
    """
    counts: dict[int, int] = {}
    for histogram in histograms:
        for index, count in histogram.counts:
            counts[index] = counts.get(index, 0) + count
    total, largest = sum(counts.values()), max((each.max for each in histograms), default=0)
    ends, shares, seen = [], [], 0
    for index in sorted(counts):
        seen += counts[index]
        ends.append(min(bucket_range(index)[1], largest))
        shares.append(1 - seen / total if seen < total else 0.0)
    return ends, shares


def draw_tails(
    run: Run,
    panels: Sequence[tuple[str, Sequence[Tail]]],
    title: str,
    *,
    what: str,
    thing: str,
    clock: bool = False,
) -> Drawn | None:
    """A panel for each (title, tails) that has any, on one range of shares; None without one.

    `what` is the time on the axis, `thing` what there are shares of. With `clock` times below
    `CLOCK_NS` lie behind a veil.
    """
    shown = [(name, tails) for name, tails in panels if tails]
    if not shown:
        return None
    rows = max(len(tails) for _, tails in shown)
    height = 3.9 + _LEGEND_LINE * rows
    figure = new_figure(height, title)
    styles = looks(run.implementations)
    fewest = min(1 / each.samples for _, tails in shown for each in tails)
    each_width = (WIDTH - _LEFT) / len(shown)
    for number, (name, tails) in enumerate(shown):
        left, bottom = _LEFT + each_width * number, 0.62 + _LEGEND_LINE * rows
        last = number == len(shown) - 1
        room = each_width - (_RIGHT if last else _BETWEEN)
        axes = figure.add_axes((left / WIDTH, bottom / height, room / WIDTH, 2.6 / height))
        panel_title(axes, name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for each in tails:
            _curve(axes, each, styles[each.cell.impl])
        axes.set_ylim(fewest / 1.5, 1.4)
        axes.set_xlabel(what)
        axes.grid(True, which="major")
        if clock:
            _veil(axes)
        log_ticks(axes.xaxis, most=max(3, 6 - len(shown)), words=time_word)
        log_ticks(axes.yaxis, words=percent_word)
        _guides(axes, fewest, named=last)
        if number == 0:
            axes.set_ylabel(f"share of {thing} that take longer")
        else:
            axes.tick_params(axis="y", labelleft=False)
        legend = axes.legend(
            loc="upper left",
            bbox_to_anchor=(-0.04, -0.19),
            ncols=1,
            handlelength=3.2,
            labelspacing=0.25,
            borderaxespad=0,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    return drawn(figure)


def _curve(axes: Axes, each: Tail, look: Look) -> None:
    # The curve starts at 1 where the fastest sample is, and ends on the slowest one, which
    # stands for itself: one of all.
    x = [max(end, 1) for end in (each.ends[0], *each.ends)]
    y = [1.0, *each.shares[:-1], 1 / each.samples]
    style: dict[str, Any] = {
        "color": look.color,
        "markersize": 5,
        "markerfacecolor": look.color if look.filled else "white",
    }
    line: dict[str, Any] = {"linestyle": look.line, "linewidth": 1.7 if look.filled else 1.1}
    # Between two samples that were seen nothing is known, so the curve stays level.
    axes.plot(x, y, drawstyle="steps-post", zorder=3 if look.filled else 2, **style, **line)
    # A single sample has no median of its own.
    middle = [end for end, share in zip(x, y, strict=True) if share <= 0.5][:1]
    marks = [*middle, x[-1]], [*[0.5] * len(middle), y[-1]]
    axes.plot(*marks, linestyle="none", marker=look.marker, zorder=4, **style)
    name = short_name(each.cell.impl.partition("[call_style=")[0])
    axes.plot([], [], marker=look.marker, label=name, **style, **line)


def _veil(axes: Axes) -> None:
    """Steps of the clock are no latencies."""
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, CLOCK_NS / 2), high)
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


def _guides(axes: Axes, fewest: float, *, named: bool) -> None:
    """Where a curve crosses one of these lines stands its quantile."""
    for label, share in _GUIDES:
        if share > fewest:
            axes.axhline(share, color=FLOOR, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
            axes.annotate(
                label if named else "",
                (1, share),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                size=8,
                color=FLOOR,
            )
