"""The measured side of a match in turns: plays when it is told to, and waits meanwhile.

What it is told and what it answers: `turns.py`. While it waits, it sits in a read.
"""

from __future__ import annotations

import json
import os
import random
import resource
from contextlib import suppress
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from blockmark.runs.histogram import bucket_value, quantile

from ..inside.round import RoundOf
from ..inside.sampled import wrong_answer
from ..probes.histograms import new_histogram
from ..probes.timing import Cursor, calibrate, warm_up
from ..process.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from blockmark_impls.registry import Implementation

    from ..process.task import RoundTask, Timed, TimedProgram


_TRYING_NS = 300_000_000


def play(
    impl: Implementation,
    task: RoundTask,
    lines_in: TextIO,
    answer: Callable[[dict[str, Any]], None],
) -> str:
    """Play until told to end, or until there is nobody to tell; what it answers wrongly by
    then, or nothing.

    The set-up is a round's: the heap ages after the manager is made, and the pool's order
    is the cell's. Programs come in the order of the task's models, `step` first and the
    others in one that the seed decides, so the same on both sides.
    """
    player = _TurnPlayer(impl, task)
    everywhere = _cores()
    answer({"status": "ok", "programs": player.metrics_of_programs})
    while line := lines_in.readline():
        message = json.loads(line)
        if "end" in message:
            return player.wrong_answer()
        if "prepare" in message:
            # Both sides may do this at once, so where they like.
            _stay_on(everywhere)
            answer({"status": "ok", **player.prepare(message["prepare"])})
        elif "quantiles" in message:
            answer({"status": "ok", "quantiles": player.quantiles(message["quantiles"])})
        else:
            if (core := message["core"]) is not None:
                _stay_on({core})
            costs = player.turn(message["periods"], message["discard"], message["blocks"])
            player.play_single(message["steps"])
            answer({"status": "ok", "costs": costs})
    return ""


def _cores() -> set[int]:
    """The cores that this process may run on; nothing where the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _stay_on(cores: set[int]) -> None:
    if cores and cores != _cores():
        # Where it is not allowed, the turns are only less alike.
        with suppress(OSError):
            os.sched_setaffinity(0, cores)


def _interruptions() -> int:
    """How often the core was taken from this process, which goes on with one thread."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


class _TurnPlayer:
    def __init__(self, impl: Implementation, task: RoundTask) -> None:
        self._round = RoundOf(impl, task)
        self._programs = _in_order(task.cell.programs, task.cell.seed)
        self._names: Mapping[int, str] = {}
        self._cursor: Cursor | None = None
        self._used: Any = None
        self._singles: Any = None
        self._interrupted = 0

    def wrong_answer(self) -> str:
        """What the loop that was played answers wrongly; empty if nothing."""
        if self._used is not None:
            self._round.free_all(self._used)
        return wrong_answer(self._round, self._round.programs)

    @property
    def metrics_of_programs(self) -> list[list[str]]:
        return [each.names for _, each in self._programs]

    def prepare(self, number: int) -> dict[str, Any]:
        """Free what the last program left, set up this one, warm up, and size a block."""
        if self._used is not None:
            self._round.free_all(self._used)
        self._used = self._cursor = self._singles = None
        model, timed = self._programs[number]
        self._names, wanted = timed.metrics, timed.names
        if model not in self._round.impl.models:
            return _unavailable(wanted, f"the implementation does not serve the model {model}")
        program = timed.load()
        found = self._round.made_ready(model, program, wanted, pool=timed.pool_only)
        if found is None:
            nothing = Reading.missing("no such operation")
            readings = self._round.readings
            return {"unavailable": {n: readings.get(n, nothing).unavailable for n in wanted}}
        target, replay = found
        if not timed.pool_only:
            self._used = target
        self._cursor = cursor = Cursor(replay, program)
        budget = self._round.budget
        block_ns = budget.step_block_ns if model == "step" else budget.block_ns
        if self._round.evictor is not None:
            # A block is one turn of cold steps; a second would say no more.
            ns = sum(map(sum, self._cold_block(cursor).values()))
            return {
                "periods": 1,
                "period": program.period,
                "block_ns": ns,
                "wanted_ns": block_ns,
            }
        warm_up(cursor, budget.warm_up_ns)
        # Where other work came between, a block seems to take far longer than it does, and a
        # match would have fewer: the least of a few tries tells.
        began = perf_counter_ns()
        tries = [calibrate(cursor, block_ns)]
        while tries[-1][1] > 2 * block_ns and perf_counter_ns() < began + _TRYING_NS:
            tries.append(calibrate(cursor, block_ns))
        steps, ns = min(tries, key=lambda found: found[1] / found[0])
        return {
            "periods": steps // program.period,
            "period": program.period,
            "block_ns": ns,
            "wanted_ns": block_ns,
        }

    def turn(self, periods: int, discard: int, blocks: int) -> dict[str, list[float]]:
        """Metric -> ns per unit of each counted block."""
        cursor = self._cursor
        assert cursor is not None, "a turn before its program was prepared"
        for _ in range(discard):
            self._block(cursor, periods)
        played = [self._block(cursor, periods) for _ in range(blocks)]
        units = cursor.program.units
        return {
            name: [block[phase] / (units[phase] * periods) for block in played]
            for phase, name in self._names.items()
        }

    def play_single(self, steps: int) -> None:
        """Add the times of so many single steps to those that `quantiles` is asked of."""
        if not steps:
            return
        cursor = self._cursor
        assert cursor is not None, "single steps before their program was prepared"
        if self._singles is None:
            self._singles, self._interrupted = new_histogram(), 0
        before = _interruptions()
        cursor.replay.run_each(cursor.advance(steps), steps, self._singles, self._singles)
        self._interrupted += _interruptions() - before

    def quantiles(self, labels: list[str]) -> dict[str, float | None]:
        """Label -> ns that so many of the single steps did not exceed; None of too few.

        As many of the longest are left out as the system says it gave the core to another: on
        a busy machine the tail would be that of its time slices.
        """
        counts, left = [], self._interrupted
        for index, count in reversed(self._singles.counts()):
            kept = max(0, count - left)
            left -= count - kept
            if kept:
                counts.append((index, kept))
        counts.reverse()
        samples = sum(count for _, count in counts)
        longest = round(bucket_value(counts[-1][0])) if counts else 0
        return {label: quantile(counts, samples, longest, label) for label in labels}

    def _block(self, cursor: Cursor, periods: int) -> dict[int, int]:
        if self._round.evictor is not None:
            cold = [self._cold_block(cursor) for _ in range(periods)]
            return {phase: sum(sum(one.get(phase, [])) for one in cold) for phase in self._names}
        one, two = cursor.run(periods * cursor.program.period)
        return {1: one, 2: two}

    def _cold_block(self, cursor: Cursor) -> dict[int, list[int]]:
        evictor, program = self._round.evictor, cursor.program
        assert evictor is not None
        first = cursor.advance(program.period)
        times = iter(cursor.replay.run_cold(first, program.period, evictor))
        found: dict[int, list[int]] = {}
        for i in range(program.period):
            if phase := program.phases[program.setup_steps + (first + i) % program.body_steps]:
                found.setdefault(phase, []).append(next(times))
        return found


def _in_order(programs: Timed, seed: int) -> list[tuple[str, TimedProgram]]:
    models = [model for model in programs if model != "step"]
    random.Random(seed).shuffle(models)
    return [(model, each) for model in ("step", *models) for each in programs.get(model, [])]


def _unavailable(names: list[str], reason: str) -> dict[str, Any]:
    return {"unavailable": dict.fromkeys(names, reason)}
