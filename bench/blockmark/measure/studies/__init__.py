"""Studies: measurements that are no replay of a Program, one module each.

A module makes its cells ready before any clock starts, proves in a process of its own that
what it measures gives right answers, and measures a round. All else (the order of
processes, resuming, what becomes of a crash, the run file) is the same for everything that
is measured.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from blockmark.workload.scenario import Cell
    from blockmark_impls.registry import Implementation


class Study(Protocol):
    """What a module of this package offers."""

    KIND: str
    """The kind of implementation that it measures."""
    REPEATS: bool
    """Whether rounds can differ; exact counts are taken once."""

    def prepare(self, cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a worker's job needs, as plain JSON, and facts for the run file.

        Large inputs are files in `folder`, which is to be made. Raises ConfigError for a cell
        that can't be measured.
        """

    def prove(self, impl: Implementation, job: Mapping[str, Any]) -> dict[str, Any]:
        """In a worker: `status` ok with `operations` and `steps`; or wrong or unavailable
        with a `reason`. The job has `params`, `study` (what was prepared), `seed`, `quick`.
        """

    def measure(self, impl: Implementation, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """In a worker: metric name -> a value and maybe a mean, a histogram, or a reason."""

    def extra_time_s(self, params: Mapping[str, Any]) -> float:
        """Seconds that a round needs beyond the ordinary, by its cell."""


def study_of(workload: str) -> Study:
    """The module of a study, imported when it is asked for."""
    module = import_module(f".{workload.replace('-', '_')}", __package__)
    return cast("Study", module)
