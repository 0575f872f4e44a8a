"""Rows beside cache lines: what width and alignment cost, by the size of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockmark.report.facts.numbers import count, counted, times
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.sweep import Sweep
from blockmark.report.findings.compared import factor, ratio_between
from blockmark.report.tables.cells import study_table
from blockmark.report.tables.model import Table
from blockmark.runs.model import Cell, Run, Setting

QUESTION = "Does it matter for reading a block table where its rows lie in cache lines?"
METHOD = (
    "Random rows of 32 ids are read, each address formed with the last answer, so a read is a "
    "latency; where it says independent, rows are loaded without waiting. Lines are counted from "
    "the rows' addresses."
)

_COLUMNS = (
    "lines_per_row", "slab_bytes", "entry_read_ns", "row_read_ns", "row_load_ns", "row_pack_ns",
)  # fmt: skip


def load_words(settings: Sequence[Setting]) -> str:
    """`256 to 262,144 rows of 32 ids`."""
    sizes = sorted({size for setting in settings if (size := _rows(setting))})
    ends = " to ".join(count(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
    return f"{ends} rows of 32 ids" if sizes else "rows of 32 ids"


def tables(run: Run, sweep: Sweep) -> list[Table]:
    """One table, a group a setting."""
    return [study_table(run, sweep.settings, _COLUMNS)]


_READ = "row_read_ns"


def sentences(run: Run, sweep: Sweep) -> list[str]:
    """The price of a second line, and of wider ids, for each size of the table."""
    said = []
    for rows in sorted({size for setting in sweep.settings if (size := _rows(setting))}):
        cells = [
            cell
            for setting in sweep.settings
            if _rows(setting) == rows
            for cell in run.cells_of(setting.key)
        ]
        parts = [part for part in (_alignment(cells), _width(cells)) if part]
        if parts:
            said.append(f"{counted(rows, 'row')}: {'; '.join(parts)}.")
    return said


def _alignment(cells: Sequence[Cell]) -> str:
    """Reading a row of 16-bit ids in two lines against one."""
    narrow = [cell for cell in cells if cell.impl.startswith("row-16")]
    by_lines: dict[float, list[Cell]] = {}
    for cell in narrow:
        lines = value_of(cell, "lines_per_row")
        if lines is not None and value_of(cell, _READ):
            by_lines.setdefault(lines, []).append(cell)
    alone, *_ = by_lines.pop(1.0, [None])
    if alone is None:
        return ""
    told = [ratio_between(cell, alone, _READ) for each in by_lines.values() for cell in each]
    shown = [ratio.value for ratio in told if ratio.leaves_out_one and ratio.value is not None]
    if not shown:
        return ""
    ends = dict.fromkeys(times(ratio) for ratio in (min(shown), max(shown)))
    return f"a 16-bit row in two lines costs {' to '.join(ends)} one in one line"


def _width(cells: Sequence[Cell]) -> str:
    """Reading an aligned row of wider ids against one of 16 bits."""
    aligned = {
        cell.impl: cell
        for cell in cells
        if cell.params.get("line_offset") == 0 and value_of(cell, _READ)
    }
    narrow = aligned.get("row-16/cpp")
    wider = [
        f"{bits}-bit ids {told}"
        for bits in (32, 64)
        if narrow and (name := f"row-{bits}/cpp") in aligned
        if (told := factor(aligned[name], narrow, _READ))
    ]
    return f"beside 16-bit ids, a row of {' and of '.join(wider)}" if wider else ""


def _rows(setting: Setting) -> int | None:
    value = setting.params.get("table_rows")
    return value if isinstance(value, int) else None


def draw(run: Run, sweep: Sweep) -> Iterator[tuple[str, str, str, Drawn]]:
    """The latency of a row over the size of the table, a line for each width and place."""
    from .charts import draw_rows

    title = f"Reading a row of 32 ids: {sweep.scenario}"
    if (data := draw_rows(run, sweep, title)) is not None:
        caption = (
            "Latency of a row by the size of the table. A solid line is a row that begins on a "
            "cache line, a dotted one lies in one line more than it has to."
        )
        yield "layout-rows", title, caption, data
