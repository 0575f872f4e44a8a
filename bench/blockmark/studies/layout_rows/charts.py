"""The picture of rows beside cache lines: time a row by the size of the table."""

from __future__ import annotations

from blockmark.report.numbers import short_count
from blockmark.report.order import value_of
from blockmark.report.picture import Drawn
from blockmark.report.plots.looks import looks
from blockmark.report.plots.style import drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks
from blockmark.report.sweep import Sweep
from blockmark.runs.model import Run

_TWO_LINES = (0, (1, 1.5))
_MARKERS = "osD^v<>"
_LEAST_LINES = {"row-16/cpp": 1.0, "row-32/cpp": 2.0, "row-64/cpp": 4.0}


def draw_rows(run: Run, sweep: Sweep, title: str) -> Drawn | None:
    """A line for each width and distance from a cache line; None with fewer than two sizes."""
    lines: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    for setting in sweep.settings:
        rows, offset = (setting.params.get(key) for key in ("table_rows", "line_offset"))
        for cell in run.cells_of(setting.key):
            ns, touched = value_of(cell, "row_read_ns"), value_of(cell, "lines_per_row")
            if ns and touched and isinstance(rows, int) and isinstance(offset, int):
                lines.setdefault((cell.impl, offset), []).append((rows, ns, touched))
    lines = {key: sorted(points) for key, points in lines.items() if len(points) > 1}
    if not lines:
        return None
    styles = looks(run.implementations)
    offsets = sorted({offset for _, offset in lines})
    figure = new_figure(4.6, title)
    axes = figure.add_axes((0.09, 0.13, 0.66, 0.76))
    for (name, offset), points in lines.items():
        crosses = points[0][2] > _LEAST_LINES.get(name, points[0][2])
        axes.plot(
            [rows for rows, _, _ in points],
            [ns for _, ns, _ in points],
            color=styles[name].color,
            linestyle=_TWO_LINES if crosses else "-",
            marker=_MARKERS[offsets.index(offset) % len(_MARKERS)],
            markersize=4.5,
            label=f"{short_name(name)}, offset {offset}",
        )
    sizes = sorted({rows for points in lines.values() for rows, _, _ in points})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [short_count(int(size)) for size in sizes])
    axes.set_yscale("log")
    log_ticks(axes.yaxis)
    axes.set_xlabel("rows of 32 ids in the table")
    axes.set_ylabel("ns a row")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0)
    return drawn(figure)
