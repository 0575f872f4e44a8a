"""What a run did not measure, and why: never left out in silence, never a zero."""

from __future__ import annotations

from collections.abc import Iterable

from blockmark.report.facts.counter_source import parts_of
from blockmark.report.facts.numbers import merged, same_words
from blockmark.report.facts.setting import setting_name
from blockmark.report.facts.sweep import Sweep, ranges, sweeps
from blockmark.report.findings.counter_gaps import counter_words, lacking_counters
from blockmark.report.study import view_of
from blockmark.runs.metrics import METRICS
from blockmark.runs.model import Cell, MetricValue, Run

_MOST_NAMES = 4
# Stands for all counters that lack a value for the same reason.
_COUNTERS = "counters"


def unmeasured_metrics(
    run: Run, quantiles: Iterable[str] = ("p99",), *, proofs: bool = False
) -> list[str]:
    """A line for each reason why metrics of measured cells have no value.

    The line names which, and whom it concerns. Of a distribution those quantiles are looked at
    that are named. Reasons that differ only in their numbers are one, and so are the
    counters that lack a value for the same reason. With `proofs`, also what only shows
    that a condition held.
    """
    asked = tuple(quantiles)
    impls: dict[tuple[str, str], dict[str, None]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    lacking: dict[str, dict[str, None]] = {}
    present: dict[str, dict[str, None]] = {}
    for cell in run.cells:
        for name, reason in _reasons(cell, asked):
            words = same_words(reason)
            is_counter = parts_of(name) is not None
            row = METRICS.get(name)
            if not (proofs or is_counter) and row is not None and row.kind == "proof":
                continue
            if is_counter:
                lacking.setdefault(words, {})[name] = None
                present.setdefault(words, {}).update(dict.fromkeys(cell.metrics))
            key = _COUNTERS if is_counter else name, words
            impls.setdefault(key, {})[cell.impl] = None
            reasons.setdefault(key, []).append(reason)
    # What lacks for one reason and of the same implementations is said once.
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (name, words), whose in impls.items():
        alike.setdefault((words, tuple(whose)), []).append(name)
    lines = []
    for (words, impls_of), names in alike.items():
        told = [
            counter_words(lacking[words], present[words]) if name == _COUNTERS else name
            for name in names
        ]
        every = [reason for name in names for reason in reasons[name, words]]
        lines.append(f"{_names(told)} of {_names(list(impls_of))}: {merged(every)}")
    return lines


def unmeasured_cells(run: Run) -> list[str]:
    """A line for each cell without numbers: `mine (block_size 16): wrong: ...`.

    The setting is named where others of the run ended differently. Cells of a scenario
    with many settings are gathered as in `unmeasured_along`.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    along = [sweep for sweep in sweeps(run) if sweep.is_long]
    gathered = {sweep.scenario for sweep in along}
    for setting in run.settings:
        if setting.scenario in gathered:
            continue
        for cell in run.cells_of(setting.key):
            if not cell.ok:
                where = setting_name(run, setting) or setting.scenario
                found.setdefault((cell.impl, cell.status, cell.reason), []).append(where)
    lines = []
    for (impl, status, reason), places in found.items():
        where = "" if len(places) == len(run.settings) else f" ({'; '.join(places)})"
        lines.append(f"{impl}{where}: {status}: {reason}")
    return lines + [line for sweep in along for line in unmeasured_along(run, sweep)]


def unmeasured_along(run: Run, sweep: Sweep) -> list[str]:
    """The same for many settings: `hash-map/cpp, vector/cpp (total_blocks 4,096 to 65,536): ...`.

    Reasons that differ only in their numbers are one.
    """
    titles = sweep.titles()
    everyone: set[str] = set()
    reasons: dict[tuple[str, str], list[str]] = {}
    places: dict[tuple[str, str], dict[str, set[int]]] = {}
    for place, setting in enumerate(sweep.settings):
        for cell in run.cells_of(setting.key):
            everyone.add(cell.impl)
            if not cell.ok:
                key = str(cell.status), same_words(cell.reason)
                reasons.setdefault(key, []).append(cell.reason)
                places.setdefault(key, {}).setdefault(cell.impl, set()).add(place)
    lines = []
    for (status, words), by_impl in places.items():
        alike: dict[frozenset[int], list[str]] = {}
        for impl, found in by_impl.items():
            alike.setdefault(frozenset(found), []).append(impl)
        reason = merged(reasons[status, words])
        for where, impls in alike.items():
            chosen = [place in where for place in range(len(titles))]
            named = "" if all(chosen) else f" ({sweep.axis} {ranges(titles, chosen)})"
            whose = "every implementation" if 1 < len(impls) == len(everyone) else _names(impls)
            lines.append(f"{whose}{named}: {status}: {reason}")
    return lines


def general_gaps(run: Run) -> list[str]:
    """What the run as a whole says nothing about."""
    # Counters are of managers that replay a Program.
    replayed = any(view_of(sweep) is None for sweep in sweeps(run))
    lines = lacking_counters(run) if replayed or not run.settings else []
    if not run.complete:
        lines.append("the run was interrupted, so the rest was not reached")
    return lines


def _reasons(cell: Cell, quantiles: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    for name, value in cell.metrics.items():
        if value.unavailable is not None:
            yield name, value.unavailable
        elif value.quantiles is not None:
            for label in quantiles:
                part: MetricValue = value.quantile(label)
                if part.unavailable is not None:
                    yield f"{name}.{label}", part.unavailable


def _names(names: list[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
