"""A user's own class as an implementation: `module:Class`, or `path/to/file.py:Class`.

The class may have the whole contract, a part of it, or only that of a pool. Its code
runs when it is first needed, not when it is named.
"""

from __future__ import annotations

import os
import sys
import zlib
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from .contract import BlockManager, Profile, ReuseOrder, missing_operations
from .entry import MODELS, POOL_MODELS, Entry, Facts, LoadError, nearest

if TYPE_CHECKING:
    from types import ModuleType

    from .entry import Parameters

OPERATIONS = tuple(name for name in vars(BlockManager) if not name.startswith("_"))
_POOL_OPERATIONS = ("take", "give", "num_free")


def user_entry(target: str) -> Entry:
    """The class that `target` names; a manager is `Class(config)`, a pool `Class(total_blocks)`."""
    where, _, class_name = target.rpartition(":")

    def make_pool(parameters: Parameters, total_blocks: int, id_bits: int) -> Any | None:
        made = load_class(target)
        return made(total_blocks) if _is_pool(made) else None

    return Entry(
        # A name without folders: it is printed, and kept in run files.
        f"{where.rpartition('/')[2]}:{class_name}",
        "manager",
        f"your class {class_name}",
        lambda: _facts(target),
        lambda parameters, config: load_class(target)(config),
        make_pool,
        # Batch operations are used only when asked for: a user's first question is what
        # the class costs as it is called today.
        "per-op",
        own=target,
    )


def _facts(target: str) -> Facts:
    """What the class says of itself. Raises LoadError, also for what it says wrongly."""
    made = load_class(target)
    profile = getattr(made, "profile", Profile())
    if not isinstance(profile, Profile):
        raise LoadError(
            f"{target}: profile = {profile!r} must be a blockmark_impls.contract.Profile"
        )
    order = getattr(made, "reuse_order", "unspecified")
    if order not in get_args(ReuseOrder):
        raise LoadError(
            f"{target}: reuse_order = {order!r} is not one of {', '.join(get_args(ReuseOrder))}"
        )
    batch = not missing_operations(made, ["append_slots"])
    pool = _is_pool(made)
    return Facts(
        POOL_MODELS if pool else MODELS - POOL_MODELS,
        ("per-op", "per-step") if batch else ("per-op",),
        cast("ReuseOrder", order),
        profile,
        tuple(missing_operations(made, _POOL_OPERATIONS if pool else OPERATIONS)),
    )


def _is_pool(made: type) -> bool:
    """Whether a class is a pool alone."""
    lacks = missing_operations(made, ("allocate", *_POOL_OPERATIONS))
    return "allocate" in lacks and "take" not in lacks and "give" not in lacks


def load_class(target: str) -> type:
    """The class of `module:Class` or `file.py:Class`. Raises LoadError."""
    where, _, name = target.rpartition(":")
    module = _load_file(Path(where)) if where.endswith(".py") else _load_module(where)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            near = nearest(part, [n for n, v in vars(found).items() if isinstance(v, type)])
            raise LoadError(f"{target}: {where} has no {name}{near}")
        found = getattr(found, part)
    if not isinstance(found, type):
        raise LoadError(f"{target}: {name} is a {type(found).__name__}, not a class")
    return found


def _load_module(name: str) -> ModuleType:
    # Behind everything else, so that a file here hides no installed module.
    _make_importable(os.getcwd())
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        raise LoadError(_import_failed(name, error)) from None


def _load_file(path: Path) -> ModuleType:
    full = path.resolve()
    # The same name in every process, and another for a file of that name elsewhere.
    name = f"blockmark_user_{path.stem}_{zlib.crc32(os.fsencode(full)):08x}"
    if name in sys.modules:
        return sys.modules[name]
    if not full.is_file():
        raise LoadError(f"{path}: there is no such file")
    spec = spec_from_file_location(name, full)
    if spec is None or spec.loader is None:
        raise LoadError(f"{path}: can't be loaded as Python")
    _make_importable(str(full.parent))
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise LoadError(_import_failed(str(path), error)) from None
    return module


def _make_importable(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)


def _import_failed(what: str, error: BaseException) -> str:
    """One line: what, which error, and where in the user's code it was raised."""
    import traceback

    said = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        place = ""  # said holds the line
    else:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith("<frozen") and frame.filename != __file__
        ]
        frames = [f for f in frames if os.sep + "importlib" + os.sep not in f.filename]
        place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{what} can't be imported: {type(error).__name__}: {said}{place}"
