"""What a table is, with no idea of the medium that shows it.

Columns, groups of rows, and what each row says. The console lays it out in
characters, Markdown in pipes; both show the same text, so a table is computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blockmark.report.numbers import ABSENT, interval, significant
from blockmark.runs.model import MetricValue

# How a column's texts line up: numbers at the decimal point, where there is room.
Kind = Literal["number", "right", "word"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands in one place of a table.

    `interval`, or what else belongs behind the number in parentheses, is shown where a
    medium has room for it. `mark` refers to a note.
    `missing` says that the value was asked for and is unavailable, which is not the
    same as having no meaning in this row (that is `-`).
    """

    text: str = ABSENT
    interval: str = ""
    mark: str = ""
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `is_name` says that the title is an implementation's name, which may be
    broken into its parts where room is short."""

    title: str
    kind: Kind = "number"
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row: an entry for each column, or a message in place of all of them.

    `control` marks a row that is a floor and no candidate.
    """

    name: str
    entries: tuple[Entry, ...] = ()
    message: str = ""
    control: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Rows under one title; an empty title has no line of its own."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A whole table. `corner` is the title of the column of names.

    `caption`, where there is one, stands above it: what holds for all of its numbers.
    """

    corner: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    caption: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, without their groups."""
        return tuple(row for group in self.groups for row in group.rows)


def measured(value: MetricValue | None, factor: float, *, mark: str = "") -> Entry:
    """The entry of a metric, printed in `value * factor`; `-` if there is no such metric."""
    if value is None:
        return Entry()
    if value.value is None:
        return Entry(missing=True)
    printed = value.value * factor
    return Entry(significant(printed), _interval(value, factor), mark)


def _interval(value: MetricValue, factor: float) -> str:
    if value.value is None or value.low is None or value.high is None:
        return ""
    if value.low == value.high and value.unit != "ns":
        # A count on which all rounds agree is exact.
        return ""
    return interval(value.low * factor, value.high * factor, value.value * factor)


def without_empty_columns(table: Table) -> Table:
    """The table without columns in which no row has anything to say."""
    kept = [
        position
        for position in range(len(table.columns))
        if any(row.entries and row.entries[position] != Entry() for row in table.rows)
    ]
    groups = tuple(
        Group(
            group.title,
            tuple(
                Row(
                    row.name,
                    tuple(row.entries[position] for position in kept) if row.entries else (),
                    row.message,
                    row.control,
                )
                for row in group.rows
            ),
        )
        for group in table.groups
    )
    columns = tuple(table.columns[position] for position in kept)
    return Table(table.corner, columns, groups, table.notes, table.caption)
