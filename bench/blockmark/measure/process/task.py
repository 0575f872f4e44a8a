"""What a process is asked of one cell, read from the line of its request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blockmark.workload.program import Program
from blockmark_impls.contract import PoolConfig

from ..probes.timing import Budget


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


@dataclass(frozen=True, slots=True)
class CellTask:
    """A cell with its saved programs. `condition` is the path of the one that brings a pool into
    the cell's order; the heap ages by the `seed`.
    """

    params: Mapping[str, Any]
    config: PoolConfig
    call_style: str
    condition: str
    seed: int
    programs: Timed = field(default_factory=dict)

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> CellTask:
        """What a request says of it."""
        return cls(
            request["params"],
            PoolConfig(**request["config"]),
            request["call_style"],
            request["condition"],
            request["seed"],
            timed_in(request),
        )


@dataclass(frozen=True, slots=True)
class RoundTask:
    """A cell to be timed. `sequences` are live on average; `pmu` says of each event why it is
    not read, or nothing; `caches` are sizes by name; `refused` says by model and metric why
    there is no program.
    """

    cell: CellTask
    sequences: float
    budget: Budget
    software_counters: bool
    pmu: Mapping[str, str]
    caches: Mapping[str, int]
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> RoundTask:
        """What a request says of it."""
        return cls(
            CellTask.of(request),
            request["sequences"],
            Budget(**request["budget"]),
            request["software_counters"],
            request["pmu"],
            request["caches"],
            request.get("refused", {}),
        )
