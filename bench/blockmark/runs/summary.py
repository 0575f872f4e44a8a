"""Rounds of one metric made into its entry in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from blockmark.runs.estimate import (
    ROUNDS_FOR_INTERVAL,
    estimate_cost,
    estimate_exact,
    estimate_rate,
    lower_quartile,
)
from blockmark.runs.histogram import PERMILLE, quantile, samples_needed
from blockmark.runs.metrics import METRICS, QUANTILES
from blockmark.runs.model import HistogramData, MetricValue, Quantile


class RecordedHistogram(Protocol):
    """The histogram of one round, native or Python."""

    @property
    def samples(self) -> int: ...
    @property
    def max_value(self) -> int: ...
    def counts(self) -> list[tuple[int, int]]: ...


def summarise(
    name: str,
    values: Sequence[float],
    *,
    means: Sequence[float] = (),
    source: str | None = None,
) -> MetricValue:
    """A scalar metric from its value in each round (a cost's is the least block).

    `means` are the rounds' means over blocks, where they were taken. `source` is
    given where it is not the table's. Raises KeyError for a metric that is not in
    the table, ValueError if there is no value or one is not finite.
    """
    row = METRICS[name]
    numbers = tuple(float(value) for value in values)
    if row.kind in ("cost", "share"):
        estimate = estimate_cost(numbers)
    elif row.kind == "rate":
        estimate = estimate_rate(numbers)
    else:
        estimate = estimate_exact(numbers)
    return MetricValue(
        estimate.value,
        row.unit,
        source or row.source,
        low=estimate.low,
        high=estimate.high,
        rounds=estimate.rounds,
        values=numbers,
        approximate=estimate.approximate,
        mean=lower_quartile(means) if means else None,
    )


def summarise_distribution(
    name: str, histograms: Sequence[RecordedHistogram | HistogramData]
) -> MetricValue:
    """A distribution from the histogram of each round.

    A quantile of the run is the lower quartile of the rounds' quantiles, like a
    cost; rounds that are too short for it are left out. `max` is the largest of
    all rounds, its range that of the rounds' maxima. Unavailable if p50 is. Raises
    ValueError if there is no histogram.
    """
    if not histograms:
        raise ValueError("no histogram to summarise")
    row = METRICS[name]
    rounds = tuple(_data(histogram) for histogram in histograms)
    quantiles = {label: _quantile_over(rounds, label) for label in QUANTILES}
    middle = quantiles["p50"]
    return MetricValue(
        middle.value,
        row.unit,
        row.source,
        low=middle.low,
        high=middle.high,
        rounds=middle.rounds,
        values=middle.values,
        approximate=middle.value is not None and middle.rounds < ROUNDS_FOR_INTERVAL,
        unavailable=middle.unavailable,
        quantiles=quantiles,
        histograms=rounds,
    )


def unavailable(name: str, reason: str, *, source: str | None = None) -> MetricValue:
    """The entry of a metric that could not be measured, with the reason.

    Raises KeyError for a metric that is not in the table.
    """
    row = METRICS[name]
    return MetricValue(None, row.unit, source or row.source, unavailable=reason)


def _data(histogram: RecordedHistogram | HistogramData) -> HistogramData:
    if isinstance(histogram, HistogramData):
        return histogram
    return HistogramData(tuple(histogram.counts()), histogram.max_value, histogram.samples)


def _quantile_over(rounds: Sequence[HistogramData], label: str) -> Quantile:
    readings = [quantile(one.counts, one.samples, one.max, label) for one in rounds]
    values = tuple(value for value in readings if value is not None)
    if not values:
        most = max(one.samples for one in rounds)
        return Quantile(
            None, unavailable=f"needs {samples_needed(label):,} samples a round, had {most:,}"
        )
    if label not in PERMILLE:
        several = len(values) > 1
        low, high = (min(values), max(values)) if several else (None, None)
        return Quantile(max(values), low, high, len(values), values)
    estimate = estimate_cost(values)
    return Quantile(estimate.value, estimate.low, estimate.high, estimate.rounds, values)
