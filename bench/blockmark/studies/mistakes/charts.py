"""How many times an append costs with the wrong copy rule, over the bytes of a copy."""

from __future__ import annotations

from blockmark.report.numbers import short_count
from blockmark.report.order import value_of
from blockmark.report.picture import Drawn
from blockmark.report.plots.looks import FLOOR, looks
from blockmark.report.plots.style import drawn, new_figure, short_name
from blockmark.report.plots.ticks import log_ticks
from blockmark.report.sweep import Sweep
from blockmark.runs.metrics import label_of
from blockmark.runs.model import Run


def draw_factors(run: Run, sweep: Sweep, title: str) -> Drawn | None:
    """The picture; None if nothing was measured. Payloads have equal distances."""
    places = range(len(sweep.settings))
    styles = looks(run.implementations)
    figure = new_figure(4.4, title)
    axes = figure.add_axes((0.09, 0.13, 0.88, 0.75))
    found = False
    for info in run.implementations:
        for address, line in (("mistake_factor", "-"), ("gpu_step_factor", (0, (2, 2)))):
            points = [
                (place, value)
                for place, setting in zip(places, sweep.settings, strict=True)
                for cell in run.cells_of(setting.key)
                if cell.impl == info.name and (value := value_of(cell, address)) is not None
            ]
            modelled = address == "gpu_step_factor"
            # The model is the same for all of them: it counts copies, which are.
            if not points or (modelled and info is not run.implementations[0]):
                continue
            found = True
            label = label_of(address) if modelled else f"append, {short_name(info.name)}"
            axes.plot(
                [place for place, _ in points],
                [value for _, value in points],
                color=FLOOR if modelled else styles[info.name].color,
                linestyle=line,
                marker="" if modelled else styles[info.name].marker,
                label=label,
            )
    if not found:
        return None
    axes.axhline(2, color=FLOOR, linewidth=0.9)
    axes.annotate("twice", (0, 2), xytext=(2, 3), textcoords="offset points", size=8, color=FLOOR)
    axes.set_yscale("log")
    log_ticks(axes.yaxis)
    axes.set_xticks(list(places), [short_count(value) for value in sweep.values])
    axes.set_xlabel("payload of a block's copy, bytes")
    axes.set_ylabel("wrong / right")
    for text in axes.legend(loc="upper left").get_texts():
        text.set_parse_math(False)
    return drawn(figure)
