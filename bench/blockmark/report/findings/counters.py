"""What the counters say, in a sentence: who misses the first-level cache how often."""

from __future__ import annotations

from collections import Counter

from blockmark.report.facts.counter_source import short_source, source_of
from blockmark.report.facts.numbers import significant, times
from blockmark.report.facts.order import by_call_style
from blockmark.report.findings.headline import STYLE_WORDS, Finding, short_names
from blockmark.runs.metrics.counters import SOURCES
from blockmark.runs.model import Cell, Run, Setting

# The two that structures differ in most, and what an operation is called in a sentence.
_TOLD = (
    ("lookup_ordered", "a lookup in order"),
    ("alloc_free_interleaved", "a block taken and given back in mixed turns"),
)
_COUNTER = "l1d_misses_per_op"
# A sentence that compares more than this many is no longer read.
_MOST = 4


def counter_findings(run: Run, setting: Setting) -> tuple[Finding, ...]:
    """`a lookup in order makes 0.0314 L1D load misses with flat-stack, 1.13 with hash-map (36x)`.

    Within one profile, one way of calling and one source; nothing where no two managers
    have these in common.
    """
    for style, members in by_call_style(run.cells_of(setting.key)):
        managers = [cell for cell in members if cell.ok and cell.kind == "manager"]
        alike = Counter(
            (run.implementation_by_name[cell.impl].profile, source)
            for cell in managers
            for source in SOURCES
            if any(_misses(run, cell, operation, source) is not None for operation, _ in _TOLD)
        )
        if not alike or alike.most_common(1)[0][1] < 2:
            continue
        profile, source = alike.most_common(1)[0][0]
        chosen = [
            cell for cell in managers if run.implementation_by_name[cell.impl].profile == profile
        ]
        parts: list[str] = []
        for operation, words in _TOLD:
            counted = [
                (misses, cell.impl)
                for cell in chosen
                if (misses := _misses(run, cell, operation, source)) is not None
            ]
            if len(counted) > 1:
                unit = "" if parts else " L1D load misses"
                parts.append(f"{words} makes {_ranked(counted, unit)}")
        where = f"{STYLE_WORDS[style]}, {short_source(source)}"
        return (Finding("Misses", f"{'; '.join(parts)} ({where})."),) if parts else ()
    return ()


def _misses(run: Run, cell: Cell, operation: str, source: str) -> float | None:
    value = cell.metric(f"{operation}_{_COUNTER}")
    return None if value is None or source_of(value, run) != source else value.value


def _ranked(counted: list[tuple[float, str]], unit: str) -> str:
    """`0.0314 L1D load misses with flat-stack, 1.13 with hash-map (36.0x)`, the fewest first."""
    counted = sorted(counted)
    label = short_names([impl for _, impl in counted])
    (least, best), *others = counted
    parts = [f"{significant(least)}{unit} with {label[best]}"]
    shown = others if len(others) <= _MOST else [*others[: _MOST - 1], others[-1]]
    for misses, impl in shown:
        gap = "... " if shown is not others and (misses, impl) == others[-1] else ""
        factor = f" ({times(misses / least)})" if least > 0 else ""
        parts.append(f"{gap}{significant(misses)} with {label[impl]}{factor}")
    return ", ".join(parts)
