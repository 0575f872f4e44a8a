"""Pictures of layouts: a row's latency by the size of its table, and forms of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.numbers import short_count, with_unit
from blockmark.report.order import value_of
from blockmark.report.picture import Drawn
from blockmark.report.plots.looks import FLOOR, looks
from blockmark.report.plots.style import WIDTH, drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks
from blockmark.report.setting import setting_name
from blockmark.report.sweep import Sweep
from blockmark.runs.model import Run, Setting

MOST_PANELS = 6
_HOST, _TRANSFER, _BOTH = "#0072B2", "#A6CFE8", "#0072B2"
# Every other power of ten has room for its number.
_DECADES = range(0, 12, 2)
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


def draw_forms(run: Run, settings: Sequence[Setting], title: str) -> Drawn | None:
    """A line for each form from the host's time to host and transfer, a panel a setting.

    None if nothing was measured. Not stacked bars: on a logarithmic axis their lengths
    would say nothing.
    """
    shown = []
    for setting in settings:
        lines = [
            (cell.impl.partition("/")[0], host, host + transfer)
            for cell in run.cells_of(setting.key)
            if (host := value_of(cell, "batch_pack_ns"))
            and (transfer := value_of(cell, "transfer_ns")) is not None
        ]
        if lines:
            shown.append((setting, lines))
    if not shown:
        return None
    columns = min(3, len(shown))
    each, height = (WIDTH - 1.4) / columns, 0.9 + 2.3 * -(-len(shown) // columns)
    figure = new_figure(height, title)
    most = max(both for _, lines in shown for _, _, both in lines)
    least = min(host for _, lines in shown for _, host, _ in lines)
    for position, (setting, lines) in enumerate(shown):
        line, column = divmod(position, columns)
        box = (
            (1.3 + each * column) / WIDTH,
            1 - (0.9 + 2.3 * line + 1.35) / height,
            (each - 0.2) / WIDTH,
            1.35 / height,
        )
        axes = figure.add_axes(box)
        for place, (_, host, both) in enumerate(lines):
            axes.plot([host, both], [place, place], color=_TRANSFER, linewidth=2, zorder=1)
            axes.plot([both], [place], "o", color=_BOTH, markerfacecolor="white", markersize=5)
            axes.plot([host], [place], "o", color=_HOST, markersize=5)
        axes.set_xscale("log")
        axes.set_xlim(least / 2, most * 2)
        axes.set_xticks([10.0**power for power in _DECADES if least / 2 < 10**power < most * 2])
        axes.xaxis.set_major_formatter(lambda value, _: with_unit(value, "ns"))
        axes.tick_params(axis="x", labelsize=7.5)
        axes.grid(visible=True, axis="x")
        names = [name for name, _, _ in lines] if column == 0 else []
        axes.set_yticks(list(range(len(names))), names)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_title(setting_name(run, setting).replace(", ", "\n"), fontsize=8, color=FLOOR)
    return drawn(figure)
