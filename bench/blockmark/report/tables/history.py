"""A metric over runs as a sheet: a row a run, a column an implementation, then the changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from blockmark.report.facts.numbers import Scale, counted, scale_for, significant, with_unit
from blockmark.report.facts.setting import setting_name
from blockmark.report.facts.versions import origin_words, run_title
from blockmark.report.tables.check import change
from blockmark.report.tables.comparison import Section, Sheet
from blockmark.report.tables.model import Column, Entry, Group, Row, Table
from blockmark.runs.model import MetricValue, Run, SettingKey
from blockmark.verdict.history import History, Series, is_better_lower

_MARK = "*"
_METHOD = (
    "Changes are sought by ranks of the rounds before and after, with a margin of {:.2g} %. Runs "
    "of different times differ by more than their rounds tell, also where nothing changed: this "
    "is where to look, no verdict; `blockmark check` gives one."
)
_EXACT = "A change of a count is any in which no round of a run reaches the run before."
# Reasons in a line each, before the rest is only counted.
_MOST_REASONS = 8


def history_sheet(history: History) -> Sheet:
    """The tables, a section a setting, and below them every change and what was left out."""
    last = history.runs[-1]
    groups: dict[SettingKey, list[Series]] = {}
    for series in history.series:
        groups.setdefault(series.cell.setting, []).append(series)
    sections = [
        Section(_heading(last, setting), _table(history, members))
        for setting, members in groups.items()
    ]
    many = counted(len(history.runs), "run")
    lead = [f"{many}, oldest first; {_MARK} marks a change."]
    lead += [f"Left out: run {run.run_id}, {reason}." for run, reason in history.left_out]
    closing = _changes(history) or ["No change was found."]
    closing += _versions(history)
    closing += _differences(history)
    closing += _gaps(history)
    exact = _is_exact(history)
    closing.append(_EXACT if exact else _METHOD.format(history.margin * 100))
    return Sheet(
        f"{history.metric} over {many}",
        tuple(lead),
        tuple(sections),
        tuple(closing),
    )


def run_label(run: Run) -> str:
    """`0007 main 2026-11-30 01:24`: ids repeat where runs come from several folders."""
    return f"{run_title(run)} {run.created[:16].replace('T', ' ')}"


def change_words(series: Series, place: int, metric: str) -> str:
    """`+5.2 %, worse`."""
    one = series.changes[place]
    text = change(one.ratio)
    lower = is_better_lower(metric)
    if lower is None:
        return text
    return f"{text}, {'worse' if (one.ratio > 1.0) == lower else 'better'}"


def _table(history: History, members: Sequence[Series]) -> Table:
    values = [value for series in members for value in series.values]
    scale = scale_for(
        [None if value is None else value.value for value in values],
        next(value.unit for value in values if value is not None),
        0.1,
    )
    rows = []
    for place, run in enumerate(history.runs):
        entries = tuple(_entry(series, place, scale) for series in members)
        rows.append(Row(run_label(run), entries))
    unit = "" if scale.label == "count" else scale.label
    columns = tuple(Column(series.cell.impl, is_name=True) for series in members)
    return Table(unit, columns, (Group("", tuple(rows)),))


def _entry(series: Series, place: int, scale: Scale) -> Entry:
    value: MetricValue | None = series.values[place]
    if value is None or value.value is None:
        return Entry()
    changed = any(one.index == place for one in series.changes)
    return Entry(significant(value.value * scale.factor), mark=_MARK if changed else "")


def _changes(history: History) -> list[str]:
    lines = []
    for series in history.series:
        for place, one in enumerate(series.changes):
            run = history.runs[one.index]
            value = series.values[one.index]
            at = "" if value is None else f"{with_unit(value.value, _unit(value))}, "
            where = f"{series.cell.impl} ({_heading(history.runs[-1], series.cell.setting)})"
            told = change_words(series, place, history.metric)
            lines.append(f"Change: {where} at run {run_label(run)}: {at}{told}.")
    return [*lines, *_together(history)]


def _together(history: History) -> list[str]:
    """Runs at which most series changed in one direction, as a machine's state makes them."""
    measured = [
        series for series in history.series if sum(v is not None for v in series.values) > 1
    ]
    if len(measured) < 3:
        return []
    lines = []
    for place, run in enumerate(history.runs):
        up = [one.ratio > 1.0 for each in measured for one in each.changes if one.index == place]
        same = max(sum(up), len(up) - sum(up))
        if same * 3 >= len(measured) * 2:
            lines.append(
                f"At run {run_label(run)} {same} of {counted(len(measured), 'series', 'series')} "
                f"moved the same way: look at the machine before you look at the code."
            )
    return lines


def _unit(value: MetricValue) -> str:
    return "" if value.unit == "count" else value.unit


def _differences(history: History) -> list[str]:
    """What else changed with a run, which may be why a value did."""
    apart: dict[str, list[str]] = {}
    last = history.runs[-1]
    for run, found in zip(history.runs, history.differences, strict=True):
        flags = [
            f"{one.flag}: {one.fact} is {one.before} there and {one.now} in the last run"
            if one.flag not in ("quick", "incomplete")
            else one.flag
            for one in found
            if one.flag not in ("quick", "incomplete")
            or (run.quick if one.flag == "quick" else not run.complete)
        ]
        if run is not last and flags:
            apart.setdefault("; ".join(flags), []).append(run_label(run))
    lines = []
    for flags_said, labels in apart.items():
        if len(labels) == 1:
            lines.append(f"Run {labels[0]} is apart: {flags_said}.")
        else:
            lines.append(f"Runs {', '.join(labels)} are apart: {flags_said}.")
    if last.quick or not last.complete:
        what = "quick" if last.quick else "incomplete"
        lines.append(f"Run {run_label(last)}, the last one, is {what}.")
    return lines


def _versions(history: History) -> list[str]:
    """Where the code that was measured is another version than in the run before."""
    shown = {series.cell.impl for series in history.series}
    lines = []
    for before, now in pairwise(history.runs):
        for info in now.implementations:
            old = before.implementation_by_name.get(info.name)
            if info.name not in shown or old is None or not (old.origin and info.origin):
                continue
            if old.origin.get("digest") != info.origin.get("digest"):
                lines.append(
                    f"Version: from run {run_label(now)} on {info.name} is another version: "
                    f"{origin_words(info.origin)}."
                )
    return lines


def _gaps(history: History) -> list[str]:
    """Why a run has no value, the same reason told once for all cells that it holds for."""
    told: dict[tuple[str, str], list[str]] = {}
    for series in history.series:
        for run, reason in zip(history.runs, series.reasons, strict=True):
            if reason:
                told.setdefault((run_label(run), reason), []).append(series.cell.impl)
    lines = [
        f"No value: run {run}, {', '.join(dict.fromkeys(names))}: {reason}."
        for (run, reason), names in told.items()
    ]
    rest = len(lines) - _MOST_REASONS
    return lines if rest <= 0 else [*lines[:_MOST_REASONS], f"No value: {rest} more."]


def _is_exact(history: History) -> bool:
    from blockmark.runs.metrics import metric_of

    row = metric_of(history.metric)
    return row is not None and row.kind in ("count", "bytes")


def _heading(run: Run, key: SettingKey) -> str:
    setting = run.setting_by_key[key]
    return ", ".join(part for part in (setting.scenario, setting_name(run, setting)) if part)
