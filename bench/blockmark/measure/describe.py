"""What a side of a check is, told by a process of that side: versions, and who is there."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import blockmark_impls
from blockmark.workload.scenario import Cell
from blockmark_impls import contract
from blockmark_impls.registry import Implementation, TargetError, resolve
from blockmark_impls.user import UserSource, load_class

from .machine import build_facts
from .subject import Subject


def describe(job: dict[str, Any]) -> dict[str, Any]:
    """The answer to a job of kind `describe`: `package`, `found`, `unknown`, `not_loaded`.

    Those of `unknown` that name code of the user's own are in `not_loaded` too. The job names
    `targets`, and `scenario` and `params` of a cell whose size decides the width of ids.
    """
    cell = Cell(job["scenario"], tuple(job["params"].items()))
    found: dict[str, list[dict[str, Any]]] = {}
    unknown: dict[str, str] = {}
    not_loaded: list[str] = []
    for target in job["targets"]:
        try:
            found[target] = [
                {"subject": asdict(Subject.of(impl, cell)), "file": _file(impl)}
                for impl in resolve(target)
            ]
        except TargetError as error:
            unknown[target] = str(error)
            # Asked by name, as below: the error of an older revision has no status.
            if getattr(error, "status", "") == "failed":
                not_loaded.append(target)
    return {
        "status": "ok",
        "package": _package(),
        "found": found,
        "unknown": unknown,
        "not_loaded": not_loaded,
    }


def _file(impl: Implementation) -> str | None:
    """The file of a user's class; None for what the package itself holds."""
    source = impl.source
    # Asked by name: the package of an older revision has no such class.
    if file := getattr(source, "file", None):
        return str(Path(file).resolve())
    if isinstance(source, UserSource):
        return getattr(sys.modules.get(load_class(source.target).__module__), "__file__", None)
    return None


def _package() -> dict[str, Any]:
    core = build_facts()
    try:
        numpy = version("numpy")
    except PackageNotFoundError:
        numpy = None
    return {
        # A package from before there was a number is none of today's.
        "contract_version": getattr(contract, "CONTRACT_VERSION", 0),
        "replay_version": core.get("replay_version"),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": numpy,
        "core": core,
        "place": list(blockmark_impls.__path__),
    }
