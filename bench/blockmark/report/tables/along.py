"""Tables along the settings of a scenario: a row an implementation, a column a setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from blockmark.report.facts.floors import floor_mark, joint_mark
from blockmark.report.facts.growth import (
    STEP,
    STEP_EACH,
    TAKE_GIVE,
    Line,
    Quantity,
    floors_of,
    lines_of,
)
from blockmark.report.facts.numbers import ABSENT, Scale, scale_for, significant, times, with_unit
from blockmark.report.facts.order import CALL_STYLES
from blockmark.report.facts.rates import (
    SATURATED,
    highest_rate,
    is_paced,
    is_saturated,
    rate_sweeps,
)
from blockmark.report.facts.sweep import Sweep
from blockmark.report.tables.build import LEAST, Field, measured, table_of
from blockmark.report.tables.declared import (
    BUSY,
    GROWTH,
    GROWTH_SHORT,
    HIGHEST,
    SATURATION,
    disturbed,
)
from blockmark.report.tables.model import Column, Entry, Row, Table
from blockmark.runs.model import CallStyle, Cell, MetricValue, Run, Setting
from blockmark.verdict.headline import without_call_style

# Beyond this factor a common unit would make one end of a table unreadable.
_ONE_UNIT = 1e5
_LONG = len("65,536")
_BINARY = "Ki is 1,024 and Mi 1,048,576."


@dataclass(frozen=True, slots=True)
class _Along:
    """A row: an implementation, and what it has of a quantity at each place."""

    line: Line
    values: tuple[MetricValue | None, ...]


def report_tables(run: Run, sweep: Sweep) -> list[Table]:
    """All tables that the run has values for, with whole numbers as titles."""
    everywhere = tuple(CALL_STYLES)
    return _tables(run, sweep, dict.fromkeys(_with_each(sweep, GROWTH), everywhere))


def screen_tables(run: Run, sweep: Sweep) -> list[Table]:
    """What a screen has room for, with short titles.

    Single operations of the native loop alone, where one was measured; all that there
    is, where none of these was.
    """
    native = any(
        cell.ok and cell.call_style == "native"
        for setting in sweep.settings
        for cell in run.cells_of(setting.key)
    )
    everywhere = tuple(CALL_STYLES)
    inner: tuple[CallStyle, ...] = ("native",) if native else everywhere
    quantities = [*_with_each(sweep, GROWTH_SHORT), *([TAKE_GIVE] if "batch" in sweep.axes else [])]
    # Where the batch is the question, so is who pays for a call.
    whole = STEP, STEP_EACH, TAKE_GIVE
    wanted = {quantity: everywhere if quantity in whole else inner for quantity in quantities}
    short = has_long_titles(sweep)
    found = _tables(run, sweep, wanted, short=short)
    return found or _tables(run, sweep, dict.fromkeys(GROWTH, everywhere), short=short)


def _with_each(sweep: Sweep, quantities: Sequence[Quantity]) -> list[Quantity]:
    """A whole step grows with the sequences by itself, so that each one's share is told too."""
    each = [STEP_EACH] if "concurrency" in sweep.axes else []
    return [*quantities[:1], *each, *quantities[1:]]


def has_long_titles(sweep: Sweep) -> bool:
    """Whether whole numbers as titles would make columns wider than their values."""
    return max(map(len, sweep.titles()), default=0) > _LONG


def _tables(
    run: Run,
    sweep: Sweep,
    wanted: Mapping[Quantity, Sequence[CallStyle]],
    *,
    short: bool = False,
) -> list[Table]:
    lines = lines_of(run, sweep)
    tables: list[Table] = []
    for quantity, styles in wanted.items():
        groups = {style: lines[style] for style in styles if style in lines}
        # Failures throughout stand in the first table alone.
        table = _growth(run, sweep, quantity, groups, short=short, failures=not tables)
        tables += [table] if table is not None else []
    return tables


def _growth(
    run: Run,
    sweep: Sweep,
    quantity: Quantity,
    lines: Mapping[CallStyle, Sequence[Line]],
    *,
    short: bool,
    failures: bool,
) -> Table | None:
    """One quantity; None if nothing has it."""
    rows = {
        style: [_Along(line, line.amounts(sweep, quantity)) for line in members]
        for style, members in lines.items()
    }
    known = [
        (place, value.value)
        for members in rows.values()
        for row in members
        for place, value in enumerate(row.values)
        if value is not None and value.value is not None
    ]
    if not known:
        return None
    scale = _scale(quantity, [value for _, value in known])
    titles = sweep.titles(short=short)

    def column(place: int) -> Field[_Along]:
        def show(row: _Along) -> Entry:
            setting, cell = sweep.settings[place], row.line.cells[place]
            return _entry(run, setting, cell, row.values[place], quantity, scale)

        return Field(Column(titles[place], "number" if scale.label else "right"), show)

    fields = [column(place) for place in range(len(titles))]
    first, last = min(known)[0], max(known)[0]
    if sweep.values and first != last:
        fields.append(_growth_between(fields, titles, first, last))
    groups = [
        (CALL_STYLES[style], _with_something(run, members, failures))
        for style, members in rows.items()
    ]
    corner = f"{quantity.label}, {scale.label}" if scale.label else quantity.label
    notes = [_BINARY] if titles != sweep.titles() else []
    return table_of(corner, fields, groups, lambda row: _head(row.line), notes=notes, keep="all")


def _with_something(run: Run, rows: Sequence[_Along], failures: bool) -> list[_Along]:
    """Rows with a value, or with `failures` a failed cell; of controls the floor alone.

    A floor that has no such cost is no failure, even where it was not tried.
    """
    floors = floors_of(run, [row.line for row in rows if any(row.values)])
    failed = [failures and any(c is not None and not c.ok for c in row.line.cells) for row in rows]
    return [
        row
        for row, has_failed in zip(rows, failed, strict=True)
        if (row.line in floors if row.line.control else any(row.values) or has_failed)
    ]


def _growth_between(
    fields: Sequence[Field[_Along]], titles: Sequence[str], first: int, last: int
) -> Field[_Along]:
    """The value at the last place / that at the first; nothing without both."""

    def show(row: _Along) -> Entry:
        start, end = row.values[first], row.values[last]
        if start is None or end is None or not start.value or end.value is None:
            return Entry()
        mark = joint_mark(*(fields[place].show(row).mark for place in (first, last)))
        return Entry(times(end.value / start.value), mark=mark)

    return Field(Column(f"{titles[last]}/{titles[first]}", "right"), show)


def _head(line: Line) -> Row:
    return Row(without_call_style(line.impl), control=line.control)


def _scale(quantity: Quantity, values: Sequence[float]) -> Scale:
    """One unit for all, or one without a label where each value needs its own."""
    sizes = [value for value in values if value]
    if sizes and max(sizes) > _ONE_UNIT * min(sizes):
        return Scale("", 1.0)
    return scale_for(sizes, quantity.unit, LEAST if quantity is STEP else 1.0)


def _failed(cell: Cell) -> Entry:
    """The reasons are told with everything else that was not measured."""
    return Entry(missing=True) if cell.status == "unavailable" else Entry(cell.status)


def _entry(
    run: Run,
    setting: Setting,
    cell: Cell | None,
    value: MetricValue | None,
    quantity: Quantity,
    scale: Scale,
) -> Entry:
    if cell is not None and not cell.ok:
        return _failed(cell)
    if cell is None or value is None:
        return Entry()
    mark = quantity_mark(run, setting, cell, quantity)
    if not scale.label and value.value is not None:
        return Entry(with_unit(value.value, quantity.unit), mark=mark)
    return replace(measured(value, scale.factor, mark=mark), interval="")


def quantity_mark(run: Run, setting: Setting, cell: Cell, quantity: Quantity) -> str:
    """The mark of a cost that may be a sum: the gravest of its parts'."""
    cells, declared = run.cells_of(setting.key), run.implementation_by_name
    return joint_mark(*(floor_mark(cell, name, cells, declared) for name in quantity.metrics))


def rate_sweep_tables(run: Run, sweep: Sweep) -> list[Table]:
    """Busy shares along the step rates of a scenario, and the highest rate that each holds.

    One table for each group of settings that differ in the rate alone; empty if there are
    no two rates with paced loops.
    """
    tables = (_over_rates(run, rates, name) for name, rates in rate_sweeps(run, sweep))
    return [table for table in tables if table.groups]


def _over_rates(run: Run, sweep: Sweep, name: str) -> Table:
    groups = [
        (
            ", ".join(part for part in (name, CALL_STYLES[style]) if part),
            [line for line in lines if any(cell and is_paced(cell) for cell in line.cells)],
        )
        for style, lines in lines_of(run, sweep).items()
    ]

    def column(place: int, title: str) -> Field[Line]:
        def show(line: Line) -> Entry:
            cell = line.cells[place]
            if cell is None:
                return Entry()
            if not cell.ok:
                return _failed(cell)
            if is_saturated(cell):
                return Entry(SATURATED)
            mark = disturbed(run, cell, "")
            return replace(measured(cell.metric("busy_share"), 100.0, mark=mark), interval="")

        return Field(Column(title), show)

    def highest(line: Line) -> Entry:
        rate = highest_rate(line)
        return Entry(significant(rate) if rate is not None else ABSENT)

    fields = [column(place, title) for place, title in enumerate(sweep.titles())]
    fields.append(Field(Column("highest/s"), highest))
    table = table_of("busy % at steps/s", fields, groups, _head, notes=(BUSY, HIGHEST), keep="all")
    if any(entry.text == SATURATED for row in table.rows for entry in row.entries):
        table = replace(table, notes=(*table.notes[:2], SATURATION, *table.notes[2:]))
    return table
