"""Shares of a core and of an engine's step, derived round by round from step times.

Estimated means computed: a cost in a hot loop times a rate. What a real-time loop
takes at that rate is another metric.
"""

from __future__ import annotations

from collections.abc import Mapping

from blockmark.runs.model import MetricValue
from blockmark.runs.summary import summarise

_STEP_MS = (1, 10, 30)


def derive_shares(
    metrics: Mapping[str, MetricValue], step_rate: float, *, concurrency: int
) -> dict[str, MetricValue]:
    """The share metrics that the costs allow; `step_rate` in steps a second.

    Rounds of two costs are added in their order. `concurrency` is the number of sequences
    that busy_share_by_operations counts an operation of each kind for, in every step.
    """
    step, pack = _rounds(metrics, "step_ns"), _rounds(metrics, "pack_ns")
    lookup = _rounds(metrics, "lookup_ordered_ns")
    alloc_free = _rounds(metrics, "alloc_free_interleaved_ns")
    shares = {
        "busy_share_estimated": [ns * step_rate * 1e-9 for ns in step],
        "busy_share_with_pack_estimated": [ns * step_rate * 1e-9 for ns in _added(step, pack)],
        **{f"share_of_{ms}ms_step": [ns / (ms * 1e6) for ns in step] for ms in _STEP_MS},
        "busy_share_by_operations": [
            ns * concurrency * step_rate * 1e-9 for ns in _added(lookup, alloc_free)
        ],
    }
    return {name: summarise(name, values) for name, values in shares.items() if values}


def _rounds(metrics: Mapping[str, MetricValue], name: str) -> tuple[float, ...]:
    """The rounds of a cost; none where it was not measured."""
    found = metrics.get(name)
    return () if found is None or found.value is None else found.values


def _added(one: tuple[float, ...], two: tuple[float, ...]) -> tuple[float, ...]:
    """Round by round; none where rounds of one are lacking."""
    return tuple(a + b for a, b in zip(one, two, strict=True)) if len(one) == len(two) else ()
