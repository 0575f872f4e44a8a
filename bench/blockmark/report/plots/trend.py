"""A metric over runs: a panel a cell, each on a scale of its own, with its changes marked.

On one axis for all, which would have to span decades, no change of five per cent could be
seen; so every panel shows its own range, and the figures at its ends say what that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from blockmark.report.facts.numbers import scale_for, significant
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import setting_name
from blockmark.report.facts.versions import run_title
from blockmark.report.plots.looks import FLOOR, Look, looks
from blockmark.report.plots.style import BAD, INK, WIDTH, drawing, drawn, new_figure, short_name
from blockmark.report.tables.history import change_words
from blockmark.runs.model import Run
from blockmark.verdict.history import History, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More panels than this are no picture any more.
MOST_PANELS = 24
_COLUMNS = 2
_MOST_LABELS = 6
_PANEL_HEIGHT = 1.25
_LEFT, _GAP = 0.75, 0.45
# The least height of a panel's range, as a share of the largest value: a change of ten per
# cent must not look like a cliff.
_LEAST_RANGE = 0.5


def draw_trend(history: History) -> Drawn:
    """The picture: the first `MOST_PANELS` series; the same history, the same bytes."""
    shown = history.series[:MOST_PANELS]
    columns = min(_COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    panel_width = (WIDTH - 0.15) / columns - _LEFT
    height = rows * (_PANEL_HEIGHT + _GAP) + 1.35
    styles = looks(history.runs[-1].implementations)
    with drawing():
        quick = sum(run.quick for run in history.runs)
        warning = f" ({quick} of them quick: not for decisions)" if quick else ""
        title = f"{history.metric} over {len(history.runs)} runs{warning}"
        figure = new_figure(height, title)
        for number, series in enumerate(shown):
            row, column = divmod(number, columns)
            left = column * (_LEFT + panel_width) + _LEFT
            bottom = height - 0.85 - _PANEL_HEIGHT - row * (_PANEL_HEIGHT + _GAP)
            axes = figure.add_axes(
                (left / WIDTH, bottom / height, panel_width / WIDTH, _PANEL_HEIGHT / height)
            )
            # The runs are named once in each column, below its last panel.
            last = number + columns >= len(shown)
            _panel(axes, history, series, styles[series.cell.impl], named=last)
        return drawn(figure)


def _panel(axes: Axes, history: History, series: Series, look: Look, *, named: bool) -> None:
    known = [
        (place, value)
        for place, value in enumerate(series.values)
        if value is not None and value.value is not None
    ]
    scale = scale_for([value.value for _, value in known], known[0][1].unit)
    factor = scale.factor
    places = [place for place, _ in known]
    heights = [(value.value or 0.0) * factor for _, value in known]
    ends = [
        (
            place,
            (value.low if value.low is not None else value.value or 0.0) * factor,
            (value.high if value.high is not None else value.value or 0.0) * factor,
        )
        for place, value in known
    ]
    for place, low, high in ends:
        axes.plot([place] * 2, [low, high], color=look.color, linewidth=1, alpha=0.6, zorder=2)
    axes.plot(
        places,
        heights,
        color=look.color,
        linestyle=look.line,
        marker=look.marker,
        markersize=4.5,
        markerfacecolor=look.color if look.filled else "white",
        zorder=3,
    )
    for place in set(range(len(history.runs))).difference(places):
        axes.plot(
            [place], [0.04], "x", color=FLOOR, markersize=5, transform=axes.get_xaxis_transform()
        )
    for number, one in enumerate(series.changes):
        axes.axvline(one.index - 0.5, color=BAD, linewidth=1, linestyle=(0, (3, 2)), zorder=1)
        axes.annotate(
            change_words(series, number, history.metric),
            (one.index - 0.5, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -8),
            textcoords="offset points",
            size=7.5,
            color=BAD,
            zorder=4,
        )
    _set_limits(axes, heights, [end for _, low, high in ends for end in (low, high)])
    unit = f", {scale.label}" if scale.label not in ("", "count") else ""
    axes.set_title(f"{_name(history, series)}{unit}", loc="left", parse_math=False)
    _set_ticks(axes, history, named=named)


def _set_limits(axes: Axes, heights: Sequence[float], ends: Sequence[float]) -> None:
    """The values and their intervals, with one interval's wild end cut off."""
    low, high = min(heights), max(heights)
    room = max(high - low, _LEAST_RANGE * high, 1e-12)
    top = min(max(ends), high + room)
    bottom = max(min(ends), low - room)
    middle = max(top - bottom, room)
    axes.set_ylim(bottom - 0.15 * middle, top + 0.35 * middle)


def _set_ticks(axes: Axes, history: History, *, named: bool) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    count = len(history.runs)
    step = max(1, -(-count // _MOST_LABELS))
    chosen = list(range(0, count, step))
    labels = [_label(history.runs[place]) for place in chosen]
    axes.set_xlim(-0.6, count - 0.4)
    axes.xaxis.set_major_locator(FixedLocator(chosen))
    axes.set_xticklabels(labels if named else [])
    axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: significant(y, 3)))
    axes.tick_params(labelsize=7.5, labelcolor=INK)
    axes.grid(True, axis="y")


def _label(run: Run) -> str:
    """The run's number and name, and below it the day and the time."""
    return f"{short_name(run_title(run))[:12]}\n{run.created[5:16].replace('T', ' ')}"


def _name(history: History, series: Series) -> str:
    last = history.runs[-1]
    setting = last.setting_by_key[series.cell.setting]
    parts = [short_name(series.cell.impl)]
    if len(last.scenarios) > 1:
        parts.append(setting.scenario)
    if name := setting_name(last, setting):
        parts.append(name)
    return ", ".join(parts)
