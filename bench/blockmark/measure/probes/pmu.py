"""The processor's own counters, around the replay alone, in user space alone.

Small groups, so that a numerator and its denominator are always counted together; and
one pass over the load for each group, so that no two groups have to share counters. Going
in and out of a region is a system call: its few instructions before and behind the kernel
are counted too, which whole periods of thousands of operations do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .perf_reasons import PARANOID, Rights, ask, reason_of, value_of

if TYPE_CHECKING:
    from .timing import Cursor

Code = tuple[int, int]
Group = dict[str, Code]

# linux/perf_event.h
_HARDWARE, _HW_CACHE = 0, 3
_CYCLES, _INSTRUCTIONS, _CACHE_REFERENCES, _CACHE_MISSES, _BRANCHES, _BRANCH_MISSES = range(6)
_L1D, _LL = 0, 2
_MISS = 1 << 16

# What a counter is checked with: a loop of known size, and a walk that no first or second
# level holds; for the last level a longer one.
_LOOP = 1_000_000
_WALK, _LARGEST_WALK = 16 << 20, 128 << 20
# What the loop takes at the least: it has as many instructions and loads as iterations,
# and no core retires ten of these instructions a cycle.
_FLOORS = {"instructions": _LOOP, "cycles": _LOOP // 10, "l1d_loads": _LOOP // 2}


class Events(Protocol):
    """Counters of this thread: what `_native.PerfEvents` is."""

    def enter(self) -> None: ...
    def leave(self) -> None: ...
    def errors(self) -> list[list[int]]: ...
    def read(self) -> list[list[tuple[int, int, int] | None]]: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...


# (groups of (type, config), exclude_kernel) -> counters that are open and stand still.
Opener = Callable[[Sequence[Sequence[Code]], bool], Events]


@dataclass(frozen=True, slots=True)
class Availability:
    """Which events count here.

    `ok` if instructions or cycles do; else `reason` says why not, in one line. `events`
    are those that count, `unavailable` maps the others to their reasons. `kernel_refused`
    says whether the kernel refuses to count its own share too.
    """

    ok: bool
    reason: str
    events: tuple[str, ...]
    unavailable: Mapping[str, str]
    kernel_refused: bool = False


def event_groups(vendor: str) -> tuple[Group, ...]:
    """Event name -> (type, config), in groups. `vendor` is as /proc/cpuinfo has it.

    AMD's cores have no event for the last level, and what the kernel calls cache
    references and misses are those of the second level there.
    """
    groups: list[Group] = [
        {"instructions": (_HARDWARE, _INSTRUCTIONS), "cycles": (_HARDWARE, _CYCLES)},
        {"branches": (_HARDWARE, _BRANCHES), "branch_misses": (_HARDWARE, _BRANCH_MISSES)},
        {"l1d_loads": (_HW_CACHE, _L1D), "l1d_misses": (_HW_CACHE, _L1D | _MISS)},
    ]
    if vendor in ("AuthenticAMD", "HygonGenuine"):
        groups.append(
            {
                "l2_loads": (_HARDWARE, _CACHE_REFERENCES),
                "l2_misses": (_HARDWARE, _CACHE_MISSES),
            }
        )
    else:
        groups.append({"ll_loads": (_HW_CACHE, _LL), "ll_misses": (_HW_CACHE, _LL | _MISS)})
    return tuple(groups)


def probe() -> Availability:
    """Open every event in this process and see whether a known loop is counted."""
    try:
        from blockmark_impls import _native
    except ImportError:
        return Availability(False, "reading them needs the C++ core, which is not built", (), {})
    from ..machine import cache_sizes

    last_level = cache_sizes().get("l3", 0)
    long_walk = min(max(2 * last_level, _WALK), _LARGEST_WALK)

    def exercise(group: Group) -> None:
        _native.count_loop(_LOOP)
        _native.probe_latency_ns(long_walk if "ll_misses" in group else _WALK)

    # A last level that may hold the whole walk shows no miss, and is right.
    exempt = () if last_level and long_walk >= 2 * last_level else ("ll_misses",)
    groups = event_groups(processor_vendor())
    return survey(groups, _native.PerfEvents, exercise, process_rights(), exempt)


def survey(
    groups: Sequence[Group],
    open_events: Opener,
    exercise: Callable[[Group], object],
    rights: Rights,
    exempt: Sequence[str] = (),
) -> Availability:
    """What `probe` finds, with its hands given: `exercise` must move every event but
    those in `exempt`, and instructions, cycles and loads by known numbers.
    """
    unavailable: dict[str, str] = {}
    kernel_refused = False
    for group in groups:
        codes = list(group.values())
        counters = open_events([codes], True)
        errors = counters.errors()[0]
        for name, code, error in zip(group, codes, errors, strict=True):
            if error:
                answer = ask(_alone(open_events, code))
                kernel_refused |= answer.kernel_refused
                # One that opens alone but not beside its partner is of no use here.
                unavailable[name] = reason_of(answer.code or error, rights)
        if any(error == 0 for error in errors):
            counters.reset()
            counters.enter()
            exercise(group)
            counters.leave()
            for name, reading in zip(group, counters.read()[0], strict=True):
                if name not in unavailable and (fault := _fault(name, reading, exempt)):
                    unavailable[name] = fault
        counters.close()
    events = tuple(name for group in groups for name in group if name not in unavailable)
    ok = "instructions" in events or "cycles" in events
    reason = "" if ok else unavailable["instructions"]
    return Availability(ok, reason, events, unavailable, kernel_refused)


def _alone(open_events: Opener, code: Code) -> Callable[[bool], int]:
    def open_event(exclude_kernel: bool) -> int:
        counters = open_events([[code]], exclude_kernel)
        error = counters.errors()[0][0]
        counters.close()
        return error

    return open_event


def _fault(name: str, reading: tuple[int, int, int] | None, exempt: Sequence[str]) -> str:
    """What is wrong with what an event counted of the exercise; empty if nothing is."""
    value = value_of(reading)
    if isinstance(value, str):
        return value
    if value == 0:
        return "" if name in exempt else "opens but stays at 0"
    floor = _FLOORS.get(name, 0)
    return f"counted {value:,.0f} where {floor:,} were due" if value < floor else ""


class Pmu:
    """The counters of one measured process. Opened in the thread that replays."""

    def __init__(
        self, wanted: Mapping[str, str], groups: Sequence[Group], open_events: Opener
    ) -> None:
        """`wanted` maps events to the reason why they are not to be read, empty for those
        that are; others are left out.
        """
        self._known = {name: reason for name, reason in wanted.items() if reason}
        self._groups: list[tuple[list[str], Events]] = []
        for group in groups:
            names = [name for name in group if wanted.get(name) == ""]
            if names:
                counters = open_events([[group[name] for name in names]], True)
                self._groups.append((names, counters))

    @classmethod
    def here(cls, wanted: Mapping[str, str]) -> Pmu:
        """Those of this processor. Raises ImportError without the core."""
        from blockmark_impls import _native

        return cls(wanted, event_groups(processor_vendor()), _native.PerfEvents)

    def count(self, cursor: Cursor, steps: int, phase: int) -> dict[str, float | str]:
        """Event -> its count in the steps of `phase`, or the reason why there is none.

        The next `steps` steps are replayed once for every group, from where the last left
        off; whole periods do the same operations each time.
        """
        found: dict[str, float | str] = dict(self._known)
        for names, counters in self._groups:
            region: Any = counters
            counters.reset()
            cursor.replay.run_within(cursor.advance(steps), steps, phase, region)
            for name, reading in zip(names, counters.read()[0], strict=True):
                found[name] = value_of(reading)
        return found


def process_rights() -> Rights:
    """What the kernel grants this process."""
    return Rights.parse(_read(PARANOID), _read("/proc/self/status"), _read("/proc/cpuinfo"))


def processor_vendor() -> str:
    """The processor's maker as /proc/cpuinfo names it; empty where it does not."""
    return vendor_in(_read("/proc/cpuinfo"))


def vendor_in(cpuinfo: str) -> str:
    """The maker in the text of /proc/cpuinfo."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "vendor_id":
            return value.strip()
    return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
