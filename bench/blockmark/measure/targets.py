"""From the names of targets to subjects, and the first import of a user's own code.

A user's code is never loaded into this process: another, which may crash or hang, reports what
there is to know of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark_impls.registry import LoadError, TargetError, own_target, resolve

from .machine import memory_limit
from .process.jobs import Job
from .subject import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blockmark.workload.scenario import Cell


def subjects_of(target: str, cell: Cell, timeout_s: float) -> list[Subject]:
    """What a target names, in a cell of that size.

    A user's class in Python is loaded by a process of its own that has `timeout_s`; a header
    is built, which runs the compiler alone. Raises TargetError for a target that is not well
    formed or unknown.
    """
    own = own_target(target)
    try:
        if own and not own.native_file:
            return _as_told(own.name, target, cell, timeout_s)
        return [Subject.of(impl, cell) for impl in resolve(target)]
    except LoadError as error:
        if own is None:
            raise
        tier, summary = ("cpp" if own.native_file else ""), "your own, which can't be loaded"
        return [Subject(own.name, target, own.name, tier, "manager", summary, broken=str(error))]


def _as_told(name: str, target: str, cell: Cell, timeout_s: float) -> list[Subject]:
    """What a process says that loads it. Raises LoadError, and TargetError."""
    request = describe_job([target], cell)
    answer = Job(request, timeout_s).result()
    if answer["status"] != "ok":
        raise LoadError(f"{name} can't be loaded: {answer['reason']}")
    if reason := answer["unknown"].get(target):
        raise (LoadError if target in answer["not_loaded"] else TargetError)(reason)
    return [Subject.from_json(each["subject"]) for each in answer["found"][target]]


def describe_job(targets: Sequence[str], cell: Cell) -> dict[str, Any]:
    """The request to a process that tells what targets name there; see `describe.py`."""
    return {
        "kind": "describe",
        "targets": list(dict.fromkeys(targets)),
        "scenario": cell.scenario,
        "params": cell.values,
        "memory_limit": memory_limit(),
    }
