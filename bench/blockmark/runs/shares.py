"""Shares of a core and of an engine's step, derived round by round from step times.

Estimated means computed: a cost in a hot loop times a rate. What a real-time loop
takes at that rate is another metric.
"""

from __future__ import annotations

from collections.abc import Mapping

from blockmark.runs.estimate import Resampler
from blockmark.runs.model import MetricValue
from blockmark.runs.summary import summarise

_STEP_MS = (1, 10, 30)


def derive_shares(
    metrics: Mapping[str, MetricValue], step_rate: float, resampler: Resampler
) -> dict[str, MetricValue]:
    """The share metrics that `step_ns` and `pack_ns` allow; `step_rate` in steps a second.

    Rounds of the two costs are added in their order. Empty without a `step_ns`.
    """
    step = metrics.get("step_ns")
    if step is None or step.value is None:
        return {}
    pack = metrics.get("pack_ns")
    shares = {"busy_share_estimated": [ns * step_rate * 1e-9 for ns in step.values]}
    if pack is not None and len(pack.values) == len(step.values):
        whole = tuple(a + b for a, b in zip(step.values, pack.values, strict=True))
        shares["busy_share_with_pack_estimated"] = [ns * step_rate * 1e-9 for ns in whole]
    for ms in _STEP_MS:
        shares[f"share_of_{ms}ms_step"] = [ns / (ms * 1e6) for ns in step.values]
    return {name: summarise(name, values, resampler) for name, values in shares.items()}
