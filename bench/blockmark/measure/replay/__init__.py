"""A Program played on a manager or a pool: one face for the loops in C++ and in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .native import NativeReplay, StepCalls
from .protocols import Evictor, MissingOperationsError, Recorder, Region, Replay
from .python import PythonReplay

if TYPE_CHECKING:
    from blockmark.workload.program import Program

__all__ = [
    "Evictor",
    "MissingOperationsError",
    "NativeReplay",
    "PythonReplay",
    "Recorder",
    "Region",
    "Replay",
    "StepCalls",
    "bind",
    "is_native_pool",
]


def is_native_pool(target: Any) -> bool:
    """Whether it is a free pool of the core: with a loop of its own, and without tables."""
    return hasattr(target, "replay") and hasattr(target, "take") and not hasattr(target, "allocate")


def bind(manager: Any, program: Program, call_style: str) -> Replay:
    """The replay of `program` on `manager` in a call style."""
    if call_style == "native":
        return NativeReplay(manager, program)
    if call_style == "per-step" and is_native_pool(manager):
        return StepCalls(manager, program)
    return PythonReplay(manager, program, per_step=call_style == "per-step")
