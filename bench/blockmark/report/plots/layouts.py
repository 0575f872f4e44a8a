"""Pictures of layouts: a row's latency by the size of its table, and forms of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.numbers import short_count, with_unit
from blockmark.report.order import value_of
from blockmark.report.plots.style import FLOOR, looks, new_figure, png, short_name
from blockmark.report.setting import setting_name
from blockmark.report.sweep import Sweep
from blockmark.runs.model import Run, Setting

MOST_PANELS = 6
_HOST, _TRANSFER = "#0072B2", "#A6CFE8"
_TWO_LINES = (0, (1, 1.5))
_LEAST_LINES = {"row-16/cpp": 1.0, "row-32/cpp": 2.0, "row-64/cpp": 4.0}


def draw_rows(run: Run, sweep: Sweep, title: str) -> bytes | None:
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
    figure = new_figure(7.2, 4.6, title)
    axes = figure.add_axes((0.1, 0.13, 0.62, 0.76))
    for (name, offset), points in lines.items():
        crosses = points[0][2] > _LEAST_LINES.get(name, points[0][2])
        axes.plot(
            [rows for rows, _, _ in points],
            [ns for _, ns, _ in points],
            color=styles[name].color,
            linestyle=_TWO_LINES if crosses else "-",
            marker="o",
            markersize=4,
            label=f"{short_name(name)}, offset {offset}",
        )
    sizes = sorted({rows for points in lines.values() for rows, _, _ in points})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [short_count(int(size)) for size in sizes])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows of 32 ids in the table")
    axes.set_ylabel("ns a row")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0)
    return png(figure)


def draw_forms(run: Run, settings: Sequence[Setting], title: str) -> bytes | None:
    """Stacked bars, a panel a setting; None if nothing was measured."""
    shown = []
    for setting in settings:
        bars = [
            (cell.impl.partition("/")[0], host, transfer)
            for cell in run.cells_of(setting.key)
            if (host := value_of(cell, "batch_pack_ns")) is not None
            and (transfer := value_of(cell, "transfer_ns")) is not None
        ]
        if bars:
            shown.append((setting, bars))
    if not shown:
        return None
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    width, height = 1.4 + 2.5 * columns, 0.7 + 2.1 * lines
    figure = new_figure(width, height, title)
    most = max(host + transfer for _, bars in shown for _, host, transfer in bars)
    least = min(host for _, bars in shown for _, host, _ in bars if host > 0)
    for position, (setting, bars) in enumerate(shown):
        line, column = divmod(position, columns)
        box = (
            (1.3 + 2.5 * column) / width,
            1 - (0.75 + 2.1 * line + 1.35) / height,
            2.2 / width,
            1.35 / height,
        )
        axes = figure.add_axes(box)
        places = range(len(bars))
        axes.barh(places, [host for _, host, _ in bars], color=_HOST)
        axes.barh(
            places,
            [transfer for _, _, transfer in bars],
            left=[host for _, host, _ in bars],
            color=_TRANSFER,
        )
        axes.set_xscale("log")
        axes.set_xlim(least / 2, most * 2)
        axes.xaxis.set_major_formatter(lambda value, _: with_unit(value, "ns"))
        axes.tick_params(axis="x", labelsize=7)
        axes.set_yticks(list(places), [name for name, _, _ in bars] if column == 0 else [])
        axes.invert_yaxis()
        axes.set_title(setting_name(run, setting), fontsize=7.5, color=FLOOR)
    return png(figure)
