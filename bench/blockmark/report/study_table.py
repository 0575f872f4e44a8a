"""The table of a study: a row an implementation, a group a setting, columns by metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockmark.report.numbers import count, percent, scale_for
from blockmark.report.setting import setting_name
from blockmark.report.table import Column, Entry, Group, Row, Table, measured, without_empty_columns
from blockmark.runs.metrics import label_of, metric_of
from blockmark.runs.model import Cell, Run, Setting


def study_table(
    run: Run, settings: Sequence[Setting], columns: Sequence[str], *, caption: str = ""
) -> Table:
    """The cells of all settings; columns without a value in any row are left out.

    `columns` are addresses. A title is the metric's label, with the unit where the numbers
    need one; of several quantiles in a row the first alone names the metric. What was not
    measured shows its status and reason in place of numbers.
    """
    cells = [cell for setting in settings for cell in run.cells_of(setting.key)]
    metrics = [address.partition(".")[0] for address in columns]
    made = [
        _Filled.of(address, cells, again=metric == before)
        for address, metric, before in zip(columns, metrics, ["", *metrics], strict=False)
    ]
    groups = tuple(
        Group(
            setting_name(run, setting) if len(settings) > 1 else "",
            tuple(_row(cell, made) for cell in run.cells_of(setting.key)),
        )
        for setting in settings
    )
    return without_empty_columns(
        Table("", tuple(each.column for each in made), groups, caption=caption)
    )


@dataclass(frozen=True, slots=True)
class _Filled:
    """A column with the scale that suits all of its numbers."""

    address: str
    unit: str
    factor: float
    column: Column

    @classmethod
    def of(cls, address: str, cells: Sequence[Cell], *, again: bool) -> _Filled:
        row = metric_of(address)
        unit = row.unit if row is not None else ""
        title = address.partition(".")[2] if again else label_of(address)
        factor = 1.0
        if unit in ("ns", "bytes"):
            found = (cell.metric(address) for cell in cells)
            scale = scale_for([value.value for value in found if value is not None], unit, 0.1)
            factor, title = scale.factor, f"{title} {scale.label}"
        elif unit == "1/s":
            title += "/s"
        return cls(address, unit, factor, Column(title))

    def entry(self, cell: Cell) -> Entry:
        value = cell.metric(self.address)
        if value is None or value.value is None or self.unit not in ("share", "count", "1/s"):
            return measured(value, self.factor)
        written = percent if self.unit == "share" else count
        if value.low == value.high:  # counts that agree, or a single round
            return Entry(written(value.value))
        return Entry(written(value.value), f"{written(value.low)}-{written(value.high)}")


def _row(cell: Cell, columns: Sequence[_Filled]) -> Row:
    control = cell.kind == "control"
    if not cell.ok:
        return Row(cell.impl, message=f"{cell.status}: {cell.reason}", control=control)
    return Row(cell.impl, tuple(column.entry(cell) for column in columns), control=control)
