"""Every Program of a run, made and saved before the first process starts.

Workers map the files, so that no measured process spends time or memory on making
them; and a load that does not fit is told before anything is written.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from blockmark.workload.build import CellPrograms, build_cell

from ..machine import memory_limit
from ..process.task import TimedProgram
from ..study import study_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from blockmark.workload.scenario import Cell

    from ..process.task import Timed
    from .plan import Pair


@dataclass(slots=True)
class SavedPrograms:
    """The files of one cell: the `load`, what brings a pool into its `condition`, and by model
    what is timed. `refused` says by model and metric why there is none, and `sequences` are live
    on average.
    """

    load: str
    condition: str
    models: Timed
    refused: Mapping[str, Mapping[str, str]]
    sequences: float


@dataclass(slots=True)
class Prepared:
    """By cell key: the saved programs, what a study prepared instead, the facts, and why a cell
    is not tried.
    """

    programs: dict[str, SavedPrograms] = field(default_factory=dict)
    studies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def request(self, kind: str, pair: Pair, *, seed: int, **more: Any) -> dict[str, Any]:
        """What a process is asked to do with one pair, with what else a job of the kind takes."""
        key = pair.cell.key
        asked = {"kind": kind, "impl": pair.subject.target, "params": pair.cell.values}
        if pair.cell.study:
            asked |= {"workload": pair.cell.study, "study": self.studies[key]}
        else:
            saved = self.programs[key]
            asked |= {
                "call_style": pair.call_style,
                "config": asdict(pair.cell.pool_config),
                "programs": saved.models,
                "condition": saved.condition,
            }
        return {**asked, "seed": seed, "memory_limit": memory_limit(), **more}


def prepare(cells: list[Cell], folder: Path) -> Prepared:
    """Make and save the Programs of all cells, and what studies need.

    Raises ConfigError for a bad load.
    """
    prepared = Prepared()
    for cell in cells:
        if cell.study:
            made, facts = study_of(cell.study).prepare(cell, folder / cell.key)
            prepared.studies[cell.key], prepared.facts[cell.key] = made, facts
            continue
        if reason := too_large(cell):
            prepared.refused[cell.key] = reason
            continue
        programs = build_cell(cell)
        prepared.facts[cell.key] = programs.facts
        sequences = programs.facts.get("running_mean", cell["concurrency"])
        prepared.programs[cell.key] = _save(programs, folder / cell.key, sequences)
    return prepared


def too_large(cell: Cell) -> str:
    """Why a cell can't be tried on this machine; empty if it can.

    A generous guess of the hungriest structure: hashed ref counts and free list take
    about 80 bytes a block, a table entry up to 8, a hashed one 40. A study has no such.
    """
    if cell.study:
        return ""
    config = cell.pool_config
    entries = config.max_seqs * config.max_blocks_per_seq
    wanted = 80 * config.total_blocks + 8 * entries + 40 * min(entries, config.total_blocks)
    limit = memory_limit()
    if wanted <= limit:
        return ""
    return (
        f"it would take about {wanted / 2**30:.1f} GiB, more than half of this machine's memory "
        f"({limit / 2**30:.1f} GiB); lower total_blocks, concurrency or max_blocks_per_seq"
    )


def _save(programs: CellPrograms, folder: Path, sequences: float) -> SavedPrograms:
    folder.mkdir(parents=True)

    def save(program: Any, name: str) -> str:
        path = folder / f"{name}.program"
        program.save(path)
        return str(path)

    load = save(programs.load, "load")
    models: dict[str, list[TimedProgram]] = {}
    for model, entries in programs.measured.items():
        models[model] = [
            TimedProgram(
                # The load itself is measured by more than one model, and is saved once.
                load
                if entry.program is programs.load
                else save(entry.program, f"{model}-{number}"),
                entry.metrics,
                entry.pool_only,
            )
            for number, entry in enumerate(entries)
        ]
    condition = save(programs.condition, "condition")
    return SavedPrograms(load, condition, models, programs.refused, sequences)
