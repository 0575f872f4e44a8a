"""Comparisons as tables: implementations in one run, or the same cells in two runs.

What is made here is a sheet: sentences and tables with no idea of the medium.
`console.print_sheet` and `markdown.render_sheet` show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from blockmark.report.numbers import ABSENT, Scale, interval, scale_for, significant
from blockmark.report.setting import setting_name
from blockmark.report.table import Column, Entry, Group, Row, Table
from blockmark.runs.estimate import ROUNDS_FOR_INTERVAL
from blockmark.runs.model import CellKey, MetricValue, Run, SettingKey
from blockmark.verdict.compare import (
    CellChange,
    ImplementationComparison,
    ImplementationRatio,
    NotCompared,
    RunComparison,
)
from blockmark.verdict.stats import Ratio

# What is compared on a screen unless metrics are named: with all of them a reader
# would have to search for what matters.
SHORT_METRICS = (
    "step_ns",
    "step_latency_ns.p99",
    "pack_ns",
    "lookup_chain_shuffled_ns",
    "alloc_free_interleaved_ns",
    "append_ns",
    "heap_allocations_per_step",
)
_NO_VERDICT = (
    "better, worse: the interval of the ratio leaves out 1; unclear: it holds 1. That is no "
    "verdict on a change, which takes both sides measured side by side."
)
# Where a column of one metric changes its unit; see `scale_for`.
_LEAST = 0.1
# Names of what was left out, before the rest is only counted.
_MOST_LEFT_OUT = 12


@dataclass(frozen=True, slots=True)
class Section:
    """One setting's table under its heading."""

    heading: str
    table: Table


@dataclass(frozen=True, slots=True)
class Sheet:
    """Sentences before the tables, the tables, sentences behind them."""

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
    closing: tuple[str, ...]


def short_metrics(runs: Iterable[Run]) -> tuple[str, ...] | None:
    """Those of `SHORT_METRICS` that a run has; None, which means all, if there are none."""
    known = {name for run in runs for cell in run.cells for name in cell.metrics}
    return tuple(name for name in SHORT_METRICS if name.partition(".")[0] in known) or None


def implementations_sheet(comparison: ImplementationComparison) -> Sheet:
    """Every implementation against the reference: value, ratio, interval, reading."""
    run = comparison.run
    sections = []
    for setting in run.setting_by_key:
        rows = [row for row in comparison.rows if row.setting == setting]
        if rows:
            sections.append(Section(_heading(run, setting), _against(comparison, rows)))
    closing = [*_left_out(run, comparison.not_compared), *_notes(run, sections)]
    lead = [f"Ratio: cost of an implementation / cost of {comparison.reference}."]
    if run.quick:
        lead.append("Quick run: not for decisions.")
    return Sheet(
        f"Run {run.run_id}: implementations against {comparison.reference}",
        tuple(lead),
        tuple(sections),
        tuple(closing),
    )


def runs_sheet(comparison: RunComparison) -> Sheet:
    """The same cells in two runs: before, now, ratio, interval, reading."""
    now = comparison.now
    sections = []
    for setting in now.setting_by_key:
        rows = [row for row in comparison.rows if row.cell.setting == setting]
        if rows:
            sections.append(Section(_heading(now, setting), _changes(comparison, rows)))
    lead = ["Ratio: now / before."]
    for difference in comparison.differences:
        before, after = _fact(difference.before), _fact(difference.now)
        lead.append(
            f"{difference.flag[:1].upper()}{difference.flag[1:]}: {difference.fact} was {before} "
            f"before and is {after} now."
        )
    closing = _left_out(now, comparison.not_compared)
    closing += _only("before", comparison.before, comparison.only_before)
    closing += _only("now", now, comparison.only_now)
    return Sheet(
        f"Run {comparison.before.run_id} before, run {now.run_id} now",
        tuple(lead),
        tuple(sections),
        (*closing, *_notes(now, sections)),
    )


def _against(comparison: ImplementationComparison, rows: Sequence[ImplementationRatio]) -> Table:
    groups = []
    for metric in comparison.metrics:
        some = [row for row in rows if row.metric == metric]
        if not some:
            continue
        base = some[0].reference_value
        scale = scale_for([base.value, *(row.value.value for row in some)], base.unit, _LEAST)
        first = Row(
            comparison.reference,
            (_value(base, scale), Entry("1"), Entry(), Entry("reference")),
        )
        some.sort(key=_by_ratio)
        groups.append(Group(metric, (first, *(_implementation_row(row, scale) for row in some))))
    columns = (
        Column("value", "right"),
        Column("ratio"),
        Column("95 %", "right"),
        Column("reads", "word"),
    )
    return Table("", columns, tuple(groups))


def _implementation_row(row: ImplementationRatio, scale: Scale) -> Row:
    reads: list[str] = ["floor" if row.control else row.reading or "no interval"]
    if not row.control and not row.same_profile:
        reads.append("other profile")
    if not row.same_call_style:
        reads.append("called otherwise")
    return Row(
        row.impl,
        (_value(row.value, scale), *_ratio(row.ratio), Entry(", ".join(reads))),
        control=row.control,
    )


def _changes(comparison: RunComparison, rows: Sequence[CellChange]) -> Table:
    groups = []
    for metric in comparison.metrics:
        some = [row for row in rows if row.metric == metric]
        if not some:
            continue
        values = [value.value for row in some for value in (row.before, row.now)]
        scale = scale_for(values, some[0].now.unit, _LEAST)
        groups.append(Group(metric, tuple(_change_row(comparison, row, scale) for row in some)))
    columns = (
        Column("before", "right"),
        Column("now", "right"),
        Column("ratio"),
        Column("95 %", "right"),
        Column("reads", "word"),
    )
    return Table("", columns, tuple(groups))


def _change_row(comparison: RunComparison, row: CellChange, scale: Scale) -> Row:
    before, now = _value(row.before, scale), _value(row.now, scale)
    if row.ratio is None:
        return Row(row.cell.impl, message=f"incomparable: {row.incomparable}", control=row.control)
    if row.control:
        reads = "floor"
    elif row.reading is None and "other machine" in comparison.flags:
        reads = "other machine"
    else:
        reads = row.reading or "no interval"
    entries = (before, now, *_ratio(row.ratio), Entry(reads))
    return Row(row.cell.impl, entries, control=row.control)


def _value(value: MetricValue, scale: Scale) -> Entry:
    """The value with its unit; a count has none."""
    if value.value is None:
        return Entry(missing=True)
    unit = "" if scale.label == "count" else f" {scale.label}"
    return Entry(f"{significant(value.value * scale.factor)}{unit}")


def _ratio(ratio: Ratio) -> tuple[Entry, Entry]:
    if ratio.value is None:
        return Entry(), Entry(ratio.reason or ABSENT)
    if ratio.low is None or ratio.high is None:
        return Entry(significant(ratio.value)), Entry()
    return Entry(significant(ratio.value)), Entry(interval(ratio.low, ratio.high, ratio.value))


def _by_ratio(row: ImplementationRatio) -> tuple[bool, float]:
    value = row.ratio.value
    return row.control, float("inf") if value is None else value


def _left_out(run: Run, left: Sequence[NotCompared]) -> list[str]:
    lines = [
        f"Not compared: {_cell(run, item.cell)}{f' {item.metric}' if item.metric else ''}: "
        f"{item.reason}."
        for item in left[:_MOST_LEFT_OUT]
    ]
    if len(left) > _MOST_LEFT_OUT:
        lines.append(f"Not compared: {len(left) - _MOST_LEFT_OUT} more.")
    return lines


def _only(when: str, run: Run, keys: Sequence[CellKey]) -> list[str]:
    if not keys:
        return []
    named = ", ".join(_cell(run, key) for key in keys[:_MOST_LEFT_OUT])
    rest = len(keys) - _MOST_LEFT_OUT
    return [f"Only {when}: {named}{f' and {rest} more' if rest > 0 else ''}."]


def _notes(run: Run, sections: Sequence[Section]) -> list[str]:
    notes = [_NO_VERDICT] if sections else []
    if run.rounds < ROUNDS_FOR_INTERVAL:
        notes.append(
            f"Intervals are approximate with fewer than {ROUNDS_FOR_INTERVAL} rounds a side."
        )
    return notes


def _heading(run: Run, key: SettingKey) -> str:
    setting = run.setting_by_key[key]
    return ", ".join(part for part in (setting.scenario, setting_name(run, setting)) if part)


def _cell(run: Run, key: CellKey) -> str:
    return f"{key.impl} ({_heading(run, key.setting)})"


def _fact(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
