"""One metric of two cells set side by side: ratio, interval, and how it reads."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Literal

from blockmark.runs.histogram import PERMILLE
from blockmark.runs.metrics import METRICS, Kind, metric_of
from blockmark.runs.model import Cell, MetricValue, Run
from blockmark.verdict.errors import UnknownName
from blockmark.verdict.stats import Ratio, ratio_of_counts, ratio_of_quartiles

# How a ratio reads by its interval alone. This is no verdict on a change: it has
# no margin and makes no allowance for the number of comparisons. An identical program reads
# as another one in at most 1 % of the cases, if both were measured in the same rounds.
Reading = Literal["better", "worse", "same", "unclear"]

_EXACT: tuple[Kind, ...] = ("count", "bytes", "proof")


def comparable_metrics(runs: Iterable[Run]) -> tuple[str, ...]:
    """The metrics that a comparison takes if none are named, in the table's order.

    Those that any measured cell has and where one value is better than another,
    without what is derived from other metrics (its ratios would only be repeated).
    A distribution stands with its quantiles but not its largest value, which grows
    with the time that is spent looking.
    """
    present = {name for run in runs for cell in run.cells if cell.ok for name in cell.metrics}
    addresses: list[str] = []
    for row in METRICS.values():
        if row.name not in present or row.direction is None or row.source == "derived":
            continue
        if row.kind == "distribution":
            addresses += [f"{row.name}.{label}" for label in PERMILLE]
        else:
            addresses.append(row.name)
    return tuple(addresses)


def checked_metrics(named: Sequence[str], runs: Sequence[Run]) -> tuple[str, ...]:
    """The metrics that were named. Raises UnknownName if no run has one of them."""
    known = {name for run in runs for cell in run.cells for name in cell.metrics}
    for address in named:
        try:
            metric_of(address)
        except ValueError as error:
            raise UnknownName(str(error)) from None
        name = address.partition(".")[0]
        if name not in known:
            raise UnknownName(f"no metric {name!r} in the run{nearest(name, known)}")
    return tuple(named)


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` if a known name is close, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def measured(cell: Cell, address: str) -> MetricValue | str:
    """The cell's value, or the reason why there is none."""
    if not cell.ok:
        return f"{cell.status}: {cell.reason}"
    value = cell.metric(address)
    if value is None:
        return "not measured"
    if value.value is None:
        return value.unavailable or "unavailable"
    return value


def ratio_of(address: str, top: MetricValue, bottom: MetricValue) -> Ratio:
    """The ratio of two values that were measured, by the metric's kind.

    A time of zero was not seen by the clock, so it has no ratio to another time.
    """
    row = metric_of(address)
    if is_exact(address):
        return ratio_of_counts(top.values, bottom.values)
    if row is not None and row.kind == "rate" and min(*top.values, *bottom.values) > 0:
        # Of a speed the upper quartile is the quiet one: the lower one of its reciprocal.
        return ratio_of_quartiles(
            [1.0 / value for value in bottom.values],
            [1.0 / value for value in top.values],
        )
    ratio = ratio_of_quartiles(top.values, bottom.values)
    if (top.value == 0) != (bottom.value == 0):
        return Ratio(None, None, None, ratio.rounds, reason="a side is below resolution")
    return ratio


def is_exact(address: str) -> bool:
    """Whether a metric is counted, so that any two runs may be set side by side."""
    row = metric_of(address)
    return row is not None and row.kind in _EXACT


def reading_of(address: str, top: MetricValue, bottom: MetricValue, ratio: Ratio) -> Reading | None:
    """How the first value reads against the second; None where nothing can be said.

    Exact values differ if no round of one side reaches the other side's; estimated
    ones if the interval of their ratio leaves out 1, which takes 5 rounds a side.
    """
    row = metric_of(address)
    if row is None or row.direction is None:
        return None
    if is_exact(address):
        less = max(top.values) < min(bottom.values)
        more = min(top.values) > max(bottom.values)
    elif ratio.leaves_out_one is None or ratio.value is None:
        return None
    else:
        less = ratio.leaves_out_one and ratio.value < 1.0
        more = ratio.leaves_out_one and ratio.value > 1.0
    if less or more:
        return "better" if less == (row.direction == "lower") else "worse"
    return "same" if ratio.low == ratio.high else "unclear"
