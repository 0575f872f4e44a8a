"""Counters that were not taken, and why: a line a reason, not one for each of their names.

Each of some fourteen operations has sixteen counters, and what keeps one from being taken
mostly keeps others too.
"""

from __future__ import annotations

from collections.abc import Iterable

from blockmark.report.facts.counter_source import operations, parts_of
from blockmark.report.facts.setting import word
from blockmark.runs.metrics.counters import COUNTERS, SOURCES
from blockmark.runs.model import Run

_WHAT = "cache misses and instructions"
# Names of counters or operations in one line, before they are only counted.
_MOST = 4


def lacking_counters(run: Run) -> list[str]:
    """Why the run has no counters, or none of the processor's though they were asked for.

    One line, or none where nothing is amiss.
    """
    counters = run.counters
    why_not_pmu = word(counters, "why_not_pmu")
    why_not_simulated = word(counters, "why_not_callgrind")
    taken = any(
        value.source in SOURCES and value.value is not None
        for cell in run.cells
        for value in cell.metrics.values()
    )
    if word(counters, "source") in SOURCES or taken:
        if word(counters, "source") == "callgrind" and word(counters, "asked") == "auto":
            why = why_not_pmu or "the reason was not kept"
            return [f"hardware counters: {why}{', so those above are simulated' if taken else ''}"]
        # Those that should be there and are not have reasons of their own.
        return []
    if why_not_pmu is None and why_not_simulated is None:
        return [f"{_WHAT}: not asked for, try --counters auto"]
    if why_not_simulated is None:
        return [f"{_WHAT}: {why_not_pmu}, try --counters callgrind"]
    real = [why_not_pmu] if why_not_pmu else []
    return [f"{_WHAT}: {', '.join([*real, f'not simulated either: {why_not_simulated}'])}"]


def counter_words(lacking: Iterable[str], present: Iterable[str]) -> str:
    """What these metrics are taken together: `all counters`, `ll_miss_rate (append, pack)`.

    `present` are the metrics of the same cells, available or not; those that are no counters
    are passed over.
    """
    counters, places = _split(lacking)
    all_counters, all_places = _split(present)
    if len(counters) == len(all_counters):
        what = "all counters"
    elif len(counters) <= _MOST:
        what = ", ".join(counters)
    else:
        what = f"{len(counters)} counters"
    if len(places) == len(all_places):
        return what
    if len(places) <= _MOST:
        return f"{what} ({', '.join(places)})"
    return f"{what} ({len(places)} of {len(all_places)} operations)"


def _split(metrics: Iterable[str]) -> tuple[list[str], list[str]]:
    """The counters and the operations among these, each in the order of its table."""
    known = [parts for metric in metrics if (parts := parts_of(metric)) is not None]
    counters = {counter.name for _, counter in known}
    places = {operation for operation, _ in known}
    return (
        [counter.name for counter in COUNTERS if counter.name in counters],
        [operation for operation in operations() if operation in places],
    )
