"""Forms of the packed block tables: host cost, what is sent, and a model of sending it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockmark.report.facts.numbers import percent, with_unit
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import load_line, setting_name
from blockmark.report.facts.sweep import Sweep
from blockmark.report.findings.compared import factor, shown_less
from blockmark.report.tables.cells import study_table
from blockmark.report.tables.model import Table
from blockmark.runs.model import Cell, Run, Setting

QUESTION = "In which form should the block tables of a step go to the device?"
METHOD = (
    "Each form is written from the same flat table into one buffer, and proved by reading the "
    "table back from it. Bytes and copies are counted. The transfer is a model, copies x "
    "copy_call_ns + bytes / copy_bandwidth; nothing is sent."
)

_COLUMNS = (
    "batch_pack_ns", "sent_bytes", "sent_copies", "transfer_ns", "pack_and_transfer_ns",
)  # fmt: skip


def load_words(settings: Sequence[Setting]) -> str:
    """`256 sequences, 6.25 to 100 % of rows changed`."""
    shares = sorted(
        float(value)
        for setting in settings
        if isinstance(value := setting.params.get("dirty_share"), int | float)
    )
    parts = [load_line(*settings)]
    if shares:
        ends = dict.fromkeys(percent(share) for share in (shares[0], shares[-1]))
        parts.append(f"{' to '.join(ends)} of the rows changed")
    return ", ".join(part for part in parts if part)


def tables(run: Run, sweep: Sweep) -> list[Table]:
    """One table, a group a setting."""
    return [study_table(run, sweep.settings, _COLUMNS)]


def sentences(run: Run, sweep: Sweep) -> list[str]:
    """The best form of each setting, and what one copy a sequence costs beside it."""
    said = []
    for setting in sweep.settings:
        metric = "pack_and_transfer_ns"
        found = sorted(
            (cell for cell in run.cells_of(setting.key) if value_of(cell, metric)),
            key=lambda cell: value_of(cell, metric) or 0.0,
        )
        if len(found) < 2 or not shown_less(found[0], found[1], metric):
            continue
        best = found[0]
        name = setting_name(run, setting)
        text = f"{name}: " if name else ""
        least = with_unit(value_of(best, metric), "ns")
        text += f"{_form(best)} is least by the model, {least}"
        single = next((cell for cell in found if _form(cell) == "one-per-sequence"), best)
        if single is not best and (told := factor(single, best, metric)):
            text += f"; one copy a sequence {told} that"
        said.append(f"{text}.")
    return said


def _form(cell: Cell) -> str:
    return cell.impl.partition("/")[0]


def draw(run: Run, sweep: Sweep) -> Iterator[tuple[str, str, str, Drawn]]:
    """Host and modelled transfer of each form, a panel a setting."""
    from .charts import MOST_PANELS, draw_forms

    title = f"Packing and sending the tables of a step: {sweep.scenario}"
    settings = sweep.settings[:MOST_PANELS]
    if (data := draw_forms(run, settings, title)) is not None:
        caption = (
            "Time on the host (measured, filled) and with the transfer (a model, hollow); the "
            "line between them is the transfer. The axis is logarithmic."
        )
        yield "layout-pack", title, caption, data
