"""What a run did not measure, and why: never left out in silence, never a zero."""

from __future__ import annotations

from collections.abc import Iterable

from blockmark.report.setting import setting_name
from blockmark.runs.model import Cell, MetricValue, Run

# Counters come from elsewhere than the clock and the heap; a run without any says so.
_COUNTER_SOURCES = ("pmu", "callgrind")
_MOST_NAMES = 4


def unmeasured_metrics(run: Run, quantiles: Iterable[str] = ("p99",)) -> list[str]:
    """A line for each reason why a metric of a measured cell has no value.

    Of a distribution those quantiles are looked at that are named, and the lines
    name whom they concern.
    """
    asked = tuple(quantiles)
    found: dict[tuple[str, str], dict[str, None]] = {}
    for cell in run.cells:
        for name, reason in _reasons(cell, asked):
            found.setdefault((name, reason), {})[cell.impl] = None
    return [f"{name} of {_names(list(impls))}: {reason}" for (name, reason), impls in found.items()]


def unmeasured_cells(run: Run) -> list[str]:
    """A line for each cell without numbers: `mine (block_size 16): wrong: ...`.

    The setting is named where others of the run ended differently.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    for setting in run.settings:
        for cell in run.cells_of(setting.key):
            if not cell.ok:
                where = setting_name(run, setting) or setting.scenario
                found.setdefault((cell.impl, cell.status, cell.reason), []).append(where)
    lines = []
    for (impl, status, reason), places in found.items():
        where = "" if len(places) == len(run.settings) else f" ({'; '.join(places)})"
        lines.append(f"{impl}{where}: {status}: {reason}")
    return lines


def general_gaps(run: Run) -> list[str]:
    """What the run as a whole says nothing about."""
    lines = []
    sources = {value.source for cell in run.cells for value in cell.metrics.values()}
    if not sources.intersection(_COUNTER_SOURCES):
        lines.append("cache misses and instructions: no hardware or simulated counters were taken")
    if not run.complete:
        lines.append("the run was interrupted; what is missing was not reached")
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


def _names(impls: list[str]) -> str:
    if len(impls) <= _MOST_NAMES:
        return ", ".join(impls)
    return f"{', '.join(impls[:_MOST_NAMES])} and {len(impls) - _MOST_NAMES} more"
