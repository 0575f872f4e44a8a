"""From a cell to all its Programs and the facts about its load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .decode import decode_facts, decode_program
from .models import Measured, condition_manager, model_programs

if TYPE_CHECKING:
    from .program import Program
    from .scenario import Cell


@dataclass(frozen=True, slots=True)
class CellPrograms:
    """What is replayed in one cell.

    `condition` brings a new manager's pool into order, `load` is the workload itself,
    `measured` has the Programs of each model, `facts` what a reader should know.
    """

    condition: Program
    load: Program
    measured: dict[str, list[Measured]]
    facts: dict[str, Any]


def build_cell(cell: Cell) -> CellPrograms:
    """Make every Program of a cell. Raises ConfigError where the load does not fit."""
    load = decode_program(cell)
    measured: dict[str, list[Measured]] = {}
    for model in cell["models"]:
        if model == "step":
            measured[model] = [Measured(load, {1: "step_ns"})]
        else:
            measured[model] = model_programs(model, cell)
    return CellPrograms(condition_manager(cell), load, measured, decode_facts(cell, load))
