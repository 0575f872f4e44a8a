"""Small programs for the native core, written out by hand.

A script that a test starts imports this as well, so it needs nothing but the core.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from importlib import import_module
from typing import Any

(CAN_ALLOCATE, ALLOCATE, APPEND, EXTEND, TRUNCATE, DROP_FRONT, FORK, FREE) = range(8)
LOOKUP, LOOKUP_CHAIN, PACK, TAKE, GIVE, REMOVE, FIND, COMPACT = range(8, 16)

Run = tuple[int, Sequence[tuple[int, ...]]]
Steps = Sequence[tuple[int, Sequence[Run]]]


def _native() -> Any:
    # Not above: tests skip themselves where no core was built.
    return import_module("blockmark_impls._native")


def columns(steps: Steps) -> dict[str, Any]:
    """Steps as (phase, runs) and runs as (code, operands) into a program's columns."""
    made: dict[str, Any] = {
        "codes": array("B"),
        "run_start": array("q", [0]),
        "a": array("i"),
        "b": array("i"),
        "c": array("i"),
        "step_runs": array("q", [0]),
        "phases": array("B"),
    }
    for phase, runs in steps:
        for code, operations in runs:
            made["codes"].append(code)
            for operation in operations:
                operands = (*operation, 0, 0)
                for name, operand in zip("abc", operands, strict=False):
                    made[name].append(operand)
            made["run_start"].append(len(made["a"]))
        made["step_runs"].append(len(made["codes"]))
        made["phases"].append(phase)
    return made


def program(steps: Steps, setup_steps: int = 0) -> Any:
    return _native().Program(**columns(steps), setup_steps=setup_steps)


def flat(*sizes: int) -> Any:
    return _native().manager_class("flat", "stack", "array", 16)(*sizes)
