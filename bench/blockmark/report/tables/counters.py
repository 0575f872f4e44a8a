"""Counters in tables: those of a step, and misses operation by operation.

Every table is of one source, which its caption names, because a processor's counts and
simulated ones must not be read along one line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from blockmark.report.facts.counter_source import source_notes, source_of, source_words, sources_of
from blockmark.report.facts.numbers import ABSENT, percent, significant
from blockmark.report.facts.order import CALL_STYLES
from blockmark.report.tables.build import (
    Field,
    Shown,
    Value,
    head_of,
    measured,
    styled,
    table_of,
    table_of_cells,
)
from blockmark.report.tables.cells import by_language, called_once_per_step
from blockmark.report.tables.declared import (
    COUNTED,
    COUNTED_SHORT,
    COUNTED_WORDS,
    DETAILS,
    MISSES,
    OPERATIONS,
    Detail,
)
from blockmark.report.tables.model import Column, Entry, Row, Table
from blockmark.runs.metrics import label_of
from blockmark.runs.metrics.counters import COUNTERS, operation_of
from blockmark.runs.model import Cell, MetricValue, Run, Setting

_LABELS = {row.name: row.label for row in COUNTERS}


def counter_tables(run: Run, setting: Setting) -> list[Table]:
    """All tables of counters of a setting, for a report; none if it has no counters."""
    tables = step_counter_tables(run, setting, full=True)
    for detail in DETAILS:
        for table in _by_operation(run, setting, detail, full=True):
            if tables and _all_zero(table):
                # Rows of zeros say less than a sentence does.
                none = f"{_LABELS[detail.counter]} ({table.corner}): none in any operation."
                tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, none))
            else:
                tables.append(table)
    return tables


def step_counter_tables(run: Run, setting: Setting, *, full: bool = False) -> list[Table]:
    """What a step counts, a table for each source; rows as in the step's own table.

    Implementations without counters of a step have no row. `full` adds the columns for
    which a screen has no room. Where Python loops, simulated counts are above the empty
    loop, and that loop's own stand with those of the native loop, from which nothing is
    taken off.
    """
    cells = run.cells_of(setting.key)
    names = [f"step_{counter}" for counter in (COUNTED if full else COUNTED_SHORT)]
    columns = [Shown(name, _LABELS[name.removeprefix("step_")]) for name in names]
    tables = []
    for source in sources_of(cells, run):
        value = _value_from(run, source)
        groups = []
        for title, members in styled(cells):
            shown = [cell for cell in members if any(value(cell, name) for name in names)]
            alone = title != CALL_STYLES["native"] and all(c.kind == "control" for c in shown)
            groups += [(f"{title}: the empty loop" if alone else title, shown)] if shown else []
        if not groups:
            continue
        called = any(title != CALL_STYLES["native"] for title, _ in groups)
        table = table_of_cells(
            run,
            columns,
            groups,
            corner="per step",
            caption=f"Counters of a step: {source_words(run, source)}.",
            notes=(COUNTED_WORDS, *source_notes(run, source, called=called)),
            head=_head(names, value),
            value=value,
        )
        tables.append(table)
    return tables


def _head(names: Sequence[str], value: Value) -> Callable[[Cell], Row]:
    """One reason for all that is missing stands in place of the numbers."""

    def head(cell: Cell) -> Row:
        known = [found for name in names if (found := value(cell, name)) is not None]
        reasons = {found.unavailable for found in known}
        row = head_of(cell)
        if len(reasons) > 1 or None in reasons:
            return row
        return replace(row, message=f"unavailable: {reasons.pop()}")

    return head


def operation_counter_tables(run: Run, setting: Setting) -> list[Table]:
    """L1D misses per operation, a table for each source and for native and called from Python.

    Rows are operations and columns implementations. The empty loop in Python is left
    out where its counts are taken off the others.
    """
    return _by_operation(run, setting, MISSES, full=False)


def _by_operation(run: Run, setting: Setting, detail: Detail, *, full: bool) -> list[Table]:
    tables = []
    for corner, group in by_language(run, setting):
        sources = sources_of(group, run)
        for source in sources:
            shown = group
            if not full and source == "callgrind" and "callgrind-net" in sources:
                shown = [cell for cell in group if cell.kind != "control"]
            table = _of_operations(run, corner, shown, source, detail, full)
            # All of them unavailable: the reasons stand with what was not measured.
            if any(entry.text != ABSENT for row in table.rows for entry in row.entries):
                tables.append(table)
    return tables


def _of_operations(
    run: Run, corner: str, cells: Sequence[Cell], source: str, detail: Detail, full: bool
) -> Table:
    value = _value_from(run, source)
    known = [
        name
        for name in OPERATIONS
        if any(value(cell, f"{operation_of(name)}_{detail.counter}") for cell in cells)
    ]
    fields = [_field(cell, value, detail) for cell in cells]
    table = table_of(corner, fields, [("", known)], lambda name: Row(label_of(name)))
    about = f"{_LABELS[detail.counter]} per operation"
    if full and any(entry.interval for row in table.rows for entry in row.entries):
        legend = f"the miss rate of the {detail.word}" if detail.base else "those a cycle"
        about += f" (in parentheses {legend})"
    names = {column.title for column in table.columns}
    notes = called_once_per_step([cell for cell in cells if cell.impl in names])
    called = any(cell.call_style != "native" for cell in cells)
    notes += source_notes(run, source, called=called)
    return replace(table, caption=f"{about}: {source_words(run, source)}.", notes=tuple(notes))


def _all_zero(table: Table) -> bool:
    entries = [entry for row in table.rows for entry in row.entries]
    return all(entry.text in ("0", ABSENT) and not entry.missing for entry in entries)


def _field(cell: Cell, value: Value, detail: Detail) -> Field[str]:
    """`1.13`, and where there is room `14.0 % of 8.01`; a range over rounds has no place."""

    def show(name: str) -> Entry:
        prefix = operation_of(name)
        found = measured(value(cell, f"{prefix}_{detail.counter}"))
        rate = value(cell, f"{prefix}_{detail.rate}")
        if found == Entry() or found.missing or rate is None or rate.value is None:
            return replace(found, interval="")
        told = percent(rate.value) if rate.unit == "share" else significant(rate.value)
        base = value(cell, f"{prefix}_{detail.base}") if detail.base else None
        told += f" of {significant(base.value)}" if base and base.value is not None else ""
        return Entry(found.text, told if detail.base else f"{told} {detail.word}")

    return Field(Column(cell.impl, is_name=True), show)


def _value_from(run: Run, source: str) -> Value:
    """What a cell has of a counter, if it is of that source."""

    def value(cell: Cell, metric: str) -> MetricValue | None:
        found = cell.metric(metric) if cell.ok else None
        return found if found is not None and source_of(found, run) == source else None

    return value
