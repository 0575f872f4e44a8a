"""The table of metrics: one row says all there is to say about a name.

`blockmark list metrics`, the methodology page and every report print from here,
and the reader of run files checks units against it. A new metric is one row in a file
of this package and one probe.
"""

from __future__ import annotations

from ...rooms import STUDIES, part_of
from . import conditions, costs, counters, counts, pools, rate, shares
from .row import Direction, Kind, Metric

__all__ = [
    "METRICS",
    "QUANTILES",
    "Direction",
    "Kind",
    "Metric",
    "label_of",
    "metric_of",
    "split_address",
]

QUANTILES = ("p50", "p90", "p99", "p99.9", "max")

METRICS: dict[str, Metric] = {
    row.name: row
    for rows in (
        costs.ROWS,
        shares.ROWS,
        rate.ROWS,
        pools.ROWS,
        counters.rows((*costs.ROWS, *pools.ROWS)),
        counts.ROWS,
        conditions.ROWS,
        *(part_of(study, "metrics").ROWS for study in STUDIES),
    )
    for row in rows
}


def split_address(address: str) -> tuple[str, str | None]:
    """Split `step_latency_ns.p99` into metric and quantile; `step_ns` has no quantile.

    The metric need not be in the table. Raises ValueError if the part behind the
    first dot is not one of `QUANTILES`.
    """
    name, dot, quantile = address.partition(".")
    if not dot:
        return name, None
    if quantile not in QUANTILES:
        raise ValueError(f"{address}: no quantile {quantile!r}; there are {', '.join(QUANTILES)}")
    return name, quantile


def metric_of(address: str) -> Metric | None:
    """The row of a metric or of one of its quantiles; None if it is not in the table.

    Raises ValueError as `split_address` does, and for a quantile of a metric that
    has none.
    """
    name, quantile = split_address(address)
    row = METRICS.get(name)
    if row is not None and quantile is not None and row.kind != "distribution":
        raise ValueError(f"{address}: {name} is one value, it has no quantiles")
    return row


def label_of(address: str) -> str:
    """What people call a metric or a quantile: `pack`, `step latency p99`.

    What is not in the table is called by its address. Raises ValueError as `metric_of` does.
    """
    row = metric_of(address)
    if row is None:
        return address
    return " ".join([row.label, *address.split(".", 1)[1:]])
