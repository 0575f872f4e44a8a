"""What this machine can measure, why not the rest, and the smallest change it shows."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import get_clock_info, perf_counter_ns
from typing import TYPE_CHECKING

from blockmark.measure.inside.conditions import ConditionError, make_evictor
from blockmark.measure.machine import build_facts, cache_sizes, machine_facts, memory_limit
from blockmark.measure.probes.callgrind import Geometry, Valgrind, find_valgrind
from blockmark.measure.probes.perf_reasons import PARANOID, Rights
from blockmark.measure.probes.pmu import Availability, process_rights
from blockmark.measure.probes.pmu import probe as probe_pmu
from blockmark.measure.probes.software import SoftwareCounts
from blockmark.measure.run.plan import make_plan
from blockmark.measure.run.session import start
from blockmark.verdict.stats import ratio_of_quartiles
from blockmark.workload.builtin import find_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from blockmark.measure.run.runner import Progress

_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, whether it is there, and in what words.

    `ok` is None for what is there and disturbs.
    """

    name: str
    ok: bool | None
    text: str

    @property
    def state(self) -> str:
        """`yes`, `no`, or `busy`."""
        return {True: "yes", False: "no", None: "busy"}[self.ok]


def examine() -> Iterator[Finding]:
    """Everything but the noise, which takes seconds: see `smallest_change`."""
    facts, build, caches = machine_facts(), build_facts(), cache_sizes()
    virtual = {"yes": "virtual machine", "no": "no hypervisor"}.get(facts["virtual"], "")
    yield Finding(
        "machine", True, f"{facts['cpu_model']}, {facts['cores']} cores, {virtual}".rstrip(", ")
    )
    if build["native"]:
        yield Finding("C++ core", True, f"{build['compiler']}, {build['flags']}")
    else:
        yield Finding("C++ core", False, build["reason"])
    yield _clock()
    load, cores = facts["load_before"], facts["cores"]
    busy = "" if load < 0.5 * cores else ": if it goes on, expect wide ranges"
    yield Finding("load average", None if busy else True, f"{load} on {cores} cores{busy}")
    yield _allocations(native=build["native"])
    for condition in ("l2-cold", "llc-cold"):
        try:
            _, proof = make_evictor(condition, 0, caches)
            yield Finding(f"cache = {condition}", True, proof)
        except ConditionError as error:
            yield Finding(f"cache = {condition}", False, str(error))
    yield _hardware_counters(probe_pmu(), process_rights())
    yield _simulated_counters(find_valgrind())
    yield _software_counts()
    yield Finding("memory", True, f"a process may take {memory_limit() / 2**30:.1f} GiB")


def _clock() -> Finding:
    readings = [perf_counter_ns() for _ in range(2000)]
    cost = min(b - a for a, b in pairwise(readings) if b > a)
    info = get_clock_info("perf_counter")
    return Finding("clock", info.monotonic, f"{info.implementation}; a reading takes {cost} ns")


def _allocations(*, native: bool) -> Finding:
    name = "heap allocations"
    if not native:
        return Finding(name, False, "counting needs the C++ core")
    from blockmark_impls import _native

    if not _native.allocation_counter_ok:
        return Finding(name, False, "operator new of this process is not the core's own")
    return Finding(name, True, "operator new in the core, Python's allocator by a hook")


def _hardware_counters(found: Availability, rights: Rights) -> Finding:
    name = "hardware counters"
    if not found.ok:
        asked = ""
        if found.kernel_refused:
            asked = f"; with the kernel's share it is refused ({PARANOID} is {rights.level})"
        return Finding(name, False, f"{found.reason}{asked}")
    missing = "".join(f"; no {event}: {why}" for event, why in found.unavailable.items())
    return Finding(name, True, f"{', '.join(found.events)}{missing}")


def _simulated_counters(found: Valgrind | str) -> Finding:
    name = "simulated counters"
    if isinstance(found, str):
        return Finding(name, False, found)
    shapes = Geometry()
    return Finding(
        name,
        True,
        f"valgrind {found.version}; caches unless --cache says otherwise: "
        f"l1 {shapes.d1}, ll {shapes.ll} (bytes, ways, line)",
    )


def _software_counts() -> Finding:
    now = SoftwareCounts.now()
    unknown = [name for name, count in now.since(now).items() if isinstance(count, str)]
    missing = "".join(f"; no {name}" for name in unknown)
    counted = "page faults, context switches, migrations, CPU time"
    return Finding("software counts", True, f"{counted}{missing}")


def smallest_change(progress: Progress) -> Finding:
    """One implementation against itself, interleaved: how far apart do equals look?"""
    native = build_facts()["native"]
    target = "flat-stack/cpp" if native else "vector/py"
    scenario = find_scenario("decode").override({"block_size": [16], "models": [("step",)]})
    plan = make_plan(
        [scenario],
        [f"first={target}", f"second={target}"],
        command="blockmark doctor",
        rounds=_ROUNDS,
    )
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        run = start(plan, Path(folder), progress).run
    costs = [cell.metrics.get("step_ns") for cell in run.cells]
    if any(cost is None or cost.value is None for cost in costs):
        reason = next((cell.reason for cell in run.cells if cell.reason), "no value")
        return Finding("smallest change", False, f"not measured: {reason}")
    first, second = (cost.values for cost in costs if cost is not None)
    ratio = ratio_of_quartiles(second, first)
    if ratio.low is None or ratio.high is None:
        return Finding("smallest change", False, "not measured: too few rounds")
    apart = max(ratio.high - 1.0, 1.0 - ratio.low)
    return Finding(
        "smallest change",
        True,
        f"step_ns of {target} against itself, {_ROUNDS} rounds a side: differences below "
        f"{max(apart, 0.001):.1%} can't be told from noise here",
    )
