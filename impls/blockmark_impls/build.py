"""From a user's header to a module that can be loaded, with a cache of what was built.

A build is kept under `~/.cache/blockmark/modules` (`XDG_CACHE_HOME`) and used again as
long as neither the header, nor a file that it includes, nor the tools have changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .build_errors import first_error
from .build_tools import NATIVE, Tools, tools
from .entry import LoadError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What the loop calls out of line; program and counters stay the core's.
_SUPPORT = ("allocations", "conditions", "contract", "pacing", "bindings/python")
# Of the header's unit alone. Both g++ and clang++ know it; what it calls is in coverage.cpp.
_COVERAGE = ("-fsanitize-coverage=trace-pc", "-DBLOCKMARK_COVERAGE")
_UNIT = """\
#include "bindings/bind_offers.hpp"
#include "{header}"

NB_MODULE({module}, m) {{ blockmark::bind_offers(m); }}
"""
# The name that Python looks for in the file, whatever the file is called.
MODULE = "blockmark_offers"
NO_OFFER = (
    "offers nothing: it needs a line BLOCKMARK_POOL(Class), BLOCKMARK_TABLE(Class) or "
    "BLOCKMARK_MANAGER(Class)"
)
_KEPT = 4  # modules of one header; an older one may still be running


class BuildError(LoadError):
    """A header that can't be built; `log` is the whole of what the compiler printed."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


def build_header(header: Path, *, output: Path | None = None, coverage: bool = False) -> Path:
    """The loadable module with what a header offers, built now or before.

    `output` names a file that it is also copied to. With `coverage` the module counts which
    edges of the header's code ran (coverage.py), so nothing of it can be timed. Raises
    BuildError where the header is missing or doesn't compile, or `output` can't be written;
    LoadError where the tools are missing.
    """
    path = header.resolve()
    if not path.is_file():
        raise BuildError(f"{header}: there is no such file")
    if '"' in str(path) or "\\" in str(path) or "\n" in str(path):
        raise BuildError(f"{header}: a path with quotes or line ends can't be included")
    with_tools = tools()
    place = _place(path, with_tools, coverage)
    with _locked(place):
        module = _valid(place) or _build(header, path, place, with_tools, coverage)
        if output is not None:
            # Beside it first: a module that is in use is never written over.
            beside = output.with_name(output.name + ".new")
            try:
                shutil.copy(module, beside)
                beside.replace(output)
            except OSError as error:
                raise BuildError(f"{output} can't be written: {error.strerror}") from None
    return module if output is None else output


def will_compile(header: Path, *, coverage: bool = False) -> bool:
    """Whether `build_header` would run the compiler: not where it was built before, nor where
    it would raise at once.
    """
    path = header.resolve()
    try:
        return path.is_file() and _valid(_place(path, tools(), coverage)) is None
    except LoadError:
        return False


def _place(path: Path, with_tools: Tools, coverage: bool) -> Path:
    said = (with_tools.digest, str(path), *(_COVERAGE if coverage else ()))
    name = hashlib.sha256("\0".join(said).encode()).hexdigest()[:16]
    return cache_folder() / "modules" / f"{path.stem}-{name}"


def cache_folder() -> Path:
    """Where builds are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "blockmark"


def _valid(place: Path) -> Path | None:
    """The module in `place`, if all that went into it is as it was."""
    try:
        record = json.loads((place / "build.json").read_text())
        same = all(_content(Path(file)) == was for file, was in record["files"].items())
        module = place / record["module"]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return module if same and module.is_file() else None


def _build(header: Path, path: Path, place: Path, with_tools: Tools, coverage: bool) -> Path:
    objects = _support(with_tools, (*_SUPPORT, "coverage") if coverage else _SUPPORT)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        unit, made = Path(folder) / "unit.cpp", Path(folder) / "unit.o"
        needs, module = Path(folder) / "unit.d", Path(folder) / "module.so"
        unit.write_text(_UNIT.format(header=path, module=MODULE))
        build_id = "build_" + hashlib.sha256(os.urandom(16)).hexdigest()[:16]
        _run(
            header,
            *with_tools.compile,
            *(_COVERAGE if coverage else ()),
            *(f"-DBLOCKMARK_BUILD={build_id}", "-MMD", "-MF", str(needs)),
            *("-c", str(unit), "-o", str(made)),
        )
        _run(header, *with_tools.link, str(made), *map(str, objects), "-o", str(module))
        files = {
            file: _content(Path(file)) for file in _needed(needs.read_text()) if file != str(unit)
        }
        kept = place / f"{build_id}.so"
        module.replace(kept)
        record = Path(folder) / "build.json"
        record.write_text(json.dumps({"module": kept.name, "files": files}, indent=1))
        record.replace(place / "build.json")
    old = sorted(place.glob("*.so"), key=lambda file: file.stat().st_mtime)[:-_KEPT]
    for file in old:
        file.unlink()
    return kept


def _support(with_tools: Tools, names: Sequence[str]) -> list[Path]:
    """Object files of nanobind and of what the loop calls, compiled once for all headers."""
    place = cache_folder() / "support" / with_tools.digest[:16]
    with _locked(place):
        objects = []
        for name in (*names, "nanobind"):
            made = place / f"{name.replace('/', '_')}.o"
            objects.append(made)
            if made.is_file():
                continue
            ours = name != "nanobind"
            source = NATIVE / f"{name}.cpp" if ours else with_tools.nanobind
            command = with_tools.compile if ours else with_tools.compile_nanobind
            new = made.with_suffix(".new")
            _run(source, *command, "-c", str(source), "-o", str(new))
            new.replace(made)
    return objects


def _run(source: Path, *command: str) -> None:
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        [*command, *(["-fdiagnostics-color=never"] if "-c" in command else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        env=environment,
    )
    if done.returncode:
        said = first_error(done.stdout, str(source.resolve()))
        raise BuildError(f"{source} doesn't compile: {said}", done.stdout)


def _needed(rule: str) -> Sequence[str]:
    """The files behind the colon of a make rule."""
    _, _, names = rule.replace("\\\n", " ").partition(": ")
    return [name.replace("\\ ", " ") for name in _split(names)]


def _split(names: str) -> list[str]:
    """Words with blanks between them, where a blank in a name has a backslash."""
    return [word.replace("\0", "\\ ") for word in names.replace("\\ ", "\0").split()]


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone in a folder of the cache; another process waits. Raises BuildError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise BuildError(
            f"nothing can be kept in {folder} ({error.strerror}); set XDG_CACHE_HOME to a "
            "folder that can be written"
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
