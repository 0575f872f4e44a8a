"""Cache simulation by valgrind's callgrind: its caches, whether it is here, how to start it.

Nothing here starts a measurement; `callgrind_dumps.py` reads what one wrote.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark.workload.errors import ConfigError

from ..tool_output import ask_tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# A vector register of today's x86 must fit into a line, or callgrind stops.
_LEAST_LINE, _MOST_LINE = 32, 1024
_MOST_SIZE = 1 << 30
# The first that reads the debug information (DWARF 5) which GCC 11 and clang 14 write.
OLDEST = (3, 18)
_PATIENCE_S = 10.0
_INSTALL = "install it (Debian, Ubuntu: `apt install valgrind`)"
_THEN_BUILD = "then install blockmark again, since its C++ core needs valgrind's header"


@dataclass(frozen=True, slots=True)
class CacheShape:
    """One cache: bytes, ways (1 is direct-mapped), and bytes in a line."""

    size: int
    ways: int
    line: int

    def __str__(self) -> str:
        """As valgrind takes it: `32768,8,64`."""
        return f"{self.size},{self.ways},{self.line}"


@dataclass(frozen=True, slots=True)
class Geometry:
    """The simulated caches: instructions, data, and the last level, which both share.

    The default is a common server core: 32 KiB with 8 ways for each (Zen 2 to Zen 4,
    Skylake), and the 32 MiB with 16 ways that eight cores of a Zen 3 share, all to itself.
    """

    i1: CacheShape = CacheShape(32768, 8, 64)
    d1: CacheShape = CacheShape(32768, 8, 64)
    ll: CacheShape = CacheShape(33554432, 16, 64)


def parse_geometry(texts: Sequence[str]) -> Geometry:
    """The caches that `NAME=SIZE,WAYS,LINE` texts describe; the others as by default.

    A name is `i1`, `d1`, `ll`, or `l1` for both of the first. Sizes are bytes. Raises
    ConfigError, naming the text and the mend, for a cache that can't be simulated.
    """
    shapes: dict[str, CacheShape] = {}
    origin: dict[str, str] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        names = {"l1": ("i1", "d1"), "i1": ("i1",), "d1": ("d1",), "ll": ("ll",)}.get(name.strip())
        if names is None or not equals:
            raise ConfigError(
                f"--cache {text}: must be NAME=SIZE,WAYS,LINE with the name l1, d1, i1 or ll, "
                "such as l1=32768,8,64"
            )
        for each in names:
            if each in shapes:
                raise ConfigError(
                    f"--cache {text}: {each} is already given by {origin[each]}; give it once"
                )
            shapes[each], origin[each] = _parse_shape(text, rest), text
    geometry = Geometry(**shapes)
    for level, upper in (("d1", geometry.d1), ("i1", geometry.i1)):
        for what in ("line", "size"):
            last, first = getattr(geometry.ll, what), getattr(upper, what)
            if last < first:
                text = origin.get("ll") or origin[level]
                raise ConfigError(
                    f"--cache {text}: the {what} of ll ({last:,} bytes) is below that of {level} "
                    f"({first:,} bytes); the last level must hold what the first does"
                )
    return geometry


def _parse_shape(text: str, rest: str) -> CacheShape:
    match = re.fullmatch(r"\s*(\d{1,12})\s*,\s*(\d{1,12})\s*,\s*(\d{1,12})\s*", rest, re.ASCII)
    if match is None:
        raise ConfigError(
            f"--cache {text}: must have three whole numbers after =: the size in bytes, the ways "
            "and the bytes of a line, such as 32768,8,64"
        )
    size, ways, line = (int(number) for number in match.groups())
    if line & (line - 1) or not _LEAST_LINE <= line <= _MOST_LINE:
        raise ConfigError(
            f"--cache {text}: a line of {line:,} bytes can't be simulated; it must be a power of "
            f"two from {_LEAST_LINE} to {_MOST_LINE:,}"
        )
    if ways < 1:
        raise ConfigError(f"--cache {text}: a cache has at least 1 way (and then is direct-mapped)")
    sets = size // (ways * line)
    if sets * ways * line != size or sets < 1 or sets & (sets - 1):
        near = ways * line * (1 << max(0, sets.bit_length() - 1))
        raise ConfigError(
            f"--cache {text}: size / (ways x line) must be a power of two; "
            f"with these ways and lines {near:,} or {2 * near:,} bytes would be"
        )
    if size <= line:
        raise ConfigError(f"--cache {text}: a cache must have more than one line")
    if size > _MOST_SIZE:
        raise ConfigError(f"--cache {text}: the size must be at most {_MOST_SIZE:,} bytes")
    return CacheShape(size, ways, line)


@dataclass(frozen=True, slots=True)
class Valgrind:
    """A valgrind that can be used: its path, and its version as it tells it (`3.19.0`)."""

    path: str
    version: str


def parse_version(text: str) -> tuple[int, ...] | None:
    """(3, 19, 0) from what `valgrind --version` prints, None if it isn't that."""
    match = re.match(r"valgrind-(\d+(?:\.\d+)+)", text.strip(), re.ASCII)
    return tuple(int(part) for part in match[1].split(".")) if match else None


def find_valgrind(timeout_s: float = _PATIENCE_S) -> Valgrind | str:
    """The valgrind on PATH, or in one line why caches can't be simulated and the mend.

    It must answer within `timeout_s` seconds, be new enough, and have been there when the
    C++ core was built.
    """
    path = shutil.which("valgrind")
    if path is None:
        return f"valgrind is not installed; {_INSTALL}, {_THEN_BUILD}"
    answer = _ask_version(path, timeout_s)
    if isinstance(answer, str):
        return f"{path} {answer}; {_INSTALL.replace('install', 'reinstall', 1)}"
    if answer[: len(OLDEST)] < OLDEST:
        return (
            f"valgrind {_dotted(answer)} is too old: before {_dotted(OLDEST)} it can't read the "
            "debug information that GCC 11 and later write; install a newer one"
        )
    try:
        from blockmark_impls import _native
    except ImportError:
        from blockmark_impls.registry import NATIVE_MISSING

        return NATIVE_MISSING
    if not _native.callgrind_header:
        return (
            "the C++ core was built without valgrind's header (valgrind/callgrind.h); install "
            "blockmark again now that valgrind is here (`pip install -e .` in a checkout)"
        )
    return Valgrind(path, _dotted(answer))


def _ask_version(path: str, timeout_s: float) -> tuple[int, ...] | str:
    """Its version, or the predicate of a sentence about what is wrong with it."""
    try:
        said = ask_tool([path, "--version"], timeout_s)
    except OSError as error:
        return f"can't be started ({error.strerror})"
    if said.late:
        return f"does not answer --version within {said.late}"
    out, code = said.out + said.err, said.code
    lines = out.split("\n")
    if code:
        how = f"is ended by signal {-code}" if code < 0 else f"ends with code {code}"
        return f"{how} when asked for its version" + (f" ({lines[0][:120]})" if lines[0] else "")
    return parse_version(out) or f'answers --version with "{lines[0][:120]}"'


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def callgrind_command(
    valgrind: Valgrind,
    geometry: Geometry,
    out: Path,
    module: str,
    options: Sequence[str] = (),
    start: Sequence[str] | None = None,
) -> list[str]:
    """The command that runs a module of this interpreter under callgrind.

    Nothing is collected until the module's own requests. Every dump goes to `out` with a
    number after it. `options` are further options of callgrind; `start` replaces how the
    module is started.
    """
    return [
        valgrind.path,
        "--tool=callgrind",
        "--quiet",
        "--vgdb=no",  # it would leave a pipe in the folder for temporary files
        # Else a load whose value is overwritten before it is used is optimised away, and not
        # counted: measured on the empty loop, which had half of its loads.
        "--px-default=allregs-at-mem-access",
        "--px-file-backed=allregs-at-mem-access",
        "--cache-sim=yes",
        "--branch-sim=yes",
        f"--I1={geometry.i1}",
        f"--D1={geometry.d1}",
        f"--LL={geometry.ll}",
        "--collect-atstart=no",
        "--instr-atstart=no",
        "--combine-dumps=no",
        f"--callgrind-out-file={out}",
        *options,
        *(start or (sys.executable, "-P", "-m", module)),
    ]


_KEPT = ("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH", "TMPDIR")


def callgrind_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a simulated process: only what it needs, and always the same.

    Its size moves the stack, and with it which lines share a cache set.
    """
    return {
        **{name: environment[name] for name in _KEPT if name in environment},
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


# More than what is kept of any environment with sense; the rest is filled up.
_STACK_TOP = 32_768


def of_fixed_size(environment: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
    """The environment with a last variable that makes it and the command of one size.

    Both lie at the top of the stack, with a pointer to each of their texts. So a folder with
    a longer name does not move the stack of what is counted.
    """
    filled = {**environment, "BLOCKMARK_FILL": ""}
    texts = [*command, *(f"{name}={value}" for name, value in filled.items())]
    size = sum(len(os.fsencode(text)) + 1 + 8 for text in texts)
    # The kernel keeps the program's path once more, above all of these.
    size += len(os.fsencode(command[0])) + 1
    return {**filled, "BLOCKMARK_FILL": "x" * max(0, _STACK_TOP - size)}
