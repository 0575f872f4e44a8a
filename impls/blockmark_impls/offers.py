"""What a built module offers, told by a process of its own, and loading it into this one.

A module is foreign code: it is loaded only where something is measured or verified, in a
process that may die of it. What it offers is asked once and kept with the builds.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .build import MODULE, NO_OFFER, BuildError, cache_folder

if TYPE_CHECKING:
    from types import ModuleType

_MOST_SECONDS = 60
_LOADED = "blockmark_module_"


@dataclass(frozen=True)
class Offer:
    """One class of a module. `structure` is the name that it gives itself."""

    class_name: str
    kind: Literal["pool", "table", "manager"]
    structure: str
    reuse_order: str
    id_type: str


def read_offers(module: Path) -> tuple[Offer, ...]:
    """What the module at that path offers, in the order of its header.

    Raises BuildError where it can't be loaded, or offers nothing.
    """
    kept = cache_folder() / "offers" / f"{_content(module)}.json"
    try:
        rows = json.loads(kept.read_text())
    except (OSError, ValueError):
        rows = _ask(module)
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            beside = kept.with_suffix(f".{os.getpid()}")
            beside.write_text(json.dumps(rows))
            beside.replace(kept)
        except OSError:
            pass  # asked again the next time
    if not rows:
        raise BuildError(f"{module} {NO_OFFER}")
    return tuple(Offer(**row) for row in rows)


def _ask(module: Path) -> list[dict[str, Any]]:
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__, str(module)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_MOST_SECONDS,
            env={**os.environ, "PYTHONPATH": paths},
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{module} hangs when it is loaded") from None
    if done.returncode < 0:
        raise BuildError(f"{module} crashes when it is loaded (signal {-done.returncode})")
    try:
        answer = json.loads(done.stdout.rpartition("\n")[2])
    except ValueError:
        raise BuildError(
            f"{module} ends the process that loads it (code {done.returncode})"
        ) from None
    if "error" in answer:
        raise BuildError(f"{module} can't be loaded: {answer['error']}")
    rows: list[dict[str, Any]] = answer["offers"]
    return rows


def _content(module: Path) -> str:
    try:
        return hashlib.sha256(module.read_bytes()).hexdigest()
    except OSError as error:
        raise BuildError(f"{module}: {(error.strerror or 'not readable').lower()}") from None


def load_module(path: Path) -> ModuleType:
    """The module, loaded into this process once, wherever copies of it lie.

    Raises BuildError.
    """
    full = path.resolve()
    name = f"{_LOADED}{_content(full)[:16]}.{MODULE}"
    if name in sys.modules:
        return sys.modules[name]
    loader = ExtensionFileLoader(name, str(full))
    spec = spec_from_file_location(name, full, loader=loader)
    if spec is None:
        raise BuildError(f"{path}: can't be loaded")
    try:
        module = module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        said = " ".join(str(error).split())
        if "PyInit" in said:
            said = "it was not made by blockmark build"
        raise BuildError(f"{path} can't be loaded: {said}") from None
    sys.modules[name] = module
    return module


def any_loaded() -> bool:
    """Whether a module was loaded into this process before."""
    return any(name.startswith(_LOADED) for name in sys.modules)


def _main(path: str) -> None:
    try:
        found = load_module(Path(path)).offers
        answer: dict[str, Any] = {
            "offers": [asdict(Offer(name, *row[:4])) for name, row in found.items()]
        }
    except BuildError as error:
        answer = {"error": str(error).removeprefix(f"{path} can't be loaded: ")}
    print("\n" + json.dumps(answer), end="", flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
