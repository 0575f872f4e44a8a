"""What kind of change it is, where times and counts are known of the same operations."""

from __future__ import annotations

from dataclasses import replace

from .check import CellVerdict, CheckResult
from .deterministic import INSTRUCTIONS, MISSES
from .gate import Verdict

MORE_WORK = "more work"
LESS_WORK = "less work"
LOCALITY = "locality"
LAYOUT = "layout or micro-architecture"
HIDDEN = "more instructions, hidden today"


_TOLD: tuple[Verdict, ...] = ("regressed", "improved", "unchanged")


def label(time: Verdict, instructions: Verdict, misses: Verdict | None = None) -> str:
    """The kind of a change, from the verdicts on its time, instructions and misses.

    Work is named before locality: who executes more mostly touches more as well. Empty
    where nothing changed or where the counts are not known.
    """
    if time in ("regressed", "improved"):
        if instructions == time:
            return MORE_WORK if time == "regressed" else LESS_WORK
        if misses == time:
            return LOCALITY
        # Both counts known, and neither went where the time did: what they don't count did.
        if instructions in _TOLD and misses in (*_TOLD, None):
            return LAYOUT
        return ""
    if time == "unchanged" and instructions == "regressed":
        return HIDDEN
    return ""


def join(times: CheckResult, counts: CheckResult) -> CheckResult:
    """One result of both gates: all cells, labelled where both know the operation.

    A count that has grown fails as it does alone, also where the time hides it.
    """
    found = {(_place(cell), cell.metric): cell for cell in counts.cells}
    labels: dict[str, str] = {}
    cells = []
    for cell in times.cells:
        operation = cell.metric.removesuffix("_ns")
        instructions = found.get((_place(cell), f"{operation}_{INSTRUCTIONS}"))
        misses = found.get((_place(cell), f"{operation}_{MISSES}"))
        if instructions is not None:
            kind = label(cell.verdict, instructions.verdict, misses.verdict if misses else None)
            if kind == HIDDEN:
                labels[instructions.name] = kind
            elif kind:
                cell = replace(cell, label=kind)
        cells.append(cell)
    cells += [replace(cell, label=labels.get(cell.name, cell.label)) for cell in counts.cells]
    return replace(
        times,
        cells=tuple(cells),
        missing=_both(times.missing, counts.missing),
        added=_both(times.added, counts.added),
        wrong=_both(times.wrong, counts.wrong),
        failures=_both(times.failures, counts.failures),
        mended=_both(times.mended, counts.mended),
        notes=_both(times.notes, counts.notes),
        interrupted=times.interrupted or counts.interrupted,
        duration_s=times.duration_s + counts.duration_s,
        facts={**(times.facts or {}), "counts": dict(counts.facts or {})},
    )


def _place(cell: CellVerdict) -> tuple[str, str, str]:
    return cell.scenario, cell.setting, cell.impl


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
