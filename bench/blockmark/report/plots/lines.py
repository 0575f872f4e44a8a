"""The chart of lines over an axis: a panel a question, a line an implementation.

Names stand in the place that panels leave free, if that is enough, else below them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockmark.report.facts.numbers import whole_size
from blockmark.report.facts.picture import Drawn
from blockmark.report.plots.looks import FLOOR, Look
from blockmark.report.plots.style import INK, WIDTH, drawn, new_figure, panel_title
from blockmark.report.plots.ticks import log_ticks, million_word, percent_word, time_word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_COLUMNS = 3
# Height of a panel in inches, by the number of columns.
_HEIGHTS = {1: 4.0, 2: 2.9, 3: 2.45}
# Inside a panel, in inches: names of the marks on the left and below, the title above.
_LEFT, _BOTTOM, _TOP, _RIGHT = 0.68, 0.48, 0.32, 0.12
_Y_LABEL = 0.22
_HEAD, _LEGEND_LINE = 0.4, 0.185
_WORDS = {"ns": time_word, "share": percent_word, "1/s": million_word}
_PALE = 0.4
# A panel of nearly equal values must not blow up their noise.
_LEAST_REACH = 4.0
# Half of a mark with some air, as a share of a panel's height.
_MARK = 0.03
_MOST_BINARY = 7


@dataclass(frozen=True, slots=True)
class Mark:
    """A value, with the range of its rounds; `y` is NaN where the line is broken.

    An `empty` mark is a value that is not told from its floor.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A line, its name in the legend and its marks; those `beside` it are pale."""

    name: str
    look: Look
    marks: tuple[Mark, ...]
    beside: tuple[Mark, ...] = ()
    thin: bool = False
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines on one pair of axes; y is logarithmic, in `unit`.

    `places` of x are named by `titles`, or by `short` where there is no room; without these
    the axis has round numbers and holds all `places`. `guides` are (y, what it is) with a line
    through the panel. Beyond `shade_x` or `shade_y` the panel is shaded, and said why.
    """

    title: str
    series: tuple[Series, ...]
    unit: str
    x_label: str = ""
    y_label: str = ""
    places: tuple[float, ...] = ()
    titles: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    logarithmic: bool = True
    guides: tuple[tuple[float, str], ...] = ()
    shade_x: tuple[float, str] | None = None
    shade_y: tuple[float, str] | None = None

    @property
    def ends(self) -> list[float]:
        """All values above zero, the ends of their ranges, and where shade begins."""
        marks = [mark for each in self.series for mark in (*each.marks, *each.beside)]
        found = [y for mark in marks for y in (mark.y, mark.low, mark.high)]
        found += [self.shade_y[0]] if self.shade_y is not None else []
        return [y for y in found if y and not math.isnan(y)]


def draw_lines(
    panels: Sequence[Panel], title: str, *, alike: bool = False, pale: str = ""
) -> Drawn:
    """The picture; `panels` must not be empty, and each has a value above zero or a shade.

    Panels that are `alike` have one range of y. `pale` says what marks beside lines are.
    """
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    panel_height = _HEIGHTS[columns]
    handles = _handles(panels, pale)
    longest = max(len(str(handle.get_label())) for handle in handles)
    panel_width = (WIDTH - 0.1) / columns
    free = columns * rows - len(panels)
    name_width = 0.72 + 0.064 * longest
    across = int((panel_width * free - _LEFT) / name_width)
    beside = across >= 1 and _LEGEND_LINE * math.ceil(len(handles) / across) < panel_height - 0.6
    if not beside:
        across = max(1, int((WIDTH - 0.3) / name_width))
    below = 0.06 if beside else _LEGEND_LINE * math.ceil(len(handles) / across) + 0.15
    height = _HEAD + panel_height * rows + below
    figure = new_figure(height, title)
    common = [end for panel in panels for end in panel.ends] if alike else None
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        inside = _LEFT + (_Y_LABEL if any(each.y_label for each in panels) else 0.0)
        left = panel_width * column + inside
        bottom = height - _HEAD - panel_height * (row + 1) + _BOTTOM
        axes = figure.add_axes(
            (
                left / WIDTH,
                bottom / height,
                (panel_width - inside - _RIGHT) / WIDTH,
                (panel_height - _BOTTOM - _TOP) / height,
            )
        )
        _panel(
            axes,
            panel,
            common or panel.ends,
            x_label=place + columns >= len(panels),
            y_label=not (alike and column),
        )
    if beside:
        left = panel_width * (columns - free) + _LEFT
        _legend(figure, handles, across, left / WIDTH, (below + panel_height - _TOP) / height)
    else:
        _legend(figure, handles, across, 0.1 / WIDTH, below / height)
    return drawn(figure)


def _panel(
    axes: Axes, panel: Panel, ends: Sequence[float], *, x_label: bool, y_label: bool
) -> None:
    panel_title(axes, panel.title)
    binary = panel.unit == "bytes"
    axes.set_yscale("log", base=2 if binary else 10)
    low, high = min(ends), max(ends)
    reach, middle = max(high / low, _LEAST_REACH), math.sqrt(low * high)
    axes.set_ylim(middle / reach**0.58, middle * reach**0.58)
    # Both ranges are set before anything is drawn, so that nothing is scaled by itself.
    shortened = _x_axis(axes, panel)
    for each in panel.series:
        _series(axes, each)
    if binary:
        _binary_ticks(axes)
    else:
        log_ticks(axes.yaxis, words=_WORDS.get(panel.unit))
    for y, name in panel.guides:
        if axes.get_ylim()[0] < y < axes.get_ylim()[1]:
            axes.axhline(y, color=FLOOR, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
            _say(axes, name, (0, y), ("axes fraction", "data"), (4, 2))
    if panel.shade_x is not None:
        x, why = panel.shade_x
        axes.axvspan(x, axes.get_xlim()[1], color="#eeeeee", zorder=0, linewidth=0)
        _say(axes, why, (x, 0), ("data", "axes fraction"), (3, 4))
    if panel.shade_y is not None:
        y, why = panel.shade_y
        axes.axhspan(y, axes.get_ylim()[1], color="#f3e3dc", zorder=0, linewidth=0)
        _say(axes, why, (0, 1), ("axes fraction", "axes fraction"), (5, -11))
    axes.grid(True, which="major")
    if x_label and panel.x_label:
        key = " (Ki: 1,024)" if shortened else ""
        axes.set_xlabel(f"{panel.x_label}{key}", labelpad=2, parse_math=False)
    if panel.y_label and y_label:
        axes.set_ylabel(panel.y_label, parse_math=False)


def _say(
    axes: Axes, text: str, at: tuple[float, float], where: Any, apart: tuple[float, float]
) -> None:
    axes.annotate(
        text, at, xycoords=where, xytext=apart, textcoords="offset points", size=8, color=FLOOR
    )


def _style(series: Series) -> dict[str, Any]:
    """How a line and its marks are drawn, in a panel and in the legend."""
    look = series.look
    return {
        "color": look.color,
        "linestyle": look.line if series.joined else "none",
        "linewidth": 1.1 if series.thin else 1.6,
        "marker": look.marker,
        "markersize": 4.5,
        "markeredgecolor": look.color,
        "markerfacecolor": look.color if look.filled else "white",
    }


def _series(axes: Axes, series: Series) -> None:
    """A point for each value; the line is broken where there is none."""
    style = _style(series) | {"zorder": 2.5 if series.thin else 4}
    for mark in series.marks:
        if mark.low and mark.high is not None:
            _range(axes, mark, series.look.color)
    xs, ys = [mark.x for mark in series.marks], [mark.y for mark in series.marks]
    axes.plot(xs, ys, **style | {"marker": ""})
    for empty in (False, True):
        chosen = [mark for mark in series.marks if mark.empty == empty]
        face = {"markerfacecolor": "white"} if empty else {}
        axes.plot(
            [mark.x for mark in chosen],
            [mark.y for mark in chosen],
            **style | {"linestyle": "none"} | face,
        )
    for mark in series.beside:
        axes.plot([mark.x], [mark.y], **style | {"linestyle": "none", "alpha": _PALE})


def _range(axes: Axes, mark: Mark, color: str) -> None:
    """A bar from end to end, with a cap on each end that the mark does not hide."""
    ends = [end for end in (mark.low, mark.high) if end]
    axes.vlines(mark.x, ends[0], ends[-1], colors=color, linewidth=1.4, alpha=0.8, zorder=3)
    low, high = axes.get_ylim()
    hidden = (high / low) ** _MARK
    caps = [end for end in ends if end < mark.y / hidden or end > mark.y * hidden]
    axes.plot(
        [mark.x] * len(caps), caps, "_", color=color, markersize=5, markeredgewidth=1.1, zorder=3
    )


def _binary_ticks(axes: Axes) -> None:
    """Sizes in powers of two, whole in their unit: `128 KiB`."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = axes.get_ylim()
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    stride = max(1, math.ceil((last - first + 1) / _MOST_BINARY))
    places = [2.0**power for power in range(first, last + 1) if power % stride == 0]
    axes.yaxis.set_major_locator(FixedLocator(places))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: whole_size(y)))


def _x_axis(axes: Axes, panel: Panel) -> bool:
    """A mark at each place; names at as many as have room, both ends among them.

    Returns whether the names are shortened to powers of 1,024.
    """
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter

    if panel.logarithmic:
        axes.set_xscale("log")
    if not panel.titles:
        xs = [mark.x for each in panel.series for mark in (*each.marks, *each.beside)]
        xs += panel.places
        axes.set_xlim(min(xs) / 1.5, max(xs) * 1.7)
        log_ticks(axes.xaxis)
        return False
    places = [math.log(x) if panel.logarithmic else x for x in panel.places]
    margin = 0.06 * (places[-1] - places[0]) or 0.5
    ends = [places[0] - margin, places[-1] + margin]
    axes.set_xlim(*(math.exp(end) if panel.logarithmic else end for end in ends))
    inches = axes.get_position().width * axes.figure.get_figure(root=True).get_figwidth()
    inches_each = inches / (ends[1] - ends[0])
    titles = panel.titles
    named = _with_room(places, titles, inches_each)
    if len(named) < len(places) and panel.short:
        titles = panel.short
        named = _with_room(places, titles, inches_each)
    axes.xaxis.set_major_locator(FixedLocator([panel.places[index] for index in named]))
    axes.xaxis.set_major_formatter(FixedFormatter([titles[index] for index in named]))
    axes.xaxis.set_minor_locator(FixedLocator(list(panel.places)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=2)
    return titles != panel.titles


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
    return [*named, last] if last else named


def _handles(panels: Sequence[Panel], pale: str) -> list[Line2D]:
    from matplotlib.lines import Line2D

    found: dict[str, Series] = {}
    for panel in panels:
        for each in panel.series:
            found.setdefault(each.name, each)
    ordered = sorted(found.values(), key=lambda each: each.thin)
    handles = [Line2D([], [], label=each.name, **_style(each)) for each in ordered]
    key: dict[str, Any] = {"color": INK, "linestyle": "none", "marker": "o", "markersize": 4.5}
    marks = [mark for panel in panels for each in panel.series for mark in each.marks]
    if any(mark.empty for mark in marks):
        label = "empty: not told from the floor, or below it"
        handles.append(Line2D([], [], markerfacecolor="white", label=label, **key))
    if pale and any(each.beside for panel in panels for each in panel.series):
        handles.append(Line2D([], [], alpha=_PALE, label=pale, **key))
    return handles


def _legend(
    figure: Figure, handles: Iterable[Line2D], columns: int, left: float, top: float
) -> None:
    """Names with their upper left corner there, in fractions of the figure."""
    legend = figure.legend(
        handles=list(handles),
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
