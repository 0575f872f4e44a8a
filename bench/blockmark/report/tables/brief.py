"""The answer of a run on half a page: two sentences, and what a step costs, in few columns.

For a reader who knows none of the words of the whole tables, such as that of a README.
"""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.facts.numbers import percent, scale_for
from blockmark.report.facts.order import CALL_STYLES, by_call_style, value_of
from blockmark.report.facts.ranges import TITLE, range_note
from blockmark.report.findings.headline import Finding
from blockmark.report.tables.build import measured
from blockmark.report.tables.cells import step_rate
from blockmark.report.tables.model import Column, Entry, Group, Row, Table
from blockmark.runs.model import Cell, MetricValue, Run, Setting
from blockmark.verdict.headline import without_call_style

# Which structure, and what it costs to call it: in this order.
_TOPICS = ("Structure", "Crossing")
_STYLES = CALL_STYLES | {"native": "in C++"}
# Beside tens of microseconds 0.31 us reads better than 310 ns.
_LEAST = 0.1


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
    step = scale_for((value_of(cell, "step_ns") for cell in cells), "ns", _LEAST)
    groups = tuple(
        Group(_STYLES[style], tuple(_row(cell, step.factor) for cell in members))
        for style, members in by_call_style(cells)
    )
    rate = step_rate(setting)
    columns = (
        Column(f"a step, {step.label}"),
        Column(TITLE, "right"),
        Column("share of a core" + ("" if rate is None else f" at {rate:,.0f} steps/s"), "right"),
    )
    said = range_note(_steps(cells))
    return Table("structure", columns, groups, (said,) if said else ())


def _row(cell: Cell, factor: float) -> Row:
    cost = measured(cell.metric("step_ns"), factor)
    entries = (
        Entry(cost.text),
        Entry(cost.interval) if cost.interval else Entry(),
        Entry(percent(value_of(cell, "busy_share_estimated"))),
    )
    return Row(without_call_style(cell.impl), entries)


def _steps(cells: Sequence[Cell]) -> list[MetricValue]:
    return [metric for cell in cells if (metric := cell.metric("step_ns")) is not None]
