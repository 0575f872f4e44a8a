"""What a user's header is compiled with: the core's own compiler and flags, and nanobind.

The core says what it was built with. A header is built alike, so that nothing but the
structure differs from the structures of the core.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .core import core
from .entry import LoadError

NATIVE = Path(__file__).with_name("native")
# What CMakeLists.txt and nanobind's own CMake functions add to the flags that the core tells.
_MODULE_FLAGS = (
    *("-fPIC", "-fvisibility=hidden", "-fno-stack-protector", "-g1"),
    *("-ffunction-sections", "-fdata-sections"),
)
_NANOBIND_FLAGS = ("-fno-strict-aliasing", "-DNB_BUILD", "-DNB_COMPACT_ASSERTIONS", "-w")
_LINK_FLAGS = ("-shared", "-Wl,--gc-sections")


@dataclass(frozen=True)
class Tools:
    """The compiler and everything that decides what it makes of a source.

    `compile` and `link` are the beginnings of commands; `digest` names all of it, the
    core's sources included.
    """

    compile: tuple[str, ...]
    compile_nanobind: tuple[str, ...]
    link: tuple[str, ...]
    nanobind: Path
    digest: str


@cache
def tools() -> Tools:
    """The tools of this installation.

    Raises LoadError without a core, without nanobind, and where the compiler at hand
    is not the one that built the core.
    """
    native = core()
    info = native.build_info()
    nanobind = _nanobind()
    compiler = _compiler(info["compiler"])
    flags = (*shlex.split(info["flags"]), *_MODULE_FLAGS)
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").is_file():
        raise LoadError(
            f"no Python.h in {include}: install Python's headers (on some systems python3-dev)"
        )
    bindings = ("-isystem", include, "-isystem", str(nanobind / "include"))
    link = (*compiler, *_LINK_FLAGS, *shlex.split(native.link_flags))
    # Says not only which requirement of a concept is not met, but also why.
    depth = ("-fconcepts-diagnostics-depth=2",) if info["compiler"].startswith("g++") else ()
    said = (info["compiler"], *flags, *link, _nanobind_version(), sysconfig.get_config_var("SOABI"))
    return Tools(
        compile=(*compiler, *flags, *depth, "-I", str(NATIVE), *bindings),
        compile_nanobind=(
            *compiler,
            *flags,
            *_NANOBIND_FLAGS,
            *bindings,
            *("-isystem", str(nanobind / "ext" / "robin_map" / "include")),
        ),
        link=link,
        nanobind=nanobind / "src" / "nb_combined.cpp",
        digest=_digest(said),
    )


def _digest(said: tuple[str, ...]) -> str:
    digest = hashlib.sha256("\0".join(said).encode())
    for path in sorted(NATIVE.rglob("*")):
        if path.suffix in (".hpp", ".cpp"):
            digest.update(b"\0" + str(path.relative_to(NATIVE)).encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _nanobind() -> Path:
    spec = find_spec("nanobind")
    if spec is None or not spec.submodule_search_locations:
        raise LoadError(
            "compiling a header needs nanobind, which is not installed: "
            "pip install 'blockmark[build]'"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _nanobind_version() -> str:
    from importlib.metadata import version

    return version("nanobind")


def _compiler(of_core: str) -> tuple[str, ...]:
    """The command of the compiler that built the core, such as `g++ 12.2.0`."""
    kind, _, wanted = of_core.partition(" ")
    command = shlex.split(os.environ.get("CXX", "")) or [kind]
    if shutil.which(command[0]) is None:
        raise LoadError(
            f"{command[0]} was not found: the core was built by {of_core}, and a header is "
            f"compiled alike; install it, or name it in the environment variable CXX"
        )
    here = _version_of(command)
    # What clang tells of itself goes on behind the number.
    if here.split()[:1] != [kind] or not wanted.startswith(here.split()[1]):
        raise LoadError(
            f"{command[0]} is {here}, but the core was built by {of_core}: two compilers "
            "would be compared, not two structures; name that one in CXX, or build the core again"
        )
    return tuple(command)


def _version_of(command: list[str]) -> str:
    def said(option: str) -> str:
        done = subprocess.run([*command, option], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    if "clang" in said("--version"):
        return f"clang++ {said('-dumpversion')}"
    return f"g++ {said('-dumpfullversion')}"
