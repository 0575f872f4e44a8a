"""Distribution of step latency: which share of the steps takes longer than x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from blockmark.report.numbers import scale_for, significant
from blockmark.report.order import by_call_style
from blockmark.report.plots.style import FLOOR, Look, looks, new_figure, png, short_name
from blockmark.runs.histogram import bucket_range
from blockmark.runs.model import Cell, HistogramData, Run, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

METRIC = "step_latency_ns"
_GUIDES = (("p50", 0.5), ("p99", 0.01), ("p99.9", 0.001))
_PANEL = 5.0
_LEGEND_LINE = 0.165


def draw_latencies(run: Run, setting: Setting, title: str) -> bytes | None:
    """The picture as PNG; None if no cell of the setting has a histogram.

    The steps of all rounds are counted together. Calls from Python have a panel of
    their own: they are slower by orders of magnitude.
    """
    groups = dict(by_call_style(run.cells_of(setting.key)))
    native = _with_curves(groups.get("native", []))
    called = _with_curves([*groups.get("per-op", []), *groups.get("per-step", [])])
    called.sort(key=lambda curve: curve[0].kind == "control")
    panels = [
        (name, curves)
        for name, curves in (("native loop", native), ("called from Python", called))
        if curves
    ]
    if not panels:
        return None
    rows = max(len(curves) for _, curves in panels)
    width, height = _PANEL * len(panels) + 0.3, 4.25 + _LEGEND_LINE * rows
    figure = new_figure(width, height, title)
    styles = looks(run.implementations)
    fewest = min(1 / samples for _, curves in panels for *_, samples in curves)
    for number, (name, curves) in enumerate(panels):
        left, bottom = 0.9 + _PANEL * number, 0.65 + _LEGEND_LINE * rows
        axes = figure.add_axes((left / width, bottom / height, 4.05 / width, 2.95 / height))
        axes.set_title(name, loc="left")
        _curves(axes, curves, styles)
        axes.set_ylim(fewest / 1.5, 1.4)
        _guides(axes, fewest)
        if number == 0:
            axes.set_ylabel("share of steps that take longer")
        legend = axes.legend(
            handles=[_handle(cell, styles[cell.impl]) for cell, *_ in curves],
            loc="upper left",
            bbox_to_anchor=(-0.02, -0.17),
            ncols=1,
            handlelength=3.2,
            labelspacing=0.25,
            borderaxespad=0,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    return png(figure)


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
    _readable_ticks(axes)


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
        label=short_name(cell.impl),
    )


def _guides(axes: Axes, fewest: float) -> None:
    """Where a curve crosses one of these lines stands its quantile."""
    for label, share in _GUIDES:
        if share > fewest:
            axes.axhline(share, color=FLOOR, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
            axes.annotate(
                label,
                (1, share),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                size=8,
                color=FLOOR,
            )


def _readable_ticks(axes: Axes) -> None:
    """1, 2, 5, 10 for times, per cent for shares; more names only where few fit a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim()
    subs = (1.0, 2.0, 5.0) if high / low < 50 else (1.0, 3.0) if high / low < 2000 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: significant(x, 1)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{significant(y * 100, 1)} %"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=2)
