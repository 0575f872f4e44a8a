"""The answer of a run on half a page: two sentences, and what a step costs, in few columns.

For a reader who knows none of the words of the whole tables, such as that of a README.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from blockmark.report.facts.order import CALL_STYLES, by_call_style, value_of
from blockmark.report.facts.ranges import range_note
from blockmark.report.findings.headline import Finding
from blockmark.report.tables.build import table_of_cells
from blockmark.report.tables.cells import step_rate
from blockmark.report.tables.declared import BRIEF_COLUMNS
from blockmark.report.tables.model import Table
from blockmark.runs.model import Run, Setting

# Which structure, and what it costs to call it: in this order.
_TOPICS = ("Structure", "Crossing")
_STYLES = CALL_STYLES | {"native": "in C++"}


def lead(found: Sequence[Finding]) -> list[Finding]:
    """What a reader has to know first; empty where a run tells neither."""
    return [finding for topic in _TOPICS for finding in found if finding.topic == topic]


def brief_table(run: Run, setting: Setting) -> Table:
    """The managers that were measured: a step, its range, the share of a core.

    Rows by call style, the cheapest first. Controls and what was not measured are left out.
    """
    cells = [
        cell
        for cell in run.cells_of(setting.key)
        if cell.kind == "manager" and value_of(cell, "step_ns") is not None
    ]
    rate = step_rate(setting)
    share = "share of a core" + ("" if rate is None else f" at {rate:,.0f} steps/s")
    step, core = BRIEF_COLUMNS
    groups = [(_STYLES[style], members) for style, members in by_call_style(cells)]
    said = range_note([one for cell in cells if (one := cell.metric("step_ns")) is not None])
    columns = (step, replace(core, title=share))
    return table_of_cells(run, columns, groups, corner="structure", notes=(said,) if said else ())
