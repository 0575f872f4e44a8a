"""Costs along the settings of a scenario as tables: a row an implementation, a column a setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from blockmark.report.floors import floor_mark, joint_mark, mark_notes
from blockmark.report.growth import (
    BURST,
    CHAIN,
    COMPACT,
    FIND,
    GIVE,
    MIXED,
    PACK_ROW,
    REMOVE,
    STEP,
    STEP_EACH,
    TABLES,
    TAKE,
    TAKE_GIVE,
    Line,
    Quantity,
    floors_of,
    lines_of,
)
from blockmark.report.numbers import Scale, scale_for, times, with_unit
from blockmark.report.order import CALL_STYLES
from blockmark.report.sweep import Sweep
from blockmark.report.table import Column, Entry, Group, Row, Table, measured
from blockmark.runs.model import CallStyle, Cell, MetricValue, Run, Setting
from blockmark.verdict.headline import without_call_style

_REPORT = (STEP, CHAIN, BURST, MIXED, PACK_ROW, TAKE, GIVE, REMOVE, FIND, COMPACT, TABLES)
_SCREEN = (STEP, CHAIN, BURST, MIXED, TABLES)
# Beyond this factor a common unit would make one end of a table unreadable.
_ONE_UNIT = 1e5
_LEAST = 0.1
_LONG = len("65,536")
_BINARY = "Ki is 1,024 and Mi 1,048,576."


def report_tables(run: Run, sweep: Sweep) -> list[Table]:
    """All tables that the run has values for, with whole numbers as titles."""
    everywhere = tuple(CALL_STYLES)
    return _tables(run, sweep, dict.fromkeys(_with_each(sweep, _REPORT), everywhere))


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
    quantities = [*_with_each(sweep, _SCREEN), *([TAKE_GIVE] if "batch" in sweep.axes else [])]
    # Where the batch is the question, so is who pays for a call.
    whole = STEP, STEP_EACH, TAKE_GIVE
    wanted = {quantity: everywhere if quantity in whole else inner for quantity in quantities}
    short = has_long_titles(sweep)
    found = _tables(run, sweep, wanted, short=short)
    return found or _tables(run, sweep, dict.fromkeys(_REPORT, everywhere), short=short)


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
        table = _table(run, sweep, quantity, groups, short=short, first=not tables)
        if table is not None:
            tables.append(table)
    return tables


def _table(
    run: Run,
    sweep: Sweep,
    quantity: Quantity,
    lines: Mapping[CallStyle, Sequence[Line]],
    *,
    short: bool,
    first: bool,
) -> Table | None:
    """One quantity; None if nothing has it. Failures throughout stand in the first table alone."""
    scale = _scale(
        quantity,
        [
            value.value
            for members in lines.values()
            for line in members
            for value in line.amounts(sweep, quantity)
            if value is not None and value.value is not None
        ],
    )
    if scale is None:
        return None
    ends = _ends(sweep, quantity, lines)
    groups = []
    for style, members in lines.items():
        rows = []
        known = [line for line in members if any(line.amounts(sweep, quantity))]
        floors = floors_of(run, known)
        for line in members:
            values = line.amounts(sweep, quantity)
            if line.control:
                # A floor that has no such cost is no failure, even where it was not tried.
                shown = line in floors
            else:
                failed = any(cell is not None and not cell.ok for cell in line.cells)
                shown = line in known or (first and failed)
            if not shown:
                continue
            entries = [
                _entry(run, setting, cell, value, quantity, scale)
                for setting, cell, value in zip(sweep.settings, line.cells, values, strict=True)
            ]
            if len(ends) == 2:
                mark = joint_mark(*(entries[end].mark for end in ends))
                entries.append(Entry(times(_growth(values, *ends)), mark=mark))
            rows.append(Row(without_call_style(line.impl), tuple(entries), control=line.control))
        if rows:
            groups.append(Group(CALL_STYLES[style], tuple(rows)))
    titles = sweep.titles(short=short)
    columns = [Column(title, "number" if scale.label else "right") for title in titles]
    notes = []
    if len(ends) == 2:
        first_title, last_title = (titles[end] for end in ends)
        columns.append(Column(f"{last_title}/{first_title}", "right"))
    if titles != sweep.titles():
        notes.append(_BINARY)
    notes += mark_notes(
        entry.mark for group in groups for row in group.rows for entry in row.entries
    )
    corner = f"{quantity.label}, {scale.label}" if scale.label else quantity.label
    return Table(corner, tuple(columns), tuple(groups), tuple(notes))


def _scale(quantity: Quantity, values: Sequence[float]) -> Scale | None:
    """One unit for all, or one without a label where each value needs its own; None if empty."""
    if not values:
        return None
    sizes = [value for value in values if value]
    if sizes and max(sizes) > _ONE_UNIT * min(sizes):
        return Scale("", 1.0)
    return scale_for(sizes, quantity.unit, _LEAST if quantity is STEP else 1.0)


def _entry(
    run: Run,
    setting: Setting,
    cell: Cell | None,
    value: MetricValue | None,
    quantity: Quantity,
    scale: Scale,
) -> Entry:
    if cell is not None and not cell.ok:
        # The reasons are told with everything else that was not measured.
        return Entry(missing=True) if cell.status == "unavailable" else Entry(cell.status)
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


def _ends(
    sweep: Sweep, quantity: Quantity, lines: Mapping[CallStyle, Sequence[Line]]
) -> tuple[int, ...]:
    """The first and the last place on the axis with a value, if there are two."""
    if not sweep.values:
        return ()
    known = {
        place
        for members in lines.values()
        for line in members
        for place, value in enumerate(line.amounts(sweep, quantity))
        if value is not None and value.value is not None
    }
    return (min(known), max(known)) if len(known) > 1 else ()


def _growth(values: Sequence[MetricValue | None], first: int, last: int) -> float | None:
    """The value at one place / that at another; None without both."""
    start, end = values[first], values[last]
    if start is None or end is None or not start.value or end.value is None:
        return None
    return end.value / start.value
