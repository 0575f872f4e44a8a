"""Which implementation is cheapest where along an axis, as one finding."""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.facts.growth import (
    BURST,
    CHAIN,
    MIXED,
    PACK_ROW,
    STEP,
    TABLES,
    TAKE_GIVE,
    Line,
    Quantity,
    lines_of,
)
from blockmark.report.facts.order import CALL_STYLES
from blockmark.report.facts.sweep import Sweep
from blockmark.report.findings.headline import Finding
from blockmark.runs.model import MetricValue, Run
from blockmark.verdict.pairs import ratio_of

# A lead that is smaller than this decides nothing.
_NOTICEABLE = 1.05
_ASKED = (STEP, CHAIN, BURST, MIXED, PACK_ROW, TAKE_GIVE, TABLES)


def leaders(run: Run, sweep: Sweep) -> Finding | None:
    """Who is cheapest where along the axis; None without an axis or two managers to compare.

    Among the managers of one call style and of the profile that most of them have. A
    name stays while nothing is noticeably cheaper, so that two equals do not take turns. Of
    what is timed with too few rounds to tell, nothing is said.
    """
    if len(sweep.values) < 2:
        return None
    for style, lines in lines_of(run, sweep).items():
        members = _one_profile(run, [line for line in lines if not line.control])
        if len(members) < 2:
            continue
        told: dict[str, list[str]] = {}
        for quantity in _ASKED:
            text = _reigns(run, sweep, quantity, members)
            if text:
                told.setdefault(text, []).append(quantity.label)
        if told:
            named = "; ".join(f"{text} ({'; '.join(labels)})" for text, labels in told.items())
            where = CALL_STYLES[style]
            return Finding(f"Cheapest to within 5 %, over {sweep.axis} ({where})", f"{named}.")
    return None


def _one_profile(run: Run, lines: Sequence[Line]) -> list[Line]:
    measured_lines = [
        line for line in lines if any(cell is not None and cell.ok for cell in line.cells)
    ]
    profiles = [run.implementation_by_name[line.impl].profile for line in measured_lines]
    if not profiles:
        return []
    usual = max(profiles, key=profiles.count)
    return [
        line for line, profile in zip(measured_lines, profiles, strict=True) if profile == usual
    ]


def _can_tell(quantity: Quantity, values: Sequence[MetricValue]) -> bool:
    """Whether the rounds of these values can show which is less."""
    first, *others = values
    return all(not ratio_of(quantity.metrics[0], first, other).approximate for other in others)


def _reigns(run: Run, sweep: Sweep, quantity: Quantity, lines: Sequence[Line]) -> str:
    """`vector/cpp up to 4,096, flat-stack/cpp from 16,384`; empty without two to compare."""
    amounts = {line.impl: line.amounts(sweep, quantity) for line in lines}
    reigns: list[tuple[str, str, str]] = []
    for position, title in enumerate(sweep.titles()):
        here = {
            impl: value
            for impl, values in amounts.items()
            if (value := values[position]) is not None and value.value is not None
        }
        if len(here) < 2 or not _can_tell(quantity, list(here.values())):
            continue
        best = min(here, key=lambda impl: (here[impl].value or 0.0, impl))
        now = reigns[-1][0] if reigns else best
        if now not in here:
            now = best
        if now != best:
            ratio = ratio_of(quantity.metrics[0], here[now], here[best])
            dearer = ratio.leaves_out_one and (ratio.value or 0.0) >= _NOTICEABLE
            now = best if dearer else now
        if reigns and reigns[-1][0] == now:
            reigns[-1] = (now, reigns[-1][1], title)
        else:
            reigns.append((now, title, title))
    if len(reigns) < 2:
        return "".join(f"{impl} throughout" for impl, _, _ in reigns)
    parts = []
    for place, (impl, start, end) in enumerate(reigns):
        if place == 0:
            parts.append(f"{impl} at {end}" if start == end else f"{impl} up to {end}")
        elif place == len(reigns) - 1:
            parts.append(f"{impl} at {end}" if start == end else f"{impl} from {start}")
        else:
            parts.append(f"{impl} at {start}" if start == end else f"{impl} {start} to {end}")
    return ", ".join(parts)
