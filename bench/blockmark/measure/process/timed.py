"""Programs in files as a request names them, with the metrics that are timed of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockmark.workload.program import Program


@dataclass(frozen=True, slots=True)
class TimedProgram:
    """A saved Program; `metrics` are named by the phase whose time they are. `pool_only`: it is
    for a pool, not for a manager.
    """

    path: str
    metrics: Mapping[int, str]
    pool_only: bool

    @property
    def names(self) -> list[str]:
        """The metrics, in the order of the phases."""
        return list(self.metrics.values())

    def load(self) -> Program:
        """Map it. Raises ProgramError."""
        return Program.load(Path(self.path))


Timed = Mapping[str, list[TimedProgram]]
"""By the model that they belong to."""


def timed_in(request: Mapping[str, Any]) -> Timed:
    """The `programs` of a request, which was JSON."""
    return {
        model: [
            TimedProgram(
                one["path"],
                {int(phase): name for phase, name in one["metrics"].items()},
                one["pool_only"],
            )
            for one in programs
        ]
        for model, programs in request["programs"].items()
    }


def timed_for(programs: Timed, metrics: Collection[str]) -> Timed:
    """Those of them that one of the metrics needs."""
    kept = {
        model: [one for one in some if any(name in metrics for name in one.names)]
        for model, some in programs.items()
    }
    return {model: some for model, some in kept.items() if some}
