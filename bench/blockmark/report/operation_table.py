"""The second table: what each single operation costs, one row an operation.

Operations are rows and implementations columns, because the question here is
"which of them is good at this", read along a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from blockmark.report.floors import floor_mark, mark_notes
from blockmark.report.numbers import scale_for
from blockmark.report.order import by_call_style, value_of
from blockmark.report.table import Column, Group, Row, Table, measured
from blockmark.runs.metrics import METRICS
from blockmark.runs.model import Cell, Run, Setting

OPERATIONS = (
    "lookup_ordered_ns",
    "lookup_shuffled_ns",
    "lookup_chain_ordered_ns",
    "lookup_chain_shuffled_ns",
    "alloc_free_burst_ns",
    "alloc_free_interleaved_ns",
    "can_allocate_ns",
    "append_ns",
    "take_ns",
    "give_ns",
    "take_run_length",
    "remove_ns",
    "find_contiguous_ns",
    "contiguous_found",
    "longest_free_run",
    "compact_ns",
    "compact_moves",
    "fork_per_block_ns",
    "cow_per_copy_ns",
    "pack_ns",
    "pack_changed_ns",
    "pack_step_ns",
    "table_bytes",
    "pool_bytes",
    "move_descriptors",
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
            if any(cell.ok and cell.metric(operation) is not None for operation in OPERATIONS)
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
        if any(cell.metric(operation) is not None for cell in cells)
    ]
    scales = [
        scale_for((value_of(cell, name) for cell in cells), METRICS[name].unit) for name in asked
    ]
    # The unit of most rows stands in the corner; the other rows name their own.
    unit = Counter(scale.label for scale in scales).most_common(1)[0][0]
    rows = []
    for operation, scale in zip(asked, scales, strict=True):
        own = scale.label not in (unit, "count")
        label = METRICS[operation].label
        name = f"{label}, {scale.label}" if own else label
        entries = (
            measured(
                cell.metric(operation),
                scale.factor,
                mark=floor_mark(cell, operation, cells, run.implementation_by_name),
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
