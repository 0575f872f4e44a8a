"""From rounds that the rule has judged to what a reader is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blockmark.runs.estimate import lower_quartile
from blockmark.runs.metrics import metric_of

from .check import CellVerdict
from .gate import GateCell, Rule, ruled_out, smallest_visible
from .margins import Margin
from .stats import ratio_of_quartiles, ratio_of_shifts


def tell_apart(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each of a scenario's settings what tells it from the others: `block_size 16`.

    Empty for a setting that is alone.
    """
    names = list(dict.fromkeys(name for one in settings for name in one))
    axes = [
        name
        for name in names
        if any(one.get(name) != settings[0].get(name) for one in settings[1:])
    ]
    return [
        ", ".join(f"{name} {_words(one.get(name, 'default'))}" for name in axes) for one in settings
    ]


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def cell_verdict(
    cell: GateCell,
    where: tuple[str, str, str],
    metric: str,
    margin: Margin,
    *,
    rule: Rule,
    planned: int,
    always_visible: bool = False,
) -> CellVerdict:
    """What the judged `cell` says of a metric in `where` (scenario, setting, implementation).

    The smallest change that could have been seen, and the smallest that is ruled out, are
    worked out where a cell is inconclusive, or for every cell if `always_visible`. A cell
    without a verdict counts as inconclusive.
    """
    row = metric_of(metric)
    old, new = (lower_quartile(side) if side else None for side in (cell.before, cell.after))
    ratio = low = high = None
    if cell.before and cell.after and cell.verdict != "incomparable":
        if cell.shown_by == "turns":
            found = ratio_of_shifts(cell.shifts)
        else:
            found = ratio_of_quartiles(cell.after, cell.before, confidence=0.95)
        ratio, low, high = found.value, found.low, found.high
    verdict = cell.verdict or "inconclusive"
    visible = excluded = None
    if verdict == "inconclusive" or always_visible:
        visible, excluded = smallest_visible(cell, rule, planned), ruled_out(cell, rule)
    return CellVerdict(
        scenario=where[0],
        setting=where[1],
        impl=where[2],
        metric=metric,
        unit=row.unit if row else "",
        verdict=verdict,
        before=tuple(cell.before),
        after=tuple(cell.after),
        shifts=tuple(cell.shifts),
        decided_by=cell.decided_by,
        old=old,
        new=new,
        ratio=ratio,
        low=low,
        high=high,
        p=None if verdict == "incomparable" else cell.p,
        margin=margin.share,
        margin_of=margin.origin,
        visible=visible,
        ruled_out=excluded,
        reason=cell.reason,
    )
