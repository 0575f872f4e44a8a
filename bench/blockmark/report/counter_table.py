"""Counters in tables: those of a step, and L1D misses operation by operation.

Every table is of one source, which its caption names, because a processor's counts and
simulated ones must not be read along one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from blockmark.report.counter_source import source_notes, source_of, source_words, sources_of
from blockmark.report.numbers import ABSENT, percent, significant
from blockmark.report.operation_table import OPERATIONS, called_once_per_step
from blockmark.report.order import CALL_STYLES, by_call_style
from blockmark.report.table import (
    Column,
    Entry,
    Group,
    Row,
    Table,
    measured,
    without_empty_columns,
)
from blockmark.runs.metrics import METRICS
from blockmark.runs.metrics.counters import COUNTERS, operation_of
from blockmark.runs.model import Cell, MetricValue, Run, Setting
from blockmark.verdict.headline import without_call_style


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column of a step's table, which is called as the counter is.

    `short` says that a screen shows it too.
    """

    counter: str
    short: bool = True


_STEP = (
    _Shown("instructions_per_op"),
    _Shown("cycles_per_op"),
    _Shown("ipc"),
    _Shown("l1d_loads_per_op"),
    _Shown("l1d_misses_per_op"),
    _Shown("l1d_miss_rate"),
    _Shown("l2_loads_per_op", short=False),
    _Shown("l2_misses_per_op"),
    _Shown("l2_miss_rate", short=False),
    _Shown("ll_loads_per_op", short=False),
    _Shown("ll_misses_per_op"),
    _Shown("ll_miss_rate", short=False),
    _Shown("l1d_stores_per_op", short=False),
    _Shown("l1d_store_misses_per_op", short=False),
    _Shown("branches_per_op", short=False),
    _Shown("branch_misses_per_op"),
)
_LABELS = {row.name: row.label for row in COUNTERS}
_LEGEND = "LL: last level; br. misses: branches whose way or target was predicted wrongly."


@dataclass(frozen=True, slots=True)
class _Detail:
    """A table by operation: the counter, and what stands in parentheses behind it.

    The parentheses hold `rate of base`, or `word rate` where there is no base.
    """

    counter: str
    rate: str = ""
    base: str = ""
    word: str = ""


_MISSES = _Detail("l1d_misses_per_op", "l1d_miss_rate", "l1d_loads_per_op", "loads")
_DETAILS = (
    _MISSES,
    _Detail("l2_misses_per_op", "l2_miss_rate", "l2_loads_per_op", "references"),
    _Detail("ll_misses_per_op", "ll_miss_rate", "ll_loads_per_op", "loads"),
    _Detail("instructions_per_op", "ipc", "", "a cycle"),
)


def counter_tables(run: Run, setting: Setting) -> list[Table]:
    """All tables of counters of a setting, for a report; none if it has no counters."""
    tables = step_counter_tables(run, setting, full=True)
    for detail in _DETAILS:
        for table in _by_operation(run, setting, detail, full=True):
            if tables and _all_zero(table):
                # Rows of zeros say less than a sentence does.
                notes = (
                    *tables[-1].notes,
                    f"{_LABELS[detail.counter]} ({table.corner}): none in any operation.",
                )
                tables[-1] = replace(tables[-1], notes=notes)
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
    return [
        table
        for source in sources_of(cells, run)
        if (table := _of_step(run, cells, source, full)) is not None
    ]


def operation_counter_tables(run: Run, setting: Setting) -> list[Table]:
    """L1D misses per operation, a table for each source and for native and called from Python.

    Rows are operations and columns implementations. The empty loop in Python is left
    out where its counts are taken off the others.
    """
    return _by_operation(run, setting, _MISSES, full=False)


def _of_step(run: Run, cells: Sequence[Cell], source: str, full: bool) -> Table | None:
    shown = [column for column in _STEP if full or column.short]
    groups = []
    for style, members in by_call_style(cells):
        rows = [_step_row(run, cell, source, shown) for cell in members]
        kept = tuple(row for row in rows if row is not None)
        title = CALL_STYLES[style]
        if style != "native" and all(row.control for row in kept):
            title += ": the empty loop"
        if kept:
            groups.append(Group(title, kept))
    if not groups:
        return None
    columns = tuple(Column(_LABELS[column.counter]) for column in shown)
    called = any(group.title != CALL_STYLES["native"] for group in groups)
    return without_empty_columns(
        Table(
            "per step",
            columns,
            tuple(groups),
            (_LEGEND, *source_notes(run, source, called=called)),
            f"Counters of a step: {source_words(run, source)}.",
        )
    )


def _step_row(run: Run, cell: Cell, source: str, shown: Sequence[_Shown]) -> Row | None:
    values = [_value(run, cell, f"step_{column.counter}", source) for column in shown]
    known = [value for value in values if value is not None]
    if not known:
        return None
    name, control = without_call_style(cell.impl), cell.kind == "control"
    reasons = {value.unavailable for value in known}
    if len(reasons) == 1 and None not in reasons:
        return Row(name, message=f"unavailable: {reasons.pop()}", control=control)
    return Row(name, tuple(map(_entry, values)), control=control)


def _by_operation(run: Run, setting: Setting, detail: _Detail, *, full: bool) -> list[Table]:
    cells = run.cells_of(setting.key)
    native: list[Cell] = []
    called: list[Cell] = []
    for style, members in by_call_style(cells):
        (native if style == "native" else called).extend(members)
    # Among calls from Python the two styles are joined, so floors move to the end.
    called.sort(key=lambda cell: cell.kind == "control")
    tables = []
    for corner, group in (("native loop", native), ("called from Python", called)):
        sources = sources_of(group, run)
        for source in sources:
            shown = group
            if not full and source == "callgrind" and "callgrind-net" in sources:
                shown = [cell for cell in group if cell.kind != "control"]
            table = _of_operations(run, corner, shown, source, detail, full)
            tables += [table] if table is not None else []
    return tables


def _of_operations(
    run: Run, corner: str, cells: Sequence[Cell], source: str, detail: _Detail, full: bool
) -> Table | None:
    rows = []
    for operation in OPERATIONS:
        prefix = operation_of(operation)
        values = [_value(run, cell, f"{prefix}_{detail.counter}", source) for cell in cells]
        if any(value is not None for value in values):
            entries = [
                _with_detail(run, cell, value, prefix, source, detail)
                for cell, value in zip(cells, values, strict=True)
            ]
            rows.append(Row(METRICS[operation].label, tuple(entries)))
    if not any(entry.text != ABSENT for row in rows for entry in row.entries):
        # All of them unavailable: the reasons stand with what was not measured.
        return None
    called = any(cell.call_style != "native" for cell in cells)
    about = f"{_LABELS[detail.counter]} per operation"
    if full and any(entry.interval for row in rows for entry in row.entries):
        about += f" (in parentheses {_legend(detail)})"
    table = without_empty_columns(
        Table(
            corner,
            tuple(Column(cell.impl, is_name=True) for cell in cells),
            (Group("", tuple(rows)),),
            caption=f"{about}: {source_words(run, source)}.",
        )
    )
    names = {column.title for column in table.columns}
    notes = called_once_per_step([cell for cell in cells if cell.impl in names])
    notes += source_notes(run, source, called=called)
    return replace(table, notes=tuple(notes))


def _all_zero(table: Table) -> bool:
    entries = [entry for row in table.rows for entry in row.entries]
    return all(entry.text in ("0", ABSENT) and not entry.missing for entry in entries)


def _legend(detail: _Detail) -> str:
    return f"the miss rate of the {detail.word}" if detail.base else "those a cycle"


def _with_detail(
    run: Run, cell: Cell, value: MetricValue | None, prefix: str, source: str, detail: _Detail
) -> Entry:
    """`1.13`, and where there is room `14.0 % of 8.01`; a range over rounds has no place."""
    entry = _entry(value)
    if entry.missing or value is None or not detail.rate:
        return entry
    rate = _value(run, cell, f"{prefix}_{detail.rate}", source)
    base = _value(run, cell, f"{prefix}_{detail.base}", source) if detail.base else None
    told = ""
    if rate is not None and rate.value is not None:
        told = percent(rate.value) if rate.unit == "share" else significant(rate.value)
        told += f" of {significant(base.value)}" if base and base.value is not None else ""
        told += "" if detail.base else f" {detail.word}"
    return Entry(entry.text, told)


def _value(run: Run, cell: Cell, metric: str, source: str) -> MetricValue | None:
    """The cell's value if it is of that source."""
    value = cell.metric(metric) if cell.ok else None
    return value if value is not None and source_of(value, run) == source else None


def _entry(value: MetricValue | None) -> Entry:
    if value is not None and value.value is not None and value.unit == "share":
        return Entry(percent(value.value))
    return measured(value, 1.0)
