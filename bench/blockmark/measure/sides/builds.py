"""Building a side of a check: the measured package of a revision, or a user's own tree.

A package that was built is kept under `~/.cache/blockmark` (`XDG_CACHE_HOME`), named by all
that went into it, so that a second check of the same revision builds nothing. A user's tree
is built anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from blockmark.workload.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .repository import Repository, Revision

    Say = Callable[[str], None]

# All that a build of the measured package reads.
_INPUTS = ("impls", "CMakeLists.txt", "pyproject.toml")
PACKAGE = Path("impls") / "blockmark_impls"
_LAST_LINES = 20
# Read by compilers, linkers and what calls them.
_VARIABLES = (
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "ARFLAGS"),
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH"),
    *("COMPILER_PATH", "GCC_EXEC_PREFIX", "SOURCE_DATE_EPOCH", "SDKROOT", "PATH"),
)
_PREFIXES = ("CMAKE_", "SKBUILD_", "NANOBIND_", "NINJA_", "BLOCKMARK_")


class BuildError(ConfigError):
    """A build that failed; `log` has the last lines of what it printed."""

    def __init__(self, what: str, log: str) -> None:
        super().__init__(f"{what}; the last lines that it printed are above")
        self.log = log


def cache_folder() -> Path:
    """Where builds are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "blockmark"


def is_blockmark(tree: Path) -> bool:
    """Whether a working tree is one of this project, whose package has to be built."""
    return (tree / PACKAGE / "__init__.py").is_file()


def build_package(repository: Repository, revision: Revision, *, core: bool, say: Say) -> Path:
    """The folder with the `blockmark_impls` of a revision, built here with today's tools.

    With `core` a missing C++ core is a failure. Raises BuildError, ConfigError.
    """
    key = _key(repository.contents(revision, _INPUTS), _toolchain(), str(core))
    place = cache_folder() / "packages" / key
    if (place / "blockmark_impls" / "__init__.py").is_file():
        say(f"blockmark_impls of {revision.short} ({revision.called}) was built before")
        return place
    say(f"building blockmark_impls of {revision.short} ({revision.called})")
    with repository.checked_out(revision) as tree:
        if not is_blockmark(tree):
            raise ConfigError(f"{revision.called} ({revision.short}) has no {PACKAGE}")
        with _new_folder(place) as target:
            command = _install_command(tree, target)
            environment = {**os.environ, "PATH": _path_with_tools()}
            environment.setdefault("BLOCKMARK_REQUIRE_NATIVE", "1" if core else "0")
            done = _run(command, tree, environment)
            if done.returncode:
                raise BuildError(
                    f"{revision.called} ({revision.short}) does not build: "
                    f"{command[0].rpartition('/')[2]} ended with code {done.returncode}",
                    _tail(done.stdout),
                )
    return place


@contextmanager
def built_tree(
    repository: Repository, revision: Revision, command: str, *, say: Say
) -> Iterator[Path]:
    """A worktree of a revision of a user's repository, in which `command` has been run.

    It is built each time, as the working tree is: what shapes a user's build (variables, what
    is installed, files that the command fetches) can't be known, so a build that was kept
    might be another. Raises BuildError.
    """
    with repository.checked_out(revision) as tree:
        run_build(command, repository.folder_in(tree), revision.called, say=say)
        yield tree


def forget_modules(tree: Path) -> None:
    """Remove from the cache what was compiled of headers in a tree that is no more."""
    for record in (cache_folder() / "modules").glob("*/build.json"):
        with suppress(OSError, ValueError, KeyError, AttributeError):
            files = json.loads(record.read_text("utf-8"))["files"]
            if any(Path(file).is_relative_to(tree) for file in files):
                shutil.rmtree(record.parent, ignore_errors=True)


def run_build(command: str, tree: Path, called: str, *, say: Say) -> None:
    """Run a user's build command through the shell in a folder. Raises BuildError."""
    say(f"building {called}: {command}")
    done = _run(["/bin/sh", "-c", command], tree, dict(os.environ))
    if done.returncode:
        raise BuildError(
            f"{called} does not build: --build ended with code {done.returncode}",
            _tail(done.stdout),
        )


def _run(
    command: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def _tail(text: str) -> str:
    return "\n".join(text.rstrip().splitlines()[-_LAST_LINES:])


def _install_command(tree: Path, target: Path) -> list[str]:
    """Installs a tree into a folder; without isolation where all that builds it is here."""
    options = ["--quiet", "--no-deps", "--target", str(target)]
    if here := _backend_is_here(tree / "pyproject.toml"):
        options += ["--no-build-isolation"]
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv is not None:
        # Where nothing has to be fetched, nothing of it has to be kept.
        cached = ["--no-cache"] if here else []
        return [uv, "pip", "install", "--python", sys.executable, *cached, *options, str(tree)]
    if find_spec("pip") is None:
        raise ConfigError(
            "neither uv nor pip is installed, one of which builds a revision; "
            f"install one: {sys.executable} -m ensurepip"
        )
    return [sys.executable, "-m", "pip", "install", *options, str(tree)]


def _backend_is_here(project: Path) -> bool:
    try:
        system = tomllib.loads(project.read_text("utf-8"))["build-system"]
        names = [re.split(r"[^\w.-]", wanted.strip())[0] for wanted in system["requires"]]
        for name in names:
            distribution(name)
        if "backend-path" in system:
            return True
        return find_spec(system["build-backend"].partition(":")[0].partition(".")[0]) is not None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, PackageNotFoundError):
        return False


def _path_with_tools() -> str:
    # cmake and ninja may be installed beside this interpreter and nowhere else.
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _toolchain() -> str:
    """What decides a build of the package beside its sources: compilers, all variables that
    they and CMake read, the interpreter, and what is installed here.
    """
    said = []
    for name, usual in (("CC", "cc"), ("CXX", "c++")):
        compiler = os.environ.get(name, usual)
        try:
            done = subprocess.run(
                [*compiler.split(), "--version"], capture_output=True, text=True, check=False
            )
            said.append(done.stdout.partition("\n")[0])
        except OSError:
            said.append("")
    variables = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name in _VARIABLES or name.startswith(_PREFIXES)
    ]
    installed = sorted({f"{dist.name} {dist.version}" for dist in distributions()})
    facts = [*said, *variables, sys.version, platform.machine(), *installed]
    return "\n".join(facts)


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


@contextmanager
def _new_folder(place: Path) -> Iterator[Path]:
    """A folder to fill that becomes `place` only if all went well."""
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        yield made
        shutil.rmtree(place, ignore_errors=True)  # of a build that was cut short
        made.rename(place)
    except OSError:
        # Another check has built the same in the meantime.
        if not (place / "blockmark_impls").is_dir():
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
