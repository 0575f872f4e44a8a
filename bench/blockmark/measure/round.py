"""One round of one implementation in one cell: every model, in this process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.program import Program

from .conditions import ConditionError, age_heaps, make_evictor, set_collector
from .probes.memory import contiguity, peak_rss_bytes, structure_bytes
from .probes.software import SoftwareCounts
from .probes.timing import (
    Budget,
    Cost,
    Cursor,
    measure_cold,
    measure_costs,
    measure_latency,
    warm_up,
)
from .replay import MissingOperationsError, PythonReplay, bind

if TYPE_CHECKING:
    from blockmark_impls.contract import PoolConfig
    from blockmark_impls.registry import Implementation

    from .replay import Evictor

Raw = dict[str, dict[str, Any]]

# With a cold cache a sample is one step, so only models whose steps mean something
# on their own are measured.
_COLD_MODELS = ("step", "pack", "lookup")


class RoundOf:
    """The implementation, its conditions, and the metrics as they come in."""

    def __init__(self, impl: Implementation, config: PoolConfig, job: dict[str, Any]) -> None:
        self.impl = impl
        self.config = config
        self.params = job["params"]
        self.call_style: str = job["call_style"]
        # Live on average: what a step's cost is shared by.
        self.sequences: float = job["sequences"]
        self.software_counters: bool = job["software_counters"]
        self.budget = Budget(**job["budget"])
        self.condition = Program.load(Path(job["condition"]))
        self.metrics: Raw = {}
        self._manager: Any = None
        self._ages = job["seed"], impl.tier == "cpp" or _core_is_built()
        self._kept: list[Any] = []  # what makes the heap old
        self.evictor: Evictor | None = None
        self.cold_reason = ""
        if self.params["cache"] != "hot":
            try:
                cache, size = self.params["cache"], self.params["cache_bytes"]
                self.evictor, self.cold_reason = make_evictor(cache, size, job["caches"])
            except ConditionError as error:
                self.cold_reason = str(error)
        set_collector(self.params["gc"])

    def manager(self) -> Any:
        """A manager whose free ids are in the cell's order.

        Conditioned once a process: what a model leaves behind stays scrambled. A fresh
        pool is a new manager each time, since any use would end its freshness; so is a
        control, which has no tables to be emptied.
        """
        control = self.impl.kind == "control"
        fresh = self.params["pool"] == "fresh"
        if self._manager is None or control or fresh:
            self._manager = self.impl.make_manager(self.config)
            # Made when the process was young, as in an engine; the tables come later.
            if self.params["heap"] == "aged" and (not self._kept or (fresh and not control)):
                seed, native = self._ages
                self._kept += age_heaps(seed, native=native)
            if self.condition.num_operations and not control:
                bind(self._manager, self.condition, self.call_style).setup()
        return self._manager

    def unavailable(self, names: list[str], reason: str) -> None:
        """Say why metrics have no number."""
        for name in names:
            self.metrics[name] = {"unavailable": reason}

    def measure(self, model: str, program: Program, names: dict[int, str], *, pool: bool) -> None:
        """Measure one Program of a model."""
        wanted = list(names.values())
        if self.params["cache"] != "hot" and (self.evictor is None or model not in _COLD_MODELS):
            reason = (
                self.cold_reason
                if self.evictor is None
                else (f"cache = {self.params['cache']} is measured for {', '.join(_COLD_MODELS)}")
            )
            self.unavailable(wanted, reason)
            return
        if pool:
            target = self.impl.make_pool(self.config.total_blocks, self.config.id_bits)
            if target is None:
                self.unavailable(wanted, "the implementation has no pool of its own")
                return
        else:
            target = self.manager()
        try:
            replay = bind(target, program, self.call_style)
        except MissingOperationsError as missing:
            # A control that has no such operation has no such floor; nothing is missed.
            if self.impl.kind != "control":
                self.unavailable(wanted, str(missing))
            return
        replay.setup()
        cursor = Cursor(replay, program)
        if model == "step":
            self._measure_step(target, cursor, names)
        elif self.evictor is not None:
            costs = measure_cold(cursor, self.budget, self.evictor, new_histogram())
            self._keep(costs, names)
        else:
            budget = self.budget
            costs = measure_costs(cursor, budget.blocks, budget.block_ns, budget.least_blocks)
            self._keep(costs, names)
        if not pool:
            self._free_all(target)

    def _measure_step(self, manager: Any, cursor: Cursor, names: dict[int, str]) -> None:
        control = self.impl.kind == "control"
        if not control:
            if cursor.program.probe:
                cursor.run(cursor.program.probe)
            live = [seq for seq in range(self.config.max_seqs) if _is_live(manager, seq)]
            tables = [manager.block_table(seq) for seq in live]
            if any(tables):
                run_length, descriptors = contiguity(tables)
                self._put("pool_run_length", run_length)
                self._put("move_descriptors", descriptors)
        budget = self.budget
        warm_up(cursor, budget.warm_up_ns)
        before = SoftwareCounts.now()
        histogram = new_histogram()
        if self.evictor is None:
            costs = measure_costs(
                cursor, budget.step_blocks, budget.step_block_ns, budget.least_blocks
            )
            measure_latency(cursor, budget, costs[1].least, histogram)
        else:
            costs = measure_cold(cursor, budget, self.evictor, histogram)
        if self.software_counters:
            for name, value in SoftwareCounts.now().since(before).items():
                self._put(name, value)
        self._keep(costs, names)
        step = costs[1]
        sequences = self.sequences
        self.metrics["step_per_sequence_ns"] = {
            "value": step.least / sequences,
            "mean": step.mean / sequences,
        }
        self.metrics["step_latency_ns"] = {
            "histogram": {
                "counts": histogram.counts(),
                "max": histogram.max_value,
                "samples": histogram.samples,
            }
        }
        self._count_allocations(cursor)
        if not control:
            for name, found in structure_bytes(manager).items():
                if isinstance(found, str):
                    self.unavailable([name], found)
                else:
                    self._put(name, found)
        if (peak := peak_rss_bytes()) is None:
            self.unavailable(["peak_rss_bytes"], "the system does not tell it (no VmHWM)")
        else:
            self._put("peak_rss_bytes", peak)

    def _count_allocations(self, cursor: Cursor) -> None:
        name = "heap_allocations_per_step"
        if not _core_is_built():
            self.unavailable([name], "counting needs the C++ core, which is not built")
            return
        from blockmark_impls import _native

        if not isinstance(cursor.replay, PythonReplay) and not _native.allocation_counter_ok:
            self.unavailable([name], "operator new of this process is not the core's own")
            return
        period = cursor.program.period
        steps = period * max(1, 64 // period)
        counted, _ = cursor.replay.allocations(cursor.advance(steps), steps)
        # Steps off the clock are no steps of the load.
        self._put(name, counted / (cursor.program.units[1] * steps / period))

    def _keep(self, costs: dict[int, Cost], names: dict[int, str]) -> None:
        for phase, name in names.items():
            self.metrics[name] = {"value": costs[phase].least, "mean": costs[phase].mean}

    def _put(self, name: str, value: float) -> None:
        self.metrics[name] = {"value": value}

    def _free_all(self, manager: Any) -> None:
        """Leave the manager empty for the next model. Where a body stands does not matter."""
        if self.impl.kind == "control":
            return
        for seq in range(self.config.max_seqs):
            if _is_live(manager, seq):
                manager.free(seq)


def _is_live(manager: Any, seq: int) -> bool:
    from blockmark_impls.contract import UnknownSequence

    try:
        manager.block_table(seq)
    except UnknownSequence:
        return False
    return True


def _core_is_built() -> bool:
    from importlib.util import find_spec

    return find_spec("blockmark_impls._native") is not None


def new_histogram() -> Any:
    """The core's histogram, or the same in Python where the core is not built."""
    if _core_is_built():
        from blockmark_impls import _native

        return _native.Histogram()
    from blockmark.runs.histogram import Histogram

    return Histogram()


def measure_round(impl: Implementation, config: PoolConfig, job: dict[str, Any]) -> Raw:
    """Metric name -> what this round found: a value and a mean, a histogram, or a reason.

    The models run in a seeded order, so that no one of them always meets what another
    left in the caches; `step` is first, as its memory figures need a young process.
    """
    round_of = RoundOf(impl, config, job)
    models = [model for model in job["programs"] if model != "step"]
    random.Random(job["seed"]).shuffle(models)
    for model in ["step", *models]:
        for entry in job["programs"].get(model, []):
            names = {int(phase): name for phase, name in entry["metrics"].items()}
            if model not in impl.models:
                continue
            program = Program.load(Path(entry["path"]))
            round_of.measure(model, program, names, pool=entry["pool_only"])
    return round_of.metrics
