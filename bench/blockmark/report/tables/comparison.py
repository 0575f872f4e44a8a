"""Comparisons as tables: implementations in one run, or the same cells in two runs.

What is made here is a sheet: sentences and tables with no idea of the medium.
`console.print_sheet` and `markdown.render_sheet` show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from blockmark.report.facts.numbers import ABSENT, Scale, interval, scale_for, significant
from blockmark.report.facts.setting import setting_name
from blockmark.report.facts.versions import changed_versions, run_title, version_lines
from blockmark.report.tables.model import Column, Entry, Group, Row, Table, without_empty_columns
from blockmark.runs.model import CellKey, MetricValue, Run, SettingKey
from blockmark.verdict.compare import (
    CellChange,
    ImplementationComparison,
    ImplementationRatio,
    NotCompared,
    RunComparison,
)
from blockmark.verdict.machine import Difference
from blockmark.verdict.stats import CONFIDENCE, ROUNDS_A_SIDE, Ratio

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
_READS = (
    f"better, worse: the interval of the ratio, which holds it in {CONFIDENCE * 100:.0f} % of "
    "cases, leaves out 1; unclear: it holds 1."
)
_TOO_FEW = (
    f"too few rounds: an interval of {CONFIDENCE * 100:.0f} % takes {ROUNDS_A_SIDE} rounds a side; "
    "what stands there is the range of all ratios of two rounds."
)
_TWO_TIMES = (
    "two times: the machine's state differs between two runs by more than rounds tell, so no "
    "time reads as better or worse; `blockmark check` measures both sides now, in turns."
)
_FLOOR: Mapping[str | None, str] = {
    "below": "below the floor",
    "in its noise": "below resolution",
}
_NOT_ABOVE = (
    "below resolution, below the floor: one of the two costs is not told from the empty loop, or "
    "is below it; of the ratio nothing is known but the side on which it lies."
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
    closing = [*_left_out(run, comparison.not_compared), *_notes(sections)]
    lead = [f"Ratio: cost of an implementation / cost of {comparison.reference}."]
    if run.quick:
        lead.append("Quick run: not for decisions.")
    lead += [f"{line}." for line in version_lines(run)]
    return Sheet(
        f"Run {run_title(run)}: implementations against {comparison.reference}",
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
    lead += map(_difference, comparison.differences)
    lead += changed_versions(comparison.before, now)
    closing = _left_out(now, comparison.not_compared)
    closing += _only("before", comparison.before, comparison.only_before)
    closing += _only("now", now, comparison.only_now)
    return Sheet(
        f"Run {run_title(comparison.before)} before, run {run_title(now)} now",
        tuple(lead),
        tuple(sections),
        (*closing, *_notes(sections)),
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
        Column(f"{CONFIDENCE * 100:.0f} %", "right"),
        Column("reads", "word"),
    )
    return Table("", columns, tuple(groups))


def _implementation_row(row: ImplementationRatio, scale: Scale) -> Row:
    reads: list[str] = ["floor" if row.control else row.reading or _why_unread(row.ratio)]
    if not row.control and not row.same_profile:
        reads.append("other profile")
    if not row.same_call_style:
        reads.append("called otherwise")
    if row.floor in _FLOOR:
        reads.append(_FLOOR[row.floor])
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
        Column("range", "right"),
        Column("reads", "word"),
    )
    return without_empty_columns(Table("", columns, tuple(groups)))


def _change_row(comparison: RunComparison, row: CellChange, scale: Scale) -> Row:
    before, now = _value(row.before, scale), _value(row.now, scale)
    if row.ratio is None:
        return Row(row.cell.impl, message=f"incomparable: {row.incomparable}", control=row.control)
    if row.control:
        reads = "floor"
    elif row.reading is None and "other machine" in comparison.flags:
        reads = "other machine"
    else:
        reads = row.reading or "two times"
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


def _why_unread(ratio: Ratio) -> str:
    return "no ratio" if ratio.value is None else "too few rounds"


def _notes(sections: Sequence[Section]) -> list[str]:
    """What the words mean that stand under `reads`."""
    said = {
        word
        for section in sections
        for row in section.table.rows
        for word in (row.entries[-1].text.split(", ") if row.entries else [])
    }
    notes = {"better": _READS, "worse": _READS, "unclear": _READS}
    notes |= dict.fromkeys(_FLOOR.values(), _NOT_ABOVE)
    notes |= {"too few rounds": _TOO_FEW, "two times": _TWO_TIMES}
    return list(dict.fromkeys(note for word, note in notes.items() if word in said))


def _heading(run: Run, key: SettingKey) -> str:
    setting = run.setting_by_key[key]
    return ", ".join(part for part in (setting.scenario, setting_name(run, setting)) if part)


def _cell(run: Run, key: CellKey) -> str:
    return f"{key.impl} ({_heading(run, key.setting)})"


def _difference(one: Difference) -> str:
    """`Other machine: cpu_model was Zen 3 before and is Zen 4 now.`"""
    flag = f"{one.flag[:1].upper()}{one.flag[1:]}"
    if isinstance(one.before, bool) and isinstance(one.now, bool):
        odd = one.flag == "quick"
        runs = [name for name, is_so in (("before", one.before), ("now", one.now)) if is_so == odd]
        return f"{flag}: the run {' and that '.join(runs)}."
    return f"{flag}: {one.fact} was {one.before} before and is {one.now} now."
