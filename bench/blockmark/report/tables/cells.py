"""Tables of one setting: a step, its paced loop, single operations, and counters of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from blockmark.report.facts.floors import floor_mark
from blockmark.report.facts.numbers import count, exact, scale_for, whole_size
from blockmark.report.facts.order import value_of
from blockmark.report.facts.ranges import range_note
from blockmark.report.facts.rates import SATURATED, is_paced, is_saturated
from blockmark.report.facts.setting import number, setting_name, word
from blockmark.report.tables import declared
from blockmark.report.tables.build import (
    Field,
    Shown,
    head_of,
    measured,
    styled,
    table_of,
    table_of_cells,
)
from blockmark.report.tables.model import Column, Entry, Row, Table
from blockmark.runs.metrics import METRICS, label_of
from blockmark.runs.model import Cell, Run, Setting


def step_table(run: Run, setting: Setting) -> Table:
    """Rows by call style, the cheapest first, floors last.

    What was not measured shows its status and reason in place of numbers. A column
    in which no row has a number is left out; a table without columns says that the
    step was not measured at all.
    """
    cells = run.cells_of(setting.key)
    rate = step_rate(setting)
    at = "core share" if rate is None else f"at {count(rate)}/s"
    steps = [value for cell in cells if (value := cell.metric("step_ns")) is not None]
    columns = [
        replace(column, title=at) if column.address == "busy_share_estimated" else column
        for column in declared.STEP_COLUMNS
    ]
    notes = [range_note(steps)]
    table = table_of_cells(run, columns, styled(cells), notes=notes)
    if not any(column.kind != "word" for column in table.columns):
        groups = (replace(g, rows=tuple(r for r in g.rows if r.message)) for g in table.groups)
        table = Table(
            "", (), tuple(group for group in groups if group.rows), tuple(filter(None, notes))
        )
    quick = ("Quick run: not for decisions.",) if run.quick else ()
    return replace(table, notes=(*table.notes, *quick))


def step_rate(setting: Setting) -> float | None:
    """Scheduler iterations a second that the setting asks for."""
    rate = number(setting.params, "step_rate")
    return rate if rate and rate > 0 else None


def rate_tables(run: Run, setting: Setting, *, screen: bool = False) -> list[Table]:
    """The paced loops of one setting; empty if there were none.

    The main table, the loop itself (what it costs and the estimates beside it), when
    steps began and were done, and the collector where Python looped and it was not off.
    A `screen` has the first and the last. Cells that were not measured have no row; the
    step table says why.
    """
    cells = [cell for cell in run.cells_of(setting.key) if is_paced(cell)]
    if not cells:
        return []
    # Without step times the busy share is the order.
    cells.sort(key=lambda cell: value_of(cell, "busy_share") or 0.0)
    rate = step_rate(setting)
    at = "" if rate is None else f" at {count(rate)}/s"
    groups = styled(cells)

    def loops(corner: str, columns: Sequence[Shown], chosen: Sequence[Cell] = cells) -> Table:
        return table_of_cells(run, columns, styled(chosen), corner=corner, keep="numbers")

    spinning = word(setting.params, "pacing") in ("spin", None)
    paced = declared.PACED_SPINNING if spinning else declared.PACED_ASLEEP
    main = table_of_cells(run, paced, groups, corner=f"paced{at}")
    said = [_loop_words(setting, cells)]
    full = [declared.SATURATION] if _says(main, SATURATED) else []
    full += [declared.FULL] if any(is_saturated(cell) for cell in cells) else []
    tables = [replace(main, notes=tuple(note for note in (*said, *main.notes, *full) if note))]
    if not screen:
        tables.append(loops(f"the loop{at}", declared.LOOP))
        tables.append(loops(f"times{at}", declared.TIMES))
    if word(setting.params, "gc") != "off":
        looping = [cell for cell in cells if cell.call_style != "native"]
        tables.append(loops(f"collector{at}", declared.COLLECTOR, looping))
    return [table for table in tables if table.columns]


def _says(table: Table, text: str) -> bool:
    return any(entry.text == text for row in table.rows for entry in row.entries)


_WAITING = {
    "spin": "waiting by spinning",
    "sleep": "waiting asleep",
    "hybrid": "waiting asleep, the last 100 us by spinning",
}


def _loop_words(setting: Setting, cells: Sequence[Cell]) -> str:
    """`Paced loops of 0.5 s, waiting by spinning; between steps 4 MiB are streamed.`"""
    params = setting.params
    seconds = number(params, "rate_seconds")
    waiting = _WAITING.get(word(params, "pacing") or "", "")
    text = "Paced loops" if seconds is None else f"Paced loops of {exact(seconds)} s"
    if waiting:
        text += f", {waiting}"
    between = {
        "idle": "between steps nothing runs",
        "stream": _streamed(setting, cells),
        "objects": "between steps Python objects are made and dropped",
    }.get(word(params, "between") or "")
    if between:
        text += f"; {between}"
    return "" if text == "Paced loops" else f"{text}."


def _streamed(setting: Setting, cells: Sequence[Cell]) -> str:
    """The bytes that had time between two steps, which may be fewer than were asked for."""
    found = [size for cell in cells if (size := value_of(cell, "streamed_bytes")) is not None]
    asked = number(setting.params, "between_bytes")
    sizes = [min(found), max(found)] if found else [] if asked is None else [asked]
    if sizes and not max(sizes):
        return "there was no time to stream anything between steps"
    named = " to ".join(dict.fromkeys(map(whole_size, sizes)))
    return f"between steps {f'{named} are' if named else 'a buffer is'} streamed"


def study_table(
    run: Run,
    settings: Sequence[Setting],
    columns: Sequence[str],
    *,
    caption: str = "",
    named: Callable[[Setting], str] | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """The table of a study: a row a cell, a group a setting, which `named` names.

    `columns` are metrics or quantiles; those without a value in any row are left out.
    """

    def title(setting: Setting) -> str:
        if named is not None:
            return named(setting)
        return setting_name(run, setting) if len(settings) > 1 else ""

    return table_of_cells(
        run,
        [Shown(address) for address in columns],
        [(title(setting), run.cells_of(setting.key)) for setting in settings],
        caption=caption,
        notes=notes,
        head=lambda cell: replace(head_of(cell), name=cell.impl),
    )


def by_language(run: Run, setting: Setting) -> list[tuple[str, list[Cell]]]:
    """The cells of the native loop, and those called from Python, in the step table's order."""
    cells = styled(run.cells_of(setting.key))
    native = [cell for _, members in cells for cell in members if cell.call_style == "native"]
    called = [cell for _, members in cells for cell in members if cell.call_style != "native"]
    # Among calls from Python the two styles are joined, so floors move to the end.
    called.sort(key=lambda cell: cell.kind == "control")
    return [("native loop", native), ("called from Python", called)]


def operation_tables(run: Run, setting: Setting) -> list[Table]:
    """One table for the native loop and one for calls from Python, where there is any.

    Operations are rows and implementations columns, because the question is which of them is
    good at this. The order of the columns is that of the step table. Implementations that were
    not measured have no column; the step table says why.
    """
    tables = []
    for corner, cells in by_language(run, setting):
        shown = [
            cell
            for cell in cells
            if any(cell.ok and cell.metric(name) is not None for name in declared.OPERATIONS)
        ]
        if shown:
            tables.append(_operations(run, corner, shown))
    return tables


def _operations(run: Run, corner: str, cells: Sequence[Cell]) -> Table:
    scales = {
        name: scale_for((value_of(cell, name) for cell in cells), METRICS[name].unit)
        for name in declared.OPERATIONS
        if any(cell.metric(name) is not None for cell in cells)
    }
    # The unit of most rows stands in the corner; the other rows name their own.
    unit = Counter(scale.label for scale in scales.values()).most_common(1)[0][0]

    def head(name: str) -> Row:
        own = scales[name].label not in (unit, "count")
        return Row(f"{label_of(name)}, {scales[name].label}" if own else label_of(name))

    def column(cell: Cell) -> Field[str]:
        def show(name: str) -> Entry:
            mark = floor_mark(cell, name, cells, run.implementation_by_name)
            return measured(cell.metric(name), scales[name].factor, mark=mark)

        return Field(Column(cell.impl, is_name=True), show)

    notes = called_once_per_step(cells)
    fields = [column(cell) for cell in cells]
    return table_of(f"{corner}, {unit}", fields, [("", list(scales))], head, notes=notes)


def called_once_per_step(cells: Sequence[Cell]) -> list[str]:
    """The note that names these among columns of both ways of calling from Python."""
    batches = [cell.impl for cell in cells if cell.call_style == "per-step"]
    if not batches or len(batches) == len(cells):
        return []
    return [f"Called once per step: {', '.join(batches)}; the others once per operation."]
