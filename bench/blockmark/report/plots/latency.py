"""Distribution of step latency: which share of the steps takes longer than x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from blockmark.report.numbers import scale_for
from blockmark.report.order import CALL_STYLES, by_call_style
from blockmark.report.picture import Drawn
from blockmark.report.plots.looks import FLOOR, Look, looks
from blockmark.report.plots.rows import panel_title
from blockmark.report.plots.style import WIDTH, drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks, percent_word
from blockmark.runs.histogram import bucket_range
from blockmark.runs.model import Cell, HistogramData, Run, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

METRIC = "step_latency_ns"
_GUIDES = (("p50", 0.5), ("p99", 0.01), ("p99.9", 0.001))
_LEFT, _RIGHT, _BETWEEN = 0.88, 0.42, 0.2
_LEGEND_LINE = 0.175


def draw_latencies(run: Run, setting: Setting, title: str) -> Drawn | None:
    """The picture; None if no cell of the setting has a histogram.

    The steps of all rounds are counted together. Each way of calling has a panel: they differ
    by orders of magnitude, and no structure is there twice in one language.
    """
    groups = by_call_style(run.cells_of(setting.key))
    panels = [
        (CALL_STYLES[style], curves)
        for style, cells in groups
        if (curves := _with_curves(sorted(cells, key=lambda cell: cell.kind == "control")))
    ]
    if not panels:
        return None
    rows = max(len(curves) for _, curves in panels)
    height = 3.9 + _LEGEND_LINE * rows
    figure = new_figure(height, title)
    styles = looks(run.implementations)
    fewest = min(1 / samples for _, curves in panels for *_, samples in curves)
    each = (WIDTH - _LEFT) / len(panels)
    for number, (name, curves) in enumerate(panels):
        left, bottom = _LEFT + each * number, 0.62 + _LEGEND_LINE * rows
        last = number == len(panels) - 1
        room = each - (_RIGHT if last else _BETWEEN)
        axes = figure.add_axes((left / WIDTH, bottom / height, room / WIDTH, 2.6 / height))
        panel_title(axes, name)
        _curves(axes, curves, styles)
        axes.set_ylim(fewest / 1.5, 1.4)
        log_ticks(axes.yaxis, words=percent_word)
        _guides(axes, fewest, named=last)
        if number == 0:
            axes.set_ylabel("share of steps that take longer")
        else:
            axes.tick_params(axis="y", labelleft=False)
        legend = axes.legend(
            handles=[_handle(cell, styles[cell.impl]) for cell, *_ in curves],
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


def tail(histograms: Sequence[HistogramData]) -> tuple[list[int], list[float]]:
    """(ns, share of the steps that took longer), ascending; the last share is 0.

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


_Curve = tuple[Cell, list[int], list[float], int]


def _with_curves(cells: Sequence[Cell]) -> list[_Curve]:
    found = []
    for cell in cells:
        value = cell.metric(METRIC) if cell.ok else None
        samples = sum(each.samples for each in value.histograms) if value is not None else 0
        if value is not None and samples and max(each.max for each in value.histograms) > 0:
            found.append((cell, *tail(value.histograms), samples))
    return found


def _curves(axes: Axes, curves: Sequence[_Curve], styles: Mapping[str, Look]) -> None:
    scale = scale_for([float(ends[0]) for _, ends, *_ in curves], "ns", 0.1)
    for cell, ends, shares, samples in curves:
        look = styles[cell.impl]
        # The curve starts at 1 where the fastest step is, and ends on the slowest one,
        # which stands for itself: one step of all.
        x = [max(end, 1) * scale.factor for end in (ends[0], *ends)]
        y = [1.0, *shares[:-1], 1 / samples]
        # A single step has no median of its own.
        middle = [end for end, share in zip(x, y, strict=True) if share <= 0.5][:1]
        axes.plot(
            x,
            y,
            # Between two steps that were seen nothing is known, so the curve stays level.
            drawstyle="steps-post",
            color=look.color,
            linestyle=look.line,
            linewidth=1.7 if look.filled else 1.1,
            zorder=3 if look.filled else 2,
        )
        axes.plot(
            [*middle, x[-1]],
            [*[0.5] * len(middle), y[-1]],
            color=look.color,
            linestyle="none",
            marker=look.marker,
            markersize=5,
            markerfacecolor=look.color if look.filled else "white",
            zorder=4,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"step latency, {scale.label}")
    axes.grid(True, which="major")
    log_ticks(axes.xaxis)


def _handle(cell: Cell, look: Look) -> Line2D:
    """A curve's line and mark for the legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=look.color,
        linestyle=look.line,
        linewidth=1.7 if look.filled else 1.1,
        marker=look.marker,
        markersize=5,
        markerfacecolor=look.color if look.filled else "white",
        label=short_name(cell.impl.partition("[call_style=")[0]),
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
