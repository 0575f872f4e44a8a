"""The picture of packed batches: the host's time, and that with the modelled transfer."""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.facts.numbers import with_unit
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import setting_name
from blockmark.report.plots.looks import FLOOR
from blockmark.report.plots.style import WIDTH, drawn, new_figure
from blockmark.runs.model import Run, Setting

MOST_PANELS = 6
_HOST, _TRANSFER, _BOTH = "#0072B2", "#A6CFE8", "#0072B2"
# Every other power of ten has room for its number.
_DECADES = range(0, 12, 2)


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
