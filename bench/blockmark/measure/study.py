"""How a study is measured: what its `measure` offers.

A study makes its cells ready before any clock starts, proves in a process of its own that
what it measures gives right answers, and measures a round. All else (the order of
processes, resuming, what becomes of a crash, the run file) is the same for everything that
is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from blockmark.rooms import part_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from blockmark.workload.scenario import Cell
    from blockmark_impls.registry import Implementation

    from .process.reading import Readings


@dataclass(frozen=True, slots=True)
class StudyTask:
    """What a process is asked: the keys of a cell, what `prepare` made of it, and how hard."""

    params: Mapping[str, Any]
    prepared: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 1
    quick: bool = False


class Study(Protocol):
    """What `measure` of a study offers."""

    KIND: str
    """The kind of implementation that it measures."""
    REPEATS: bool
    """Whether rounds can differ; exact counts are taken once."""

    def prepare(self, cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a worker's job needs, as plain JSON, and facts for the run file.

        Large inputs are files in `folder`, which is to be made. Raises ConfigError for a cell
        that can't be measured.
        """

    def prove(self, impl: Implementation, task: StudyTask) -> dict[str, Any]:
        """In a worker: `status` ok with `operations` and `steps`; or wrong or unavailable
        with a `reason`.
        """

    def measure(self, impl: Implementation, task: StudyTask) -> Readings:
        """In a worker: what was found of each metric."""

    def extra_time_s(self, params: Mapping[str, Any]) -> float:
        """Seconds that a round needs beyond the ordinary, by its cell."""


def study_of(workload: str) -> Study:
    """How a study is measured, imported when it is asked for."""
    return cast("Study", part_of(workload, "measure"))


def do_study_job(impl: Implementation, job: Mapping[str, Any]) -> dict[str, Any]:
    """The result of such a job, as the run's journal keeps it."""
    study = study_of(job["workload"])
    task = StudyTask(job["params"], job["study"], job["seed"], job["quick"])
    if job["kind"] == "study-proof":
        return study.prove(impl, task)
    found = study.measure(impl, task)
    return {"status": "ok", "metrics": {name: one.as_json() for name, one in found.items()}}
