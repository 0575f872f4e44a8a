"""Which tool profiles: callgrind, perf, or the sampler for loops in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark.workload.errors import ConfigError

from ..probes.callgrind import Geometry, Valgrind, find_valgrind, parse_geometry
from .perf_tool import Perf, find_perf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..run.plan import Pair

TOOLS = ("auto", "callgrind", "perf", "python")
DEFAULT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Tool:
    """What profiles: `by` is `callgrind`, `perf` or `python`; the rest is what that needs.

    `seconds` is how long samples are taken; callgrind counts a fixed number of steps.
    """

    by: str
    seconds: float
    valgrind: Valgrind | None = None
    geometry: Geometry | None = None
    perf: Perf | None = None


def choose(pair: Pair, by: str, cache: Sequence[str], seconds: float | None) -> Tool:
    """The tool for one implementation in one cell.

    `auto` takes callgrind for a loop in C++, perf where there is no callgrind, and the
    sampler for a loop in Python. Raises ConfigError, naming the mend, for a tool that is
    not here, that can't see this loop, or that an option does not fit.
    """
    if by not in TOOLS:
        raise ConfigError(f"--by {by}: there are {', '.join(TOOLS)}")
    name, native = pair.subject.name, pair.call_style == "native"
    if by == "python" and native:
        raise ConfigError(
            f"--by python: {name} loops in C++, where Python sees one call; use --by callgrind or "
            f"--by perf, or profile {name.partition('[')[0]}[call_style=per-op]"
        )
    geometry = parse_geometry(cache)
    chosen = by if by != "auto" else "callgrind" if native else "python"
    if cache and chosen != "callgrind":
        mend = "" if native else ", such as --by callgrind"
        raise ConfigError(f"--cache {cache[0]}: only callgrind simulates caches{mend}")
    if chosen == "python":
        return Tool("python", seconds or DEFAULT_SECONDS)
    missing = ""
    if chosen == "callgrind":
        found = find_valgrind()
        if isinstance(found, Valgrind):
            if seconds is not None:
                raise ConfigError(
                    "--seconds: callgrind counts the instructions of a fixed number of steps; "
                    "--seconds is for --by perf" + ("" if native else " and --by python")
                )
            return Tool("callgrind", 0.0, valgrind=found, geometry=geometry)
        if by == "callgrind" or cache:
            raise ConfigError(f"callgrind can't be used: {found}")
        missing = f"callgrind can't be used: {found}; nor can perf: "
    perf = find_perf()
    if isinstance(perf, Perf):
        return Tool("perf", seconds or DEFAULT_SECONDS, perf=perf)
    raise ConfigError(f"{missing or 'perf can not be used: '}{perf}")
