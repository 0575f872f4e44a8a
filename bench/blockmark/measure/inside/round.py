"""One round of one implementation in one cell: every model, in this process."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from ..probes.free_blocks import free_block_counts
from ..probes.histograms import new_histogram
from ..probes.memory import contiguity, peak_rss_bytes, structure_bytes
from ..probes.software import SoftwareCounts
from ..probes.timing import (
    Cost,
    Cursor,
    measure_cold,
    measure_costs,
    measure_latency,
    warm_up,
)
from ..process.reading import Reading, Readings
from ..replay import MissingOperationsError, bind
from .allocation_count import steady_allocations
from .conditions import ConditionError, make_evictor, set_collector
from .sampled import wrong_answer
from .setup import SubjectSetup, is_live

if TYPE_CHECKING:
    from collections.abc import Mapping

    from blockmark.workload.program import Program
    from blockmark_impls.registry import Implementation

    from ..probes.pmu import Pmu
    from ..process.task import RoundTask, TimedProgram
    from ..replay import Evictor, Replay

# With a cold cache a sample is one step, so only models whose steps mean something
# on their own are measured.
_COLD_MODELS = ("step", "pack", "lookup")


class RoundOf(SubjectSetup):
    """The implementation, its conditions, and the readings as they come in."""

    def __init__(self, impl: Implementation, task: RoundTask) -> None:
        super().__init__(impl, task.cell)
        # Live on average: what a step's cost is shared by.
        self.sequences = task.sequences
        self.software_counters = task.software_counters
        self.pmu = _counters_of(task.pmu)
        self.programs = task.cell.programs
        self.budget = task.budget
        self.readings: Readings = {}
        self.evictor: Evictor | None = None
        self.cold_reason = ""
        if self.params["cache"] != "hot":
            try:
                cache, size = self.params["cache"], self.params["cache_bytes"]
                self.evictor, self.cold_reason = make_evictor(cache, size, task.caches)
            except ConditionError as error:
                self.cold_reason = str(error)
        set_collector(self.params["gc"])

    def unavailable(self, names: list[str], reason: str) -> None:
        """Say why metrics have no number."""
        self.readings |= dict.fromkeys(names, Reading.missing(reason))

    def measure(self, model: str, timed: TimedProgram) -> None:
        """Measure one Program of a model."""
        program, names, pool = timed.load(), timed.metrics, timed.pool_only
        found = self.made_ready(model, program, timed.names, pool=pool)
        if found is None:
            return
        target, replay = found
        if pool and self.impl.kind != "control":
            # Counted on a pool of its own: asking moves the cursors of some.
            other = self.pool()
            bind(other, program, self.call_style).setup()
            self.readings |= free_block_counts(other, names, self.params, program)
        cursor = Cursor(replay, program)
        if model == "step":
            self._measure_step(target, cursor, names)
        elif self.evictor is not None:
            costs = measure_cold(cursor, self.budget, self.evictor, new_histogram())
            self._keep(costs, names)
            self._count(cursor, names, costs)
        else:
            budget = self.budget
            costs = measure_costs(cursor, budget.blocks, budget.block_ns, budget.least_blocks)
            self._keep(costs, names)
            self._count(cursor, names, costs)
        if not pool:
            self.free_all(target)

    def made_ready(
        self, model: str, program: Program, wanted: list[str], *, pool: bool
    ) -> tuple[Any, Replay] | None:
        """The target and its replay, set up; None where `readings` say why there is none."""
        if self.params["cache"] != "hot" and (self.evictor is None or model not in _COLD_MODELS):
            reason = (
                self.cold_reason
                if self.evictor is None
                else (f"cache = {self.params['cache']} is measured for {', '.join(_COLD_MODELS)}")
            )
            self.unavailable(wanted, reason)
            return None
        if pool:
            target = self.pool()
            if target is None:
                self.unavailable(wanted, "the implementation has no pool of its own")
                return None
        try:
            if not pool:
                target = self.manager_of_load() if model == "step" else self.manager()
            replay = bind(target, program, self.call_style)
        except MissingOperationsError as missing:
            # A control that has no such operation has no such floor; nothing is missed.
            if self.impl.kind != "control":
                reason = str(missing)
                if "can_allocate_ns" in wanted:
                    reason += "; a step looks at num_free_blocks instead"
                self.unavailable(wanted, reason)
            return None
        replay.setup()
        return target, replay

    def _measure_step(self, manager: Any, cursor: Cursor, names: Mapping[int, str]) -> None:
        control = self.impl.kind == "control"
        if not control:
            if cursor.program.probe:
                cursor.run(cursor.program.probe)
            live = [seq for seq in range(self.config.max_seqs) if is_live(manager, seq)]
            tables = [manager.block_table(seq) for seq in live]
            if self.not_conditioned:
                # Not what the cell says of the pool: no proof of it, but the reason.
                self.unavailable(["pool_run_length", "move_descriptors"], self.not_conditioned)
            elif any(tables):
                run_length, descriptors = contiguity(tables)
                self.readings["pool_run_length"] = Reading(run_length)
                self.readings["move_descriptors"] = Reading(descriptors)
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
            self._keep_found(SoftwareCounts.now().since(before))
        self._keep(costs, names)
        step = costs[1]
        sequences = self.sequences
        each = Reading(step.least / sequences, step.mean / sequences)
        self.readings["step_per_sequence_ns"] = each
        self.readings["step_latency_ns"] = Reading.spread(histogram)
        self._keep_found({"heap_allocations_per_step": steady_allocations(cursor)})
        if not control:
            self._keep_found(structure_bytes(manager))
        peak = peak_rss_bytes() or "the system does not tell it (no VmHWM)"
        self._keep_found({"peak_rss_bytes": peak})
        self._count(cursor, names, costs)

    def _keep(self, costs: dict[int, Cost], names: Mapping[int, str]) -> None:
        for phase, name in names.items():
            self.readings[name] = Reading(costs[phase].least, costs[phase].mean)

    def _keep_found(self, found: Mapping[str, float | str]) -> None:
        self.readings |= {name: Reading.of(one) for name, one in found.items()}

    def _count(self, cursor: Cursor, names: Mapping[int, str], costs: dict[int, Cost]) -> None:
        """The processor's counters of the same operations, after their times."""
        if self.pmu is None:
            return
        from .counter_pass import count_operations, not_counted

        if self.evictor is not None:
            # Evicting between steps would itself be most of what is counted.
            self.readings |= not_counted(names, "counters are read with cache = hot only")
        else:
            self.readings |= count_operations(self.pmu, cursor, names, costs)


def _counters_of(wanted: Mapping[str, str]) -> Pmu | None:
    # A process that reads none imports nothing for it.
    if not wanted:
        return None
    from ..probes.pmu import Pmu

    return Pmu.here(wanted)


def measure_round(impl: Implementation, task: RoundTask) -> dict[str, Any]:
    """A round's result: `metrics`, name -> what was found: a value and a mean, a histogram, or
    a reason; or that what was timed does not answer as it did while it was proved.

    The models run in a seeded order, so that no one of them always meets what another
    left in the caches; `step` is first, as its memory figures need a young process.
    """
    round_of = RoundOf(impl, task)
    programs = round_of.programs
    models = [model for model in programs if model != "step"]
    random.Random(task.cell.seed).shuffle(models)
    for model in ["step", *models]:
        if model == "rate":
            if "step" in impl.models:
                from .rate import measure_rate

                round_of.readings |= measure_rate(round_of, programs[model])
            continue
        for timed in programs.get(model, []) if model in impl.models else ():
            round_of.measure(model, timed)
        if model in impl.models and impl.kind != "control":
            for name, reason in task.refused.get(model, {}).items():
                round_of.unavailable([name], reason)
    if reason := wrong_answer(round_of, programs):
        return {"status": "wrong", "reason": reason}
    found = round_of.readings
    return {"status": "ok", "metrics": {name: one.as_json() for name, one in found.items()}}
