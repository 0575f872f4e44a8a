"""Where a run's counters come from: the processor, a simulation, or the kernel's books alone.

Decided once, before anything is measured, so that no two sources meet in one run, and kept
with the reasons why the better ones are not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from blockmark.workload.keys import ConfigError, nearest

from ..probes.callgrind import CacheShape, Geometry, find_valgrind, parse_geometry
from ..probes.pmu import probe as probe_pmu
from ..probes.pmu import process_rights

if TYPE_CHECKING:
    from ..probes.pmu import Availability

SOURCES = ("auto", "pmu", "callgrind", "software", "none")

Fact = str | int | float | bool


@dataclass(frozen=True, slots=True)
class CounterPlan:
    """What is counted in a run; plain JSON as a part of the plan.

    `asked` is one of `SOURCES`. `source` is what that came to: `pmu` or `callgrind`, each
    with the kernel's books beside it, `software` (these alone) or `none`. `facts` say what
    the source is and why it is no better one. `geometry` are the caches of a simulation.
    `events` maps what a processor could count to the reason why it is not read, empty for
    what is; without a `pmu` it is empty.
    """

    asked: str = "software"
    source: str = "software"
    facts: Mapping[str, Fact] = field(default_factory=dict)
    geometry: Geometry | None = None
    events: Mapping[str, str] = field(default_factory=dict)

    @property
    def software(self) -> bool:
        """Whether the kernel's books are read."""
        return self.asked != "none"

    def run_facts(self) -> dict[str, Fact]:
        """The flat facts that the run file keeps."""
        return {"asked": self.asked, "source": self.source, **self.facts}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> CounterPlan:
        """What `asdict` made of a plan, read back. Raises KeyError, TypeError or
        AttributeError if it is not that.
        """
        geometry = None
        if (shapes := content["geometry"]) is not None:
            geometry = Geometry(**{name: CacheShape(**shape) for name, shape in shapes.items()})
        return cls(
            content["asked"], content["source"], content["facts"], geometry, content["events"]
        )


def choose_counters(asked: str, cache: list[str]) -> CounterPlan:
    """The plan for `--counters ASKED` and the `--cache` options.

    Raises ConfigError for an unknown word, a source that this machine does not have, an
    impossible cache, and caches for a source that simulates none.
    """
    if asked not in SOURCES:
        raise ConfigError(
            f"--counters {asked}: there are {', '.join(SOURCES)}{nearest(asked, list(SOURCES))}"
        )
    geometry = parse_geometry(cache)
    if asked in ("software", "none"):
        _refuse_caches(cache, f"--counters {asked} simulates none; ask for --counters callgrind")
        return CounterPlan(asked, asked)
    facts: dict[str, Fact] = {}
    if asked in ("pmu", "auto"):
        found = probe_pmu()
        if found.ok:
            _refuse_caches(cache, "the processor's own are counted; ask for --counters callgrind")
            return _by_processor(asked, found)
        if asked == "pmu":
            raise ConfigError(f"--counters pmu: no hardware counters: {found.reason}; {_instead()}")
        facts["why_not_pmu"] = found.reason
        if (level := process_rights().level) is not None:
            facts["perf_event_paranoid"] = level
    valgrind = find_valgrind()
    if not isinstance(valgrind, str):
        shapes = {name: str(getattr(geometry, name)) for name in ("i1", "d1", "ll")}
        facts |= {"valgrind": valgrind.version, **shapes}
        return CounterPlan(asked, "callgrind", facts, geometry)
    if asked == "callgrind":
        raise ConfigError(f"--counters callgrind: {valgrind}")
    _refuse_caches(cache, f"nothing can be simulated here: {valgrind}")
    facts["why_not_callgrind"] = valgrind
    return CounterPlan(asked, "software", facts)


def _refuse_caches(cache: list[str], why: str) -> None:
    if cache:
        raise ConfigError(f"--cache {cache[0]} has no effect: {why}")


def _instead() -> str:
    """What works on this machine where its hardware counters do not."""
    valgrind = find_valgrind()
    if isinstance(valgrind, str):
        return f"--counters software works; to simulate the caches: {valgrind}"
    return "--counters callgrind simulates the caches, auto takes what there is"


def _by_processor(asked: str, found: Availability) -> CounterPlan:
    facts: dict[str, Fact] = {"events": ", ".join(found.events)}
    facts |= {f"why_not_{name}": reason for name, reason in found.unavailable.items()}
    events = {**dict.fromkeys(found.events, ""), **found.unavailable}
    return CounterPlan(asked, "pmu", facts, events=events)
