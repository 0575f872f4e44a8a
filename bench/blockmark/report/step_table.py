"""The main table: what a step costs with each implementation, in one setting."""

from __future__ import annotations

from dataclasses import replace

from blockmark.report.floors import floor_mark, mark_notes
from blockmark.report.numbers import ABSENT, Scale, count, percent, scale_for
from blockmark.report.order import CALL_STYLES, by_call_style, value_of
from blockmark.report.ranges import TITLE, range_note
from blockmark.report.table import (
    Column,
    Entry,
    Group,
    Row,
    Table,
    measured,
    without_empty_columns,
)
from blockmark.runs.model import Cell, MetricValue, Run, Setting
from blockmark.verdict.headline import without_call_style

STEP_METRICS = (
    "step_ns",
    "step_latency_ns",
    "pack_ns",
    "heap_allocations_per_step",
    "busy_share_estimated",
)
# Beside tens of microseconds 0.31 us reads better than 310 ns and 17,900 ns.
_LEAST = 0.1


def step_table(run: Run, setting: Setting) -> Table:
    """Rows by call style, the cheapest first, floors last.

    What was not measured shows its status and reason in place of numbers. A column
    in which no row has a number is left out; a table without columns says that the
    step was not measured at all.
    """
    cells, declared = run.cells_of(setting.key), run.implementation_by_name
    step = scale_for((value_of(cell, "step_ns") for cell in cells), "ns", _LEAST)
    pack = scale_for((value_of(cell, "pack_ns") for cell in cells), "ns", _LEAST)
    groups = tuple(
        Group(
            CALL_STYLES[style],
            tuple(
                _row(
                    run,
                    cell,
                    step,
                    pack,
                    floor_mark(cell, "step_ns", cells, declared),
                    floor_mark(cell, "pack_ns", cells, declared),
                )
                for cell in members
            ),
        )
        for style, members in by_call_style(cells)
    )
    columns = (
        Column(f"step {step.label}"),
        Column(TITLE, "right"),
        Column("p99"),
        Column(f"pack {pack.label}"),
        Column("allocs"),
        Column(rate_title(setting), "right"),
        Column("profile", "word"),
    )
    table = without_empty_columns(Table("", columns, groups))
    if not any(column.title != "profile" for column in table.columns):
        table = Table("", (), _only_messages(table.groups))
    return Table("", table.columns, table.groups, _notes(run, cells, table))


def rate_title(setting: Setting) -> str:
    """`at 2,000/s`: the step rate that a share of a core belongs to."""
    rate = step_rate(setting)
    return "core share" if rate is None else f"at {count(rate)}/s"


def step_rate(setting: Setting) -> float | None:
    """Scheduler iterations a second that the setting asks for."""
    rate = setting.params.get("step_rate")
    return float(rate) if isinstance(rate, int | float) and rate > 0 else None


# Kinds that are no candidates: their profile is not what a reader has to know of them.
_BESIDE = ("control", "mistake")


def _row(run: Run, cell: Cell, step: Scale, pack: Scale, step_mark: str, pack_mark: str) -> Row:
    control = cell.kind == "control"
    # The row's group says how it is called.
    name = without_call_style(cell.impl)
    if not cell.ok:
        return Row(name, message=f"{cell.status}: {cell.reason}", control=control)
    info = run.implementation_by_name.get(cell.impl)
    declared = ABSENT if info is None else info.profile or ABSENT
    cost = measured(cell.metric("step_ns"), step.factor, mark=step_mark)
    return Row(
        name,
        (
            # Its interval has a column of its own.
            replace(cost, interval=""),
            Entry(cost.interval or ABSENT),
            measured(cell.metric("step_latency_ns.p99"), step.factor),
            measured(cell.metric("pack_ns"), pack.factor, mark=pack_mark),
            _counted(cell.metric("heap_allocations_per_step")),
            _share(cell.metric("busy_share_estimated")),
            Entry(cell.kind if cell.kind in _BESIDE else declared),
        ),
        control=control,
    )


def _counted(value: MetricValue | None) -> Entry:
    if value is None:
        return Entry()
    return Entry(count(value.value), missing=value.value is None)


def _share(value: MetricValue | None) -> Entry:
    if value is None:
        return Entry()
    return Entry(percent(value.value), missing=value.value is None)


def _only_messages(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    found = (
        Group(group.title, tuple(row for row in group.rows if row.message)) for group in groups
    )
    return tuple(group for group in found if group.rows)


def _notes(run: Run, cells: tuple[Cell, ...], table: Table) -> tuple[str, ...]:
    notes = []
    steps = [metric for cell in cells if (metric := cell.metric("step_ns")) is not None]
    if said := range_note(steps):
        notes.append(said)
    notes += mark_notes(entry.mark for row in table.rows for entry in row.entries)
    if run.quick:
        notes.append("Quick run: not for decisions.")
    return tuple(notes)
