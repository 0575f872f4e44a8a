"""The second table: what each single operation costs, one row an operation.

Operations are rows and implementations columns, because the question here is
"which of them is good at this", read along a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from blockmark.report.floors import floor_mark, mark_notes
from blockmark.report.numbers import scale_for
from blockmark.report.order import by_call_style, value_of
from blockmark.report.table import Column, Group, Row, Table, measured
from blockmark.runs.metrics import METRICS
from blockmark.runs.model import Cell, Run, Setting


@dataclass(frozen=True, slots=True)
class Operation:
    """A row: the metric and what people call it."""

    metric: str
    label: str


OPERATIONS = (
    Operation("lookup_ordered_ns", "lookup, in order"),
    Operation("lookup_shuffled_ns", "lookup, shuffled"),
    Operation("lookup_chain_ordered_ns", "lookup chain, in order"),
    Operation("lookup_chain_shuffled_ns", "lookup chain, shuffled"),
    Operation("alloc_free_burst_ns", "alloc + free, burst"),
    Operation("alloc_free_interleaved_ns", "alloc + free, mixed"),
    Operation("can_allocate_ns", "can_allocate"),
    Operation("append_ns", "append a token"),
    Operation("take_ns", "pool alone: take"),
    Operation("give_ns", "pool alone: give"),
    Operation("take_run_length", "pool alone: neighbours"),
    Operation("remove_ns", "pool alone: remove"),
    Operation("find_contiguous_ns", "pool alone: find a run"),
    Operation("contiguous_found", "pool alone: in such runs"),
    Operation("longest_free_run", "pool alone: longest run"),
    Operation("compact_ns", "pool alone: plan moves"),
    Operation("compact_moves", "pool alone: moves"),
    Operation("fork_per_block_ns", "fork, per block"),
    Operation("cow_per_copy_ns", "copy-on-write"),
    Operation("pack_ns", "pack all rows"),
    Operation("pack_changed_ns", "pack changed rows"),
    Operation("pack_step_ns", "pack after a step"),
    Operation("table_bytes", "block tables"),
    Operation("pool_bytes", "pool and ref counts"),
    Operation("move_descriptors", "descriptors a sequence"),
)


def operation_tables(run: Run, setting: Setting) -> list[Table]:
    """One table for the native loop and one for calls from Python, where there is any.

    The order of the columns is that of the step table, so the cheapest step stands
    on the left and floors on the right. Implementations that were not measured have
    no column; the step table says why.
    """
    native: list[Cell] = []
    called: list[Cell] = []
    for style, members in by_call_style(run.cells_of(setting.key)):
        (native if style == "native" else called).extend(members)
    tables = []
    for corner, cells in (("native loop", native), ("called from Python", called)):
        shown = [
            cell
            for cell in cells
            if any(cell.ok and cell.metric(row.metric) is not None for row in OPERATIONS)
        ]
        # Among calls from Python the two styles are joined, so floors move to the end.
        shown.sort(key=lambda cell: cell.kind == "control")
        if shown:
            tables.append(_table(run, corner, shown))
    return tables


def _table(run: Run, title: str, cells: list[Cell]) -> Table:
    asked = [
        operation
        for operation in OPERATIONS
        if any(cell.metric(operation.metric) is not None for cell in cells)
    ]
    scales = [
        scale_for((value_of(cell, row.metric) for cell in cells), METRICS[row.metric].unit)
        for row in asked
    ]
    # The unit of most rows stands in the corner; the other rows name their own.
    unit = Counter(scale.label for scale in scales).most_common(1)[0][0]
    rows = []
    for operation, scale in zip(asked, scales, strict=True):
        own = scale.label not in (unit, "count")
        name = f"{operation.label}, {scale.label}" if own else operation.label
        entries = (
            measured(
                cell.metric(operation.metric),
                scale.factor,
                mark=floor_mark(cell, operation.metric, cells, run.implementation_by_name),
            )
            for cell in cells
        )
        rows.append(Row(name, tuple(entries)))
    notes = called_once_per_step(cells)
    notes += mark_notes(entry.mark for row in rows for entry in row.entries)
    columns = tuple(Column(cell.impl, is_name=True) for cell in cells)
    return Table(f"{title}, {unit}", columns, (Group("", tuple(rows)),), tuple(notes))


def called_once_per_step(cells: Sequence[Cell]) -> list[str]:
    """The note that names these among columns of both ways of calling from Python."""
    batches = [cell.impl for cell in cells if cell.call_style == "per-step"]
    if not batches or len(batches) == len(cells):
        return []
    return [f"Called once per step: {', '.join(batches)}; the others once per operation."]
