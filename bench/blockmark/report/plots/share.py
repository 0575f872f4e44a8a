"""Estimated share of one core against the step rate: share = step time x rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockmark.report.numbers import count, percent, significant
from blockmark.report.order import value_of
from blockmark.report.plots.style import FLOOR, looks, new_figure, png, short_name
from blockmark.report.step_table import step_rate
from blockmark.runs.model import Run, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_RATE = 2000.0
_SLOWEST = 10.0
# Rates at which an engine's step takes this long, GPU included.
_STEPS_MS = (30, 10, 1)
_TOP = 2.0


def draw_shares(run: Run, setting: Setting, title: str) -> bytes | None:
    """The picture as PNG; None if no cell of the setting has a step time above zero."""
    steps = sorted(
        ((step, cell) for cell in run.cells_of(setting.key) if (step := value_of(cell, "step_ns"))),
        key=lambda pair: -pair[0],
    )
    if not steps:
        return None
    rate = step_rate(setting) or DEFAULT_RATE
    rates = [min(_SLOWEST, rate / 10), max(20_000.0, rate * 10)]
    styles = looks(run.implementations)
    labels = {
        cell.impl: f"{percent(step * rate / 1e9)}  {short_name(cell.impl)}" for step, cell in steps
    }
    # The legend on the right takes what its longest line needs.
    width, height = 6.75 + 0.066 * max(map(len, labels.values())), 5.2
    figure = new_figure(width, height, title)
    axes = figure.add_axes((0.95 / width, 0.6 / height, 4.85 / width, 3.85 / height))
    for step, cell in steps:
        look = styles[cell.impl]
        share = step * rate / 1e9
        axes.plot(
            [rates[0], rate, rates[1]],
            [step * rates[0] / 1e9, share, step * rates[1] / 1e9],
            color=look.color,
            linestyle=look.line,
            linewidth=1.6 if look.filled else 1.1,
            marker=look.marker,
            markevery=[1],
            markersize=6,
            markerfacecolor=look.color if look.filled else "white",
            label=labels[cell.impl],
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*rates)
    low = min(step for step, _ in steps) * rates[0] / 1e9
    axes.set_ylim(low / 2, max(_TOP, low * 10))
    axes.set_xlabel("scheduler steps per second")
    axes.set_ylabel("estimated share of one core")
    _frame(axes, rate)
    legend = axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.03, 1.02),
        title=f"at {count(rate)} steps/s",
        alignment="left",
        handlelength=3.4,
        labelspacing=0.45,
        borderaxespad=0,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return png(figure)


def _frame(axes: Axes, rate: float) -> None:
    """Where a core is full, how long an engine's step is, and the setting's own rate."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    low, high = axes.get_xlim()
    axes.axhspan(1.0, axes.get_ylim()[1], color="#f3e3dc", zorder=0, linewidth=0)
    axes.annotate(
        "more than one core",
        (0, 1.0),
        xycoords=("axes fraction", "data"),
        xytext=(5, 3),
        textcoords="offset points",
        size=8,
        color=FLOOR,
    )
    marks = [(1000 / milliseconds, f"{milliseconds} ms steps") for milliseconds in _STEPS_MS]
    for position, label in [*marks, (rate, f"{count(rate)}/s")]:
        if not low <= position <= high:
            continue
        own = position == rate
        axes.axvline(
            position, color=FLOOR, linewidth=0.9, linestyle="-" if own else (0, (1, 2)), zorder=1
        )
        axes.annotate(
            label,
            (position, 1),
            xycoords=("data", "axes fraction"),
            # A line higher, so that it may stand close to another.
            xytext=(0, 14 if own else 3),
            textcoords="offset points",
            ha="center",
            size=8,
            color=FLOOR,
        )
    axes.grid(True, which="major")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: significant(x, 1)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{significant(y * 100, 1)} %"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=2)
