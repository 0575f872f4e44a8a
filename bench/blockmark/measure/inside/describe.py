"""What a side of a check is, told by a process of that side: versions, and who is there."""

from __future__ import annotations

import platform
import re
import sys
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import blockmark_impls
from blockmark.workload.scenario import Cell
from blockmark_impls import contract
from blockmark_impls.registry import Implementation, TargetError, resolve
from blockmark_impls.user import load_class

from ..machine import build_facts
from ..sides.loaded import included_in, loaded_files
from ..stated import own_code
from ..subject import Subject

# NAME=where:Class[parameters], of which all but `where` may be missing.
_OWN = re.compile(r"(?:[^=\[\]:]*=)?(?P<where>[^:\[\]=]+)(?::(?P<name>[^\[\]]+))?(?:\[.*)?")
_NATIVE = re.compile(r".+\.(?:h|hh|hpp|hxx|so)")


def describe(job: dict[str, Any]) -> dict[str, Any]:
    """The answer to a job of kind `describe`: `package`, `found`, `unknown`, `not_loaded`,
    `absent`, and what was `loaded` for it.

    Those of `unknown` that name code of the user's own are in `not_loaded` too, and in `absent`
    those whose file or class is not there, where others could not be loaded. The job names
    `targets`, and `scenario` and `params` of a cell whose size decides the width of ids.
    """
    cell = Cell(job["scenario"], tuple(job["params"].items()))
    found: dict[str, list[dict[str, Any]]] = {}
    unknown: dict[str, str] = {}
    not_loaded: list[str] = []
    absent: list[str] = []
    headers: set[Path] = set()
    for target in job["targets"]:
        try:
            named = resolve(target)
            found[target] = [
                {"subject": asdict(Subject.of(impl, cell)), "file": _file(impl)} for impl in named
            ]
            headers |= {file for impl in named for file in _headers(impl)}
        except TargetError as error:
            unknown[target] = str(error)
            # Asked by name, as below: the error of an older revision has no status.
            if getattr(error, "status", "") == "failed":
                not_loaded.append(target)
            if _is_absent(target):
                absent.append(target)
    return {
        "status": "ok",
        "package": _package(),
        "found": found,
        "unknown": unknown,
        "not_loaded": not_loaded,
        "absent": absent,
        "loaded": loaded_files(headers),
    }


def _file(impl: Implementation) -> str | None:
    """The file of a user's class; None for what the package itself holds."""
    own = own_code(impl)
    if ":" in own:
        return getattr(sys.modules.get(load_class(own).__module__), "__file__", None)
    return str(Path(own).resolve()) if own else None


def _headers(impl: Implementation) -> set[Path]:
    """The header of a user's C++ class, and all that it includes."""
    file = own_code(impl)
    if not _NATIVE.fullmatch(file):
        return set()
    try:
        from blockmark_impls.coverage import module_of
    except ImportError:  # the package of an older revision
        return {Path(file).resolve()}
    return included_in(module_of(file))


def _is_absent(target: str) -> bool:
    """Whether what a target names is not there, so that nothing had to be loaded to know."""
    match = _OWN.fullmatch(target.strip())
    if match is None:
        return False
    where, name = match["where"], match["name"] or ""
    is_native = _NATIVE.fullmatch(where) is not None
    if where.endswith(".py") or is_native:
        if not Path(where).is_file():
            return True
        if is_native:
            return bool(name) and _offers_no(where, name)
        place = str(Path(where).resolve())
        loaded = (m for m in list(sys.modules.values()) if getattr(m, "__file__", "") == place)
        return any(not hasattr(module, name.partition(".")[0]) for module in loaded)
    if not name:
        # No name of this package, nor of a plugin that could not be loaded.
        return where not in {point.name for point in entry_points(group="blockmark.impls")}
    if where in sys.modules:
        return not hasattr(sys.modules[where], name.partition(".")[0])
    with suppress(ImportError, ValueError):
        return find_spec(where) is None
    return True


def _offers_no(file: str, name: str) -> bool:
    try:
        from blockmark_impls.user_native import offered_names

        return name not in offered_names(file)
    except (ImportError, TargetError):
        return False  # it doesn't compile, so nobody knows


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
