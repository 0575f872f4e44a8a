"""The table of a study: a row an implementation, a group a setting, columns by metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from blockmark.report.numbers import count, percent, scale_for
from blockmark.report.setting import setting_name
from blockmark.report.table import Column, Entry, Group, Row, Table, measured, without_empty_columns
from blockmark.runs.metrics import metric_of
from blockmark.runs.model import Cell, Run, Setting


@dataclass(frozen=True, slots=True)
class StudyColumn:
    """A metric or a quantile of one (`take_latency_ns.p99`), and the title above it.

    Behind the title stands the unit, unless `titled` says that the title has it.
    """

    address: str
    title: str
    titled: bool = False


def study_table(
    run: Run, settings: Sequence[Setting], columns: Iterable[StudyColumn], *, caption: str = ""
) -> Table:
    """The cells of all settings; columns without a value in any row are left out.

    What was not measured shows its status and reason in place of numbers.
    """
    chosen = tuple(columns)
    cells = [cell for setting in settings for cell in run.cells_of(setting.key)]
    made = [_Filled.of(column, cells) for column in chosen]
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
    def of(cls, column: StudyColumn, cells: Sequence[Cell]) -> _Filled:
        row = metric_of(column.address)
        unit = row.unit if row is not None else ""
        factor, label = 1.0, unit
        if unit in ("ns", "bytes"):
            found = (cell.metric(column.address) for cell in cells)
            values = [value.value for value in found if value is not None]
            scale = scale_for(values, unit, 0.1)
            factor, label = scale.factor, scale.label
        # A share is printed with its sign, a count needs none.
        plain = column.titled or unit in ("share", "count", "ratio", "")
        title = column.title if plain else f"{column.title} {label}"
        return cls(column.address, unit, factor, Column(title))

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
