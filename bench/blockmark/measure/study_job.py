"""The work of a study as a job for a measured process: what it is told, and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .machine import memory_limit
from .studies import study_of

if TYPE_CHECKING:
    from blockmark_impls.registry import Implementation

    from .plan import Pair
    from .programs import Prepared

KINDS = ("study-proof", "study-round")


def study_job(
    kind: str, pair: Pair, prepared: Prepared, *, seed: int, quick: bool
) -> dict[str, Any]:
    """The request to a worker that proves or measures one pair."""
    assert kind in KINDS
    return {
        "kind": kind,
        "impl": pair.subject.target,
        "workload": pair.cell.study,
        "params": pair.cell.values,
        "study": prepared.jobs[pair.cell.key],
        "seed": seed,
        "quick": quick,
        "memory_limit": memory_limit(),
    }


def do_study_job(impl: Implementation, job: dict[str, Any]) -> dict[str, Any]:
    """The result of such a job, as the run's journal keeps it."""
    study = study_of(job["workload"])
    if job["kind"] == "study-proof":
        return study.prove(impl, job)
    return {"status": "ok", "metrics": study.measure(impl, job)}
