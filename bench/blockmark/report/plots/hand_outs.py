"""What a pool trades: the cost of taking a block against how contiguous a hand-out is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from blockmark.report.facts.floors import floor_mark
from blockmark.report.facts.growth import Line, lines_of
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.sweep import Sweep
from blockmark.report.plots.looks import looks
from blockmark.report.plots.style import WIDTH, drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks, time_word
from blockmark.runs.model import Run

_ROOM = 1.35
# Runs that differ by less are no trade: a mark beside another would say nothing.
_LEAST_TRADE = 1.2
_NAME = 0.16  # inches between two names, one above the other


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


def draw_hand_outs(run: Run, trails: list[Trail], title: str) -> Drawn | None:
    """The pools in the last setting, each mark with its name; None where nothing is traded."""
    styles = looks(run.implementations)
    found = [(trail, *trail.points[-1]) for trail in trails]
    across, up = [x for _, x, _ in found], [y for *_, y in found]
    if len(found) < 2 or max(across) / min(across) < _LEAST_TRADE:
        return None
    height = 4.6
    figure = new_figure(height, title)
    axes = figure.add_axes((0.8 / WIDTH, 0.6 / height, (WIDTH - 1.0) / WIDTH, 3.5 / height))
    axes.set_xscale("log")
    axes.set_yscale("log")
    # Names stand on the right of their marks.
    axes.set_xlim(min(across) / _ROOM, max(across) * (max(across) / min(across)) ** 0.25 * _ROOM)
    axes.set_ylim(min(up) / _ROOM, max(up) * _ROOM)
    axes.set_xlabel("neighbours in a hand-out, blocks: further right moves in fewer copies")
    axes.set_ylabel("taking a block")
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis, words=time_word)
    axes.grid(True, which="major")
    reach = math.log(axes.get_ylim()[1] / axes.get_ylim()[0])
    last: dict[int, float] = {}
    for trail, x, y in sorted(found, key=lambda one: one[2]):
        look = styles[trail.line.impl]
        face = look.color if look.filled else "white"
        axes.plot([x], [y], look.marker, color=look.color, markerfacecolor=face, markersize=7)
        # Up from the name below it in the same part of the picture.
        inch = 3.5 * math.log(y / axes.get_ylim()[0]) / reach
        column = round(3 * math.log(x / min(across)) / math.log(max(across) / min(across)))
        at = max(inch, last.get(column, -1.0) + _NAME)
        last[column] = at
        axes.annotate(
            short_name(trail.line.impl) + _mark(run, trail),
            (x, y),
            xytext=(8, (at - inch) * 72),
            textcoords="offset points",
            va="center",
            size=8.5,
            parse_math=False,
        )
    return drawn(figure)


def _mark(run: Run, trail: Trail) -> str:
    """Of the cost that is drawn: `*` or `**` if it is not above the floor."""
    cell = [cell for cell in trail.line.cells if cell is not None and cell.ok][-1]
    beside = run.cells_of(cell.key.setting)
    return floor_mark(cell, "take_ns", beside, run.implementation_by_name)
