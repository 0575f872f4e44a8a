"""The picture of rows beside cache lines: time a row by the size of the table."""

from __future__ import annotations

from dataclasses import replace

from blockmark.report.facts.numbers import short_count
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.sweep import Sweep
from blockmark.report.plots.lines import Mark, Panel, Series, draw_lines
from blockmark.report.plots.looks import looks
from blockmark.report.plots.style import short_name
from blockmark.runs.model import Run

_TWO_LINES = (0, (1, 1.5))
_MARKERS = "osD^v<>"
_LEAST_LINES = {"row-16/cpp": 1.0, "row-32/cpp": 2.0, "row-64/cpp": 4.0}


def draw_rows(run: Run, sweep: Sweep, title: str) -> Drawn | None:
    """A line for each width and distance from a cache line; None with fewer than two sizes.

    Dotted where a row touches more lines than it has to.
    """
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    for setting in sweep.settings:
        rows, offset = (setting.params.get(key) for key in ("table_rows", "line_offset"))
        for cell in run.cells_of(setting.key):
            ns, touched = value_of(cell, "row_read_ns"), value_of(cell, "lines_per_row")
            if ns and touched and isinstance(rows, int) and isinstance(offset, int):
                found.setdefault((cell.impl, offset), []).append((rows, ns, touched))
    found = {key: sorted(points) for key, points in found.items() if len(points) > 1}
    if not found:
        return None
    styles = looks(run.implementations)
    offsets = sorted({offset for _, offset in found})
    series = []
    for (name, offset), points in found.items():
        crosses = points[0][2] > _LEAST_LINES.get(name, points[0][2])
        marker = _MARKERS[offsets.index(offset) % len(_MARKERS)]
        look = replace(styles[name], marker=marker, line=_TWO_LINES if crosses else "-")
        marks = tuple(Mark(rows, ns) for rows, ns, _ in points)
        series.append(Series(f"{short_name(name)}, offset {offset}", look, marks))
    sizes = sorted({rows for points in found.values() for rows, _, _ in points})
    panel = Panel(
        "",
        tuple(series),
        "ns",
        x_label="rows of 32 ids in the table",
        y_label="time of a row",
        places=tuple(sizes),
        titles=tuple(short_count(int(size)) for size in sizes),
    )
    return draw_lines([panel], title)
