"""From a cell to all its Programs and the facts about its load."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .load import Load
from .measured import Measured
from .models import condition_manager, model_programs
from .packing import with_packing
from .pool_models import POOL_MODELS, pool_refusals

if TYPE_CHECKING:
    from collections.abc import Callable

    from .program import Program
    from .scenario import Cell

# Workload -> module and function; each is a file of its own, imported when it is asked for.
_LOADS = {
    "decode": ("decode", "decode_load"),
    "beam": ("beam", "beam_load"),
    "parallel-sampling": ("parallel_sampling", "parallel_sampling_load"),
    "speculative": ("speculative", "speculative_load"),
    "sliding-window": ("sliding_window", "sliding_window_load"),
    "serving": ("serving", "serving_load"),
    "recorded": ("recorded", "recorded_load"),
}


@dataclass(frozen=True, slots=True)
class CellPrograms:
    """What is replayed in one cell.

    `condition` brings a new manager's pool into order, `load` is the workload itself,
    `measured` has the Programs of each model, `refused` says of metrics why no
    implementation can have them here, `facts` is what a reader should know.
    """

    condition: Program
    load: Program
    measured: dict[str, list[Measured]]
    refused: dict[str, dict[str, str]]
    facts: dict[str, Any]


def build_load(cell: Cell) -> Load:
    """The Program and facts of the cell's workload. Raises ConfigError."""
    module, function = _LOADS[cell["workload"]]
    make: Callable[[Cell], Load] = getattr(import_module(f".{module}", __package__), function)
    return make(cell)


def build_cell(cell: Cell) -> CellPrograms:
    """Make every Program of a cell. Raises ConfigError where the load does not fit."""
    load = build_load(cell)
    measured: dict[str, list[Measured]] = {}
    for model in cell["models"]:
        if model == "step":
            measured[model] = [Measured(load.program, {1: "step_ns"})]
        elif model == "rate":
            packed = with_packing(load.program)
            measured[model] = [
                Measured(load.program, {1: "busy_share"}),
                Measured(packed, {1: "busy_share_with_pack", 2: "busy_share_with_pack"}),
            ]
        elif model == "pool" and cell["workload"] == "recorded":
            from .recorded import recorded_pool_programs

            measured[model] = recorded_pool_programs(cell)
        else:
            measured[model] = model_programs(model, cell)
    refused = {model: pool_refusals(model, cell) for model in measured if model in POOL_MODELS}
    return CellPrograms(condition_manager(cell), load.program, measured, refused, load.facts)
