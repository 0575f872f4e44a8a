"""What a table is, with no idea of the medium that shows it.

Columns, groups of rows, and what each row says. The console lays it out in
characters, Markdown in pipes; both show the same text, so a table is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from blockmark.report.facts.numbers import ABSENT

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
    broken into its parts where room is short. `note` is what stands below a table for it."""

    title: str
    kind: Kind = "number"
    is_name: bool = False
    note: str = ""


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


def without_empty_columns(table: Table, *, only_numbers: bool = False) -> Table:
    """The table without columns in which no row has anything to say.

    With `only_numbers` also without those that say no more than that values are missing.
    """
    kept = [
        place
        for place in range(len(table.columns))
        if any(
            each.text != ABSENT or (each.missing and not only_numbers)
            for each in (row.entries[place] for row in table.rows if row.entries)
        )
    ]
    groups = tuple(
        replace(group, rows=tuple(_only(row, kept) for row in group.rows)) for group in table.groups
    )
    return replace(table, columns=tuple(table.columns[place] for place in kept), groups=groups)


def _only(row: Row, places: Sequence[int]) -> Row:
    return replace(row, entries=tuple(row.entries[place] for place in places if row.entries))
