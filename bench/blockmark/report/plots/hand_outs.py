"""What a pool trades: the cost of taking a block against how contiguous a hand-out is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark.report.growth import Line, lines_of
from blockmark.report.numbers import significant
from blockmark.report.order import value_of
from blockmark.report.plots.style import INK, Look, looks, new_figure, png, short_name
from blockmark.report.sweep import Sweep
from blockmark.runs.model import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Marks grow along the settings, from the first to the last.
_SMALLEST, _LARGEST = 4.0, 10.0
_ROOM = 1.35


@dataclass(frozen=True, slots=True)
class Trail:
    """One implementation: (neighbours in a hand-out, ns to take a block) of each setting, in
    the order of the settings; both above zero.
    """

    line: Line
    points: tuple[tuple[float, float], ...]


def trails_of(run: Run, sweep: Sweep) -> list[Trail]:
    """Those that have both in one setting or more, dearest first.

    None where whole steps were measured: there a pool is a part, and no answer.
    """
    trails = []
    for lines in lines_of(run, sweep).values():
        for line in lines:
            points = []
            for cell in line.cells:
                if cell is None or not cell.ok:
                    continue
                if cell.metric("step_ns") is not None:
                    return []
                run_length, cost = value_of(cell, "take_run_length"), value_of(cell, "take_ns")
                if run_length and cost:
                    points.append((run_length, cost))
            if points:
                trails.append(Trail(line, tuple(points)))
    return sorted(trails, key=lambda trail: -trail.points[-1][1])


def draw_hand_outs(run: Run, trails: list[Trail], title: str) -> bytes:
    """The picture as PNG. `trails` must not be empty."""
    styles = looks(run.implementations)
    names = [short_name(trail.line.impl) for trail in trails]
    # The legend on the right takes what its longest line needs.
    width, height = 6.6 + 0.075 * max(map(len, names)), 4.8
    figure = new_figure(width, height, title)
    axes = figure.add_axes((0.85 / width, 0.6 / height, 4.9 / width, 3.75 / height))
    axes.set_xscale("log")
    axes.set_yscale("log")
    # Both ranges are set before anything is drawn, so that nothing is scaled by itself.
    for set_limits, place in ((axes.set_xlim, 0), (axes.set_ylim, 1)):
        ends = [point[place] for trail in trails for point in trail.points]
        set_limits(min(ends) / _ROOM, max(ends) * _ROOM)
    axes.set_xlabel("neighbours in a hand-out, blocks: further right moves in fewer copies")
    axes.set_ylabel("taking a block, ns")
    _ticks(axes)
    handles = [_trail(axes, trail, styles[trail.line.impl]) for trail in trails]
    axes.legend(handles, names, loc="upper left", bbox_to_anchor=(1.03, 1.0), borderaxespad=0)
    return png(figure)


def _trail(axes: Axes, trail: Trail, look: Look) -> Line2D:
    across, up = zip(*trail.points, strict=True)
    (line,) = axes.plot(across, up, color=look.color, linestyle=look.line, linewidth=1.2)
    last = max(1, len(trail.points) - 1)
    for place, (x, y) in enumerate(trail.points):
        axes.plot(
            [x],
            [y],
            marker=look.marker,
            markersize=_SMALLEST + (_LARGEST - _SMALLEST) * place / last,
            color=look.color,
            markerfacecolor=look.color if look.filled else "white",
        )
    line.set_marker(look.marker)
    line.set_markevery([])
    return line


def _ticks(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 2)))
    axes.tick_params(labelsize=8, labelcolor=INK)
    axes.grid(True)
