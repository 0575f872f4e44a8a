"""Share of one core against step rate, as paced loops met it, and where each is full."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.report.growth import Line, lines_of
from blockmark.report.numbers import significant
from blockmark.report.order import value_of
from blockmark.report.plots.style import FLOOR, INK, Look, looks, new_figure, png, short_name
from blockmark.report.rates import highest_rate, is_disturbed, is_saturated
from blockmark.report.sweep import Sweep, ranges
from blockmark.runs.model import MetricValue, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_FULL = 1.0
_ABOVE, _TOP = 1.75, 3.0
# An interval whose end is nearer than this factor is hidden by the mark.
_HIDDEN = 1.12
_PALE = 0.4
_DOTTED = (0, (1, 1.6))
_SHADE = "#f3e3dc"
_MOST_GAPS = 5


@dataclass(frozen=True, slots=True)
class Curve:
    """One implementation: what it held, where it fell behind, and how far it goes.

    `held`, `saturated` and `disturbed` are (rate, busy share) ascending; shares are above
    zero. `disturbed` loops fell behind through no fault of the implementation.
    `highest` is in steps a second, `step_ns` the time of a step back to back; both may
    be unknown.
    """

    line: Line
    held: tuple[tuple[float, MetricValue], ...]
    saturated: tuple[tuple[float, float], ...]
    disturbed: tuple[tuple[float, float], ...]
    highest: float | None
    step_ns: float | None

    @property
    def label(self) -> str:
        """`flat-stack/cpp  holds 1,060,000/s`."""
        name = short_name(self.line.impl)
        return name if self.highest is None else f"{name}  holds {significant(self.highest)}/s"


def curves_of(run: Run, sweep: Sweep) -> list[Curve]:
    """Those with a share above zero at one rate or more, dearest first, controls last."""
    curves = []
    for line in (line for lines in lines_of(run, sweep).values() for line in lines):
        held: list[tuple[float, MetricValue]] = []
        saturated: list[tuple[float, float]] = []
        disturbed: list[tuple[float, float]] = []
        for rate, cell in zip(sweep.values, line.cells, strict=True):
            busy = cell.metric("busy_share") if cell is not None and cell.ok else None
            if cell is None or busy is None or not busy.value:
                continue
            if is_saturated(cell):
                saturated.append((rate, busy.value))
            elif is_disturbed(cell):
                disturbed.append((rate, busy.value))
            else:
                held.append((rate, busy))
        if held or saturated or disturbed:
            steps = [
                step
                for cell in line.cells
                if cell is not None and (step := value_of(cell, "step_ns"))
            ]
            curves.append(
                Curve(
                    line,
                    tuple(held),
                    tuple(saturated),
                    tuple(disturbed),
                    highest_rate(line) or None,
                    statistics.median(steps) if steps else None,
                )
            )
    return sorted(curves, key=lambda curve: (curve.line.control, _cost(curve)))


def gaps(sweep: Sweep, curves: Sequence[Curve]) -> str:
    """Which points are missing: `No hash-map/cpp at 50,000 (timeout).`; may be empty."""
    titles = sweep.titles()
    told = []
    for curve in curves:
        drawn = {rate for rate, _ in (*curve.held, *curve.saturated, *curve.disturbed)}
        missing: dict[str, list[bool]] = {}
        for place, (rate, cell) in enumerate(zip(sweep.values, curve.line.cells, strict=True)):
            if rate not in drawn:
                why = "not measured" if cell is None or cell.ok else cell.status
                missing.setdefault(why, [False] * len(titles))[place] = True
        told += [
            f"{curve.line.impl} at {ranges(titles, places)} ({why})"
            for why, places in missing.items()
        ]
    if not told:
        return ""
    rest = [f"{len(told) - _MOST_GAPS} more"] if len(told) > _MOST_GAPS else []
    return f"No {'; '.join(told[:_MOST_GAPS] + rest)}."


def draw_rates(run: Run, sweep: Sweep, curves: Sequence[Curve], title: str) -> bytes:
    """The picture as PNG. `curves` must not be empty."""
    styles = looks(run.implementations)
    longest = max(len(curve.label) for curve in curves)
    # The legend on the right takes what its longest line needs.
    width, height = 6.8 + 0.066 * max(longest, 28), 5.1
    figure = new_figure(width, height, title)
    axes = figure.add_axes((0.95 / width, 0.6 / height, 4.95 / width, 4.05 / height))
    axes.set_xscale("log")
    axes.set_yscale("log")
    # Both ranges are set before anything is drawn, so that nothing is scaled by itself.
    ends = [*sweep.values, *(curve.highest for curve in curves if curve.highest)]
    axes.set_xlim(min(ends) / 1.5, max(ends) * 1.7)
    shares = [busy.low or busy.value or _FULL for curve in curves for _, busy in curve.held]
    shares += [share for curve in curves for _, share in (*curve.saturated, *curve.disturbed)]
    axes.set_ylim(min([*shares, 0.1]) / 2, _TOP)
    axes.set_xlabel("scheduler steps per second")
    axes.set_ylabel("share of one core")
    _frame(axes)
    handles = [_curve(axes, curve, styles[curve.line.impl]) for curve in curves]
    _legends(axes, handles, curves)
    return png(figure)


def _cost(curve: Curve) -> float:
    """What orders curves: the rate that is held, else the rate at which a core would be full."""
    if curve.highest:
        return curve.highest
    held = ((rate, busy.value or _FULL) for rate, busy in curve.held)
    rate, share = next(iter((*held, *curve.disturbed, *curve.saturated)))
    return rate / share


def _curve(axes: Axes, curve: Curve, look: Look) -> Line2D:
    """The estimate first, so that what was measured lies on it."""
    from matplotlib.lines import Line2D

    color, first = look.color, axes.get_xlim()[0]
    full = 1e9 / curve.step_ns if curve.step_ns else 0.0
    if full > first:
        axes.plot(
            [first, full],
            [first / full, _FULL],
            color=color,
            linestyle=_DOTTED,
            linewidth=0.9,
            alpha=0.7,
            zorder=2,
        )
    for rate, busy in curve.held:
        _interval(axes, rate, busy, color)
    body: dict[str, Any] = {
        "color": color,
        "linestyle": look.line,
        "linewidth": 1.6 if look.filled else 1.1,
        "marker": look.marker,
        "markersize": 5,
        "markerfacecolor": _face(look),
        "zorder": 4 if look.filled else 3.5,
    }
    axes.plot(
        [rate for rate, _ in curve.held],
        [busy.value or 0.0 for _, busy in curve.held],
        **body,
    )
    for rate, share in curve.disturbed:
        pale = body | {"linestyle": "none", "alpha": _PALE, "zorder": 2.5}
        axes.plot([rate], [share], **pale)
    for rate, share in curve.saturated:
        axes.plot([rate], [share], "x", color=color, markersize=7, markeredgewidth=1.7, zorder=5)
    if curve.highest:
        axes.plot(
            [curve.highest],
            [_FULL],
            "|",
            color=color,
            markersize=15,
            markeredgewidth=2.4,
            zorder=4.5,
        )
        # Above it the implementation's own mark, which tells tiers of one colour apart.
        axes.plot(
            [curve.highest],
            [_ABOVE],
            look.marker,
            color=color,
            markerfacecolor=_face(look),
            markersize=4.5,
            zorder=4.5,
        )
    return Line2D([], [], label=curve.label, **body)


def _face(look: Look) -> str:
    return look.color if look.filled else "white"


def _interval(axes: Axes, rate: float, busy: MetricValue, color: str) -> None:
    """A bar from end to end, where an end is not hidden by the mark."""
    if not busy.low or busy.high is None or not busy.value:
        return
    if busy.high > busy.value * _HIDDEN or busy.low < busy.value / _HIDDEN:
        axes.vlines(rate, busy.low, busy.high, colors=color, linewidth=1.4, alpha=0.8, zorder=3)
        axes.plot(
            [rate, rate],
            [busy.low, busy.high],
            "_",
            color=color,
            markersize=5,
            markeredgewidth=1.1,
            zorder=3,
        )


def _legends(axes: Axes, handles: list[Line2D], curves: Sequence[Curve]) -> None:
    """Names on the right, and below them what the kinds of marks mean, as far as they occur."""
    from matplotlib.lines import Line2D

    names = axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.03, 1.02),
        alignment="left",
        handlelength=3.4,
        labelspacing=0.45,
        borderaxespad=0,
    )
    for text in names.get_texts():
        text.set_parse_math(False)
    marks = [Line2D([], [], color=INK, marker="o", markersize=5, label="paced loop")]
    if any(curve.step_ns for curve in curves):
        marks.append(
            Line2D(
                [], [], color=INK, linestyle=_DOTTED, linewidth=0.9, label="estimate, back to back"
            )
        )
    if any(curve.saturated for curve in curves):
        marks.append(_mark("x", 7, 1.7, "saturated: fell behind"))
    if any(curve.disturbed for curve in curves):
        marks.append(_mark("o", 5, 1.0, "disturbed: fell behind", _PALE))
    if any(curve.highest for curve in curves):
        marks.append(_mark("|", 12, 2.4, "highest rate that was held"))
    axes.add_artist(names)
    axes.legend(
        handles=marks,
        loc="lower left",
        bbox_to_anchor=(1.03, -0.02),
        alignment="left",
        handlelength=3.4,
        labelspacing=0.45,
        borderaxespad=0,
    )


def _mark(marker: str, size: float, edge: float, label: str, alpha: float = 1.0) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=INK,
        linestyle="none",
        marker=marker,
        markersize=size,
        markeredgewidth=edge,
        alpha=alpha,
        label=label,
    )


def _frame(axes: Axes) -> None:
    """Where a core is full, and names at the powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.axhspan(_FULL, axes.get_ylim()[1], color=_SHADE, zorder=0, linewidth=0)
    axes.annotate(
        "more than one core",
        (0, 1),
        xycoords="axes fraction",
        xytext=(5, -11),
        textcoords="offset points",
        size=8,
        color=FLOOR,
    )
    axes.grid(True, which="major")
    low, high = axes.get_xlim()
    # Few decades have room for names between their ends.
    axes.xaxis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 50 else (1.0,), numticks=12)
    )
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: significant(x, 1)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{significant(y * 100, 1)} %"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=2)
