"""The one builder of tables: declared columns, filled from whatever has a row.

A `Field` is a column of any table. A `Shown` is the declaration of a column of cells: a metric,
and how it is shown; `table_of_cells` finds the unit that suits the numbers and binds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from blockmark.report.facts.floors import mark_notes
from blockmark.report.facts.numbers import ABSENT, count, interval, percent, scale_for, significant
from blockmark.report.facts.order import CALL_STYLES, by_call_style
from blockmark.report.tables.model import (
    Column,
    Entry,
    Group,
    Kind,
    Row,
    Table,
    without_empty_columns,
)
from blockmark.runs.metrics import label_of, metric_of
from blockmark.runs.model import Cell, MetricValue, Run
from blockmark.verdict.headline import without_call_style

# Beside tens of microseconds 0.31 us reads better than 310 ns and 17,900 ns.
LEAST = 0.1
_FIXED = {"%": 100.0, "us": 1e-3}

T = TypeVar("T")
Keep = Literal["all", "said", "numbers"]
Said = Callable[[Run, Cell, str], str]
"""What is said of a cell's value of a metric: a word in its place, or a mark; often nothing."""


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    """A column of a table whose rows are of `T`s, and what it shows of each."""

    column: Column
    show: Callable[[T], Entry]


@dataclass(frozen=True, slots=True)
class Shown:
    """A declared column of cells: a metric or a quantile of one (`take_latency_ns.p99`).

    Its title is the metric's label, or `title` where the table says the rest. `unit` is one
    for every run (`%`, `us`); else that which suits the numbers, or those of the column `like`.
    A `bare` column has no ranges of rounds, one with `ranged` has them in a column of their
    own. `word` may say a word in place of a value, `mark` a mark behind it.
    """

    address: str
    title: str = ""
    unit: str = ""
    like: str = ""
    note: str = ""
    bare: bool = False
    ranged: str = ""
    word: Said | None = None
    mark: Said | None = None


Value = Callable[[Cell, str], MetricValue | None]


def table_of(
    corner: str,
    fields: Sequence[Field[T]],
    groups: Iterable[tuple[str, Sequence[T]]],
    head: Callable[[T], Row],
    *,
    caption: str = "",
    notes: Sequence[str] = (),
    keep: Keep = "said",
) -> Table:
    """The rows of each group under its title; groups without rows are left out.

    `head` makes a row without entries; one with a message keeps it. Columns in which no row
    says anything are left out with their notes, unless `keep` is "all"; if it is "numbers",
    also those that say no more than that values are missing. Below stand the columns' notes,
    `notes`, and what the marks mean.
    """

    def row(each: T) -> Row:
        found = head(each)
        shown = () if found.message else tuple(field.show(each) for field in fields)
        return replace(found, entries=shown)

    made = tuple(Group(title, tuple(map(row, members))) for title, members in groups if members)
    table = Table(corner, tuple(field.column for field in fields), made, caption=caption)
    if keep != "all":
        table = without_empty_columns(table, only_numbers=keep == "numbers")
    told = [column.note for column in table.columns]
    marks = mark_notes(entry.mark for row in table.rows for entry in row.entries)
    found = dict.fromkeys(note for note in (*told, *notes, *marks) if note)
    return replace(table, notes=tuple(found))


def table_of_cells(
    run: Run,
    columns: Sequence[Shown],
    groups: Sequence[tuple[str, Sequence[Cell]]],
    *,
    corner: str = "",
    caption: str = "",
    notes: Sequence[str] = (),
    keep: Keep = "said",
    head: Callable[[Cell], Row] | None = None,
    value: Value = Cell.metric,
) -> Table:
    """Cells as rows, named without their call style, which the group says; see `table_of`.

    What was not measured has its status and reason. `value` is what a cell has of a metric.
    """
    cells = [cell for _, members in groups for cell in members]
    return table_of(
        corner,
        _bound(run, columns, cells, value),
        groups,
        head or head_of,
        caption=caption,
        notes=notes,
        keep=keep,
    )


def head_of(cell: Cell) -> Row:
    """The row of a cell without entries."""
    message = "" if cell.ok else f"{cell.status}: {cell.reason}"
    name = without_call_style(cell.impl)
    return Row(name, message=message, control=cell.kind == "control")


def styled(cells: Iterable[Cell]) -> list[tuple[str, list[Cell]]]:
    """Cells by call style, each with its title; the cheapest first, floors last."""
    return [(CALL_STYLES[style], members) for style, members in by_call_style(cells)]


def _bound(
    run: Run, columns: Sequence[Shown], cells: Sequence[Cell], value: Value
) -> list[Field[Cell]]:
    fields: list[Field[Cell]] = []
    before = ""
    for column in columns:
        metric, _, quantile = column.address.partition(".")
        # Of several quantiles side by side the first alone names the metric.
        again = bool(quantile) and metric == before
        title = column.title or (quantile if again else label_of(column.address))
        factor, label = _unit(column, cells, value)
        named = f"{title}{label}" if label in ("", "/s") else f"{title} {label}"
        show = _shower(run, column, factor, value)
        if column.ranged:
            fields.append(Field(Column(named), _bare(show)))
            fields.append(Field(Column(column.ranged, "right"), _range_of(show)))
        else:
            row = metric_of(column.address) if column.address else None
            # A share with its sign behind it lines up there.
            signed = row is not None and row.unit == "share" and not column.unit
            kind: Kind = "word" if row is None else "right" if signed else "number"
            fields.append(Field(Column(named, kind, note=column.note), show))
        before = metric
    return fields


def _bare(show: Callable[[Cell], Entry]) -> Callable[[Cell], Entry]:
    return lambda cell: replace(show(cell), interval="")


def _range_of(show: Callable[[Cell], Entry]) -> Callable[[Cell], Entry]:
    return lambda cell: Entry(show(cell).interval or ABSENT)


def _unit(column: Shown, cells: Sequence[Cell], value: Value) -> tuple[float, str]:
    """What numbers are multiplied with, and what the title says of their unit."""
    row = metric_of(column.address) if column.address else None
    unit = "" if row is None else row.unit
    if column.unit:
        return (_FIXED[column.unit], column.unit)
    if unit in ("ns", "bytes"):
        found = (value(cell, column.like or column.address) for cell in cells if cell.ok)
        scale = scale_for([each.value for each in found if each is not None], unit, LEAST)
        return scale.factor, "" if column.like else scale.label
    return 1.0, "/s" if unit == "1/s" else ""


def _shower(run: Run, column: Shown, factor: float, value: Value) -> Callable[[Cell], Entry]:
    row = metric_of(column.address) if column.address else None
    write: Callable[[float | None], str] | None = None
    if row is not None and not column.unit:
        # Counted quantities are exact; counters are means.
        counts = row.unit == "count" and row.source != "counter"
        write = percent if row.unit == "share" else count if counts else None

    def show(cell: Cell) -> Entry:
        found = value(cell, column.address) if column.address else None
        if column.word and (word := column.word(run, cell, column.address)):
            return Entry(word)
        mark = column.mark(run, cell, column.address) if column.mark else ""
        entry = measured(found, factor, mark=mark, write=write)
        return replace(entry, interval="") if column.bare else entry

    return show


def measured(
    value: MetricValue | None,
    factor: float = 1.0,
    *,
    mark: str = "",
    write: Callable[[float | None], str] | None = None,
) -> Entry:
    """The entry of a metric, printed in `value * factor`; `-` if there is no such metric.

    Three significant digits and the range of the rounds in the same places; or each as
    `write` writes it.
    """
    if value is None:
        return Entry()
    if value.value is None:
        return Entry(missing=True)
    low, high = value.low, value.high
    # A count on which all rounds agree is exact.
    alone = low is None or high is None or (low == high and (write or value.unit != "ns"))
    if write is not None:
        ends = "" if alone else f"{write(low)}-{write(high)}"
        return Entry(write(value.value), ends, mark)
    printed = value.value * factor
    if alone or low is None or high is None:
        return Entry(significant(printed), mark=mark)
    return Entry(significant(printed), interval(low * factor, high * factor, printed), mark)
