"""Forms of the packed block tables: host cost, what is sent, and a model of sending it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockmark.report.numbers import percent, times, with_unit
from blockmark.report.order import value_of
from blockmark.report.setting import load_line, setting_name
from blockmark.report.study_table import StudyColumn, study_table
from blockmark.report.sweep import Sweep
from blockmark.report.table import Table
from blockmark.runs.model import Run, Setting

QUESTION = "In which form should the block tables of a step go to the device?"
METHOD = (
    "Each form is written from the same flat table into one buffer, and proved by reading the "
    "table back from it. Bytes and copies are counted. The transfer is a model, copies x "
    "copy_call_ns + bytes / copy_bandwidth; nothing is sent."
)

_COLUMNS = (
    StudyColumn("batch_pack_ns", "pack"),
    StudyColumn("sent_bytes", "sent"),
    StudyColumn("sent_copies", "copies"),
    StudyColumn("transfer_ns", "transfer, model"),
    StudyColumn("pack_and_transfer_ns", "both, model"),
)


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
        found = {
            cell.impl.partition("/")[0]: value
            for cell in run.cells_of(setting.key)
            if (value := value_of(cell, "pack_and_transfer_ns")) is not None
        }
        if len(found) < 2:
            continue
        best = min(found, key=lambda form: found[form])
        name = setting_name(run, setting)
        text = f"{name}: " if name else ""
        text += f"{best} is least by the model, {with_unit(found[best], 'ns')}"
        if best != "one-per-sequence" and "one-per-sequence" in found:
            text += f"; one copy a sequence {times(found['one-per-sequence'] / found[best])} that"
        said.append(f"{text}.")
    return said


def draw(run: Run, sweep: Sweep) -> Iterator[tuple[str, str, str, bytes]]:
    """Host and modelled transfer of each form, a panel a setting."""
    from blockmark.report.plots.layouts import MOST_PANELS, draw_forms

    title = f"Packing and sending the tables of a step: {sweep.scenario}"
    settings = sweep.settings[:MOST_PANELS]
    if (data := draw_forms(run, settings, title)) is not None:
        caption = (
            "Time on the host (measured, filled) and with the transfer (a model, hollow); the "
            "line between them is the transfer. The axis is logarithmic."
        )
        yield "layout-pack", title, caption, data
