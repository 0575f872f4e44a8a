"""Share of one core against step rate, as paced loops met it, and where each is full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.report.growth import Line, lines_of
from blockmark.report.numbers import significant
from blockmark.report.picture import Drawn
from blockmark.report.plots.looks import FLOOR, Look, looks
from blockmark.report.plots.style import INK, WIDTH, drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks, percent_word
from blockmark.report.rates import highest_rate, is_disturbed, is_saturated
from blockmark.report.sweep import Sweep, ranges
from blockmark.runs.model import MetricValue, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_FULL = 1.0
_TOP = 2.0
# An interval whose end is nearer than this factor is hidden by the mark.
_HIDDEN = 1.12
_PALE = 0.4
_SHADE = "#f3e3dc"
_MOST_GAPS = 5


@dataclass(frozen=True, slots=True)
class Curve:
    """One implementation: what it held, where it fell behind, and how far it goes.

    `held`, `saturated` and `disturbed` are (rate, busy share) ascending; shares are above
    zero. `disturbed` loops fell behind through no fault of the implementation.
    `highest` is in steps a second and may be unknown.
    """

    line: Line
    held: tuple[tuple[float, MetricValue], ...]
    saturated: tuple[tuple[float, float], ...]
    disturbed: tuple[tuple[float, float], ...]
    highest: float | None

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
            curves.append(
                Curve(
                    line,
                    tuple(held),
                    tuple(saturated),
                    tuple(disturbed),
                    highest_rate(line) or None,
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


def draw_rates(run: Run, sweep: Sweep, curves: Sequence[Curve], title: str) -> Drawn:
    """The picture. `curves` must not be empty."""
    styles = looks(run.implementations)
    rows = -(-len(curves) // 2)
    height = 4.2 + 0.19 * rows
    figure = new_figure(height, title)
    bottom = 0.75 + 0.19 * rows
    inside = (
        0.75 / WIDTH,
        bottom / height,
        (WIDTH - 0.9) / WIDTH,
        (height - bottom - 0.4) / height,
    )
    axes = figure.add_axes(inside)
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
    _legend(figure, handles, curves)
    return drawn(figure)


def _cost(curve: Curve) -> float:
    """What orders curves: the rate that is held, else the rate at which a core would be full."""
    if curve.highest:
        return curve.highest
    held = ((rate, busy.value or _FULL) for rate, busy in curve.held)
    rate, share = next(iter((*held, *curve.disturbed, *curve.saturated)))
    return rate / share


def _curve(axes: Axes, curve: Curve, look: Look) -> Line2D:
    """The points that were held, and a line on to where the core is full."""
    from matplotlib.lines import Line2D

    color = look.color
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
    points = [(rate, busy.value or 0.0) for rate, busy in curve.held]
    if curve.highest:
        points.append((curve.highest, _FULL))
    axes.plot([rate for rate, _ in points], [share for _, share in points], **body)
    for rate, share in curve.disturbed:
        pale = body | {"linestyle": "none", "alpha": _PALE, "zorder": 2.5}
        axes.plot([rate], [share], **pale)
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


def _legend(figure: Figure, handles: list[Line2D], curves: Sequence[Curve]) -> None:
    """Names with the rates that were held, below; and what pale marks are, if there are any."""
    from matplotlib.lines import Line2D

    if any(curve.disturbed for curve in curves):
        label = "pale: disturbed, fell behind"
        handles = [
            *handles,
            Line2D([], [], color=INK, linestyle="none", marker="o", alpha=_PALE, label=label),
        ]
    legend = figure.legend(
        handles=handles, loc="lower left", ncols=2, handlelength=3.4, labelspacing=0.3
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _frame(axes: Axes) -> None:
    """Where a core is full, and names at the powers of ten."""

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
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis, words=percent_word)
