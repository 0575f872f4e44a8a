"""How many times an append costs with the wrong copy rule, over the bytes of a copy."""

from __future__ import annotations

from blockmark.report.facts.numbers import short_count
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.sweep import Sweep
from blockmark.report.plots.lines import Mark, Panel, Series, draw_lines
from blockmark.report.plots.looks import FLOOR, Look, looks
from blockmark.report.plots.style import short_name
from blockmark.runs.metrics import label_of
from blockmark.runs.model import Run

_MODEL = "gpu_step_factor"


def draw_factors(run: Run, sweep: Sweep, title: str) -> Drawn | None:
    """The picture; None if nothing was measured. Payloads have equal distances."""
    styles = looks(run.implementations)
    series = [
        Series(f"append, {short_name(info.name)}", styles[info.name], marks)
        for info in run.implementations
        if (marks := _marks(run, sweep, info.name, "mistake_factor"))
    ]
    # The model is the same for all of them: it counts copies, which are.
    first = run.implementations[0].name if run.implementations else ""
    if marks := _marks(run, sweep, first, _MODEL):
        look = Look(FLOOR, "", (0, (2, 2)), False)
        series.append(Series(label_of(_MODEL), look, marks, thin=True))
    if not series:
        return None
    panel = Panel(
        "",
        tuple(series),
        "ratio",
        x_label="payload of a block's copy, bytes",
        y_label="wrong / right",
        places=tuple(float(place) for place in range(len(sweep.settings))),
        titles=tuple(short_count(value) for value in sweep.values),
        logarithmic=False,
        guides=((2.0, "twice"),),
    )
    return draw_lines([panel], title)


def _marks(run: Run, sweep: Sweep, impl: str, address: str) -> tuple[Mark, ...]:
    return tuple(
        Mark(place, value)
        for place, setting in enumerate(sweep.settings)
        for cell in run.cells_of(setting.key)
        if cell.impl == impl and (value := value_of(cell, address))
    )
