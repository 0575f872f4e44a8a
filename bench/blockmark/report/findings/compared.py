"""Two cells side by side: what their rounds show, and nothing beyond that.

Every sentence that sets one implementation against another forms its factor here, so none
names a winner that rounds can't show.
"""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.facts.numbers import percent, times
from blockmark.report.facts.order import value_of
from blockmark.runs.model import Cell
from blockmark.verdict.pairs import ratio_of
from blockmark.verdict.stats import Ratio


def ratio_between(dear: Cell, cheap: Cell, metric: str) -> Ratio:
    """What the first has of a metric / what the second has; both were measured."""
    top, bottom = dear.metric(metric), cheap.metric(metric)
    assert top is not None
    assert bottom is not None
    return ratio_of(metric, top, bottom)


def factor(dear: Cell, cheap: Cell, metric: str) -> str:
    """The same as `1.26x`; empty where rounds don't show that it is another than 1."""
    ratio = ratio_between(dear, cheap, metric)
    return times(ratio.value) if ratio.leaves_out_one else ""


def shown_less(cheap: Cell, dear: Cell, metric: str) -> bool:
    """Whether rounds show that the first has less of a metric."""
    ratio = ratio_between(dear, cheap, metric)
    return bool(ratio.leaves_out_one) and (ratio.value or 0.0) > 1.0


def between(cells: Sequence[Cell], metric: str, of: str = "") -> str:
    """The least and the greatest share and whose they are: `2 % with a, and 8 % with b`.

    `0.12 % to 0.5 %`, without names, where the rounds don't tell these two apart. All of
    `cells`, at least one, have a value; `of` says of what, with a blank behind it.
    """
    ordered = sorted(cells, key=lambda cell: value_of(cell, metric) or 0.0)
    least, most = ordered[0], ordered[-1]
    low, high = (percent(value_of(cell, metric)) for cell in (least, most))
    if least is most:
        return f"{low} {of}with {least.impl}"
    if shown_less(least, most, metric):
        return f"{low} {of}with {least.impl}, and {high} with {most.impl}"
    return " to ".join(dict.fromkeys((low, high))) + f" {of}".rstrip()
