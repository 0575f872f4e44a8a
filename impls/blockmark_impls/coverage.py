"""Which code of a user's header ran: for a search that is guided by it, never beside a clock.

A process says at its beginning that it wants headers built so; what it resolves afterwards
is of such a build.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .build import build_header
from .entry import LoadError
from .offers import any_loaded, load_module

if TYPE_CHECKING:
    from types import ModuleType

_wanted = False


def build_with_coverage() -> None:
    """From here on this process builds headers that count which of their edges ran.

    Raises RuntimeError if it has loaded one that doesn't.
    """
    global _wanted
    if not _wanted and any_loaded():
        raise RuntimeError("a header was loaded before it was said that coverage is wanted")
    _wanted = True


def module_of(file: str) -> Path:
    """The module to load for a header, which is built, or for a module, which it is itself.

    Raises LoadError.
    """
    return Path(file) if file.endswith(".so") else build_header(Path(file), coverage=_wanted)


@dataclass(frozen=True, slots=True)
class NativeCoverage:
    """The edges between basic blocks of one header's code, of all its classes together.

    Edges are numbered by a hash, so two may have one number (1 in 65,536 for a pair). The
    numbers are the same in every process until the header is built again.
    """

    module: ModuleType

    def clear(self) -> None:
        """Forget what ran."""
        self.module.coverage_clear()

    def edges(self) -> frozenset[int]:
        """What ran since: each edge's number times 8, and how often in eight steps: once,
        twice, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127 times, or more.
        """
        return frozenset(memoryview(self.module.coverage_edges()).cast("I"))


def native_coverage(file: str) -> NativeCoverage:
    """The counts of a header's code in this process, after `build_with_coverage`.

    Raises LoadError, also for a module that was built without.
    """
    module = load_module(module_of(file))
    if not hasattr(module, "coverage_edges"):
        raise LoadError(f"{file} was built without coverage")
    return NativeCoverage(module)
