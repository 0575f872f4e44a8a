"""Costs from blocks of about a millisecond, and the distribution of single steps.

On a shared machine the least block is far quieter than mean or median: measured over
458 processes, the spread between identical ones was 2 % for the least of 50 blocks of
1 ms, and 16 % for their mean. Blocks longer than a scheduler slice never run
undisturbed, and blocks much shorter are no whole number of periods.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blockmark.workload.program import Program

    from ..replay.protocols import Evictor, Replay


@dataclass(frozen=True, slots=True)
class Budget:
    """How long one metric may take in one round; times in ns.

    `blocks` blocks of about `block_ns` each for a cost, `step_blocks` of
    `step_block_ns` for whole steps; where a period is longer than that, as many as
    half again the time allows, but `least_blocks`. At most `warm_up_ns` before them, and
    `latency_ns` for a distribution of single steps: at least `least_steps` of them
    where six times that time allows it.
    """

    blocks: int = 20
    block_ns: int = 500_000
    step_blocks: int = 30
    step_block_ns: int = 1_000_000
    least_blocks: int = 4
    warm_up_ns: int = 60_000_000
    latency_ns: int = 40_000_000
    least_steps: int = 1_100
    most_steps: int = 20_000
    cold_blocks: int = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """ns per unit: of the least block, and on average over the blocks."""

    least: float
    mean: float


class Cursor:
    """The place in the cyclic body; replays go on from where the last one ended."""

    def __init__(self, replay: Replay, program: Program) -> None:
        self.replay = replay
        self.program = program
        self._next = 0

    def advance(self, steps: int) -> int:
        """The first step of the next `steps` steps."""
        first = self._next
        self._next = (first + steps) % self.program.body_steps
        return first

    def run(self, steps: int) -> tuple[int, int]:
        """Replay the next steps; ns by phase."""
        return self.replay.run(self.advance(steps), steps)


def calibrate(cursor: Cursor, block_ns: int) -> tuple[int, int]:
    """(steps, their ns) of a block: whole periods that take about `block_ns`.

    Doubles until a run is long enough to tell. The least of three decides, so that
    neither a first, cold run nor a pre-empted one makes all blocks too short; but a
    period that is far longer than a block runs only once.
    """
    period = cursor.program.period
    steps = period
    while True:
        ns = sum(cursor.run(steps))
        if ns < 8 * block_ns:
            ns = min(ns, *(sum(cursor.run(steps)) for _ in range(2)))
        if ns >= block_ns // 2 or steps >= 1 << 24:
            break
        steps *= 2
    periods = max(1, round(steps * block_ns / max(ns, 1) / period))
    return periods * period, ns * periods * period // steps


def warm_up(cursor: Cursor, most_ns: int) -> None:
    """Whole turns of the body until tables have grown as they do, or time is over."""
    program, left = cursor.program, most_ns
    done = 0
    while done < program.body_steps and left > 0:
        steps = min(program.body_steps - done, max(1, program.body_steps // 16))
        start = perf_counter_ns()
        cursor.run(steps)
        left -= perf_counter_ns() - start
        done += steps


def measure_costs(cursor: Cursor, blocks: int, block_ns: int, least_blocks: int) -> dict[int, Cost]:
    """Phase -> cost of one unit of that phase, from blocks of about `block_ns`.

    A period that takes longer than two blocks is cut into segments of about a block,
    and the least of every segment over several turns is added up: a block longer than
    a scheduler slice would never run undisturbed, and blocks of one segment alone
    would not do the same operations as the others.
    """
    program = cursor.program
    steps, ns = calibrate(cursor, block_ns)
    segments = [steps]
    if steps == program.period and ns > 2 * block_ns:
        segments = _split(steps, min(steps, -(-ns // block_ns)))
    deadline = perf_counter_ns() + blocks * block_ns * 3 // 2
    turns: list[list[tuple[int, int]]] = []
    while len(turns) < least_blocks or (len(turns) < blocks and perf_counter_ns() < deadline):
        turns.append([cursor.run(part) for part in segments])
    periods = steps // program.period
    return {
        phase: _cost([[part[phase - 1] for part in turn] for turn in turns], units * periods)
        for phase, units in program.units.items()
    }


def _split(steps: int, parts: int) -> list[int]:
    """`steps` in `parts` parts that differ by one at most."""
    return [steps * (i + 1) // parts - steps * i // parts for i in range(parts)]


def _cost(turns: list[list[int]], units: float) -> Cost:
    """`turns` holds the ns of each segment, for every turn."""
    least = sum(min(times) for times in zip(*turns, strict=True))
    return Cost(least / units, sum(map(sum, turns)) / len(turns) / units)


def measure_latency(cursor: Cursor, budget: Budget, step_ns: float, histogram: Any) -> None:
    """Fill `histogram` with single steps of phase 1; `step_ns` says how many fit."""
    wanted = budget.latency_ns / max(step_ns, 1.0)
    affordable = min(6 * wanted, budget.least_steps)
    period = cursor.program.period
    steps = round(min(budget.most_steps, max(wanted, affordable)) / period + 1) * period
    cursor.replay.run_each(cursor.advance(steps), steps, histogram, histogram)


def measure_cold(
    cursor: Cursor, budget: Budget, evictor: Evictor, histogram: Any
) -> dict[int, Cost]:
    """Phase -> cost when every step begins with a cold cache; a sample is one step."""
    program = cursor.program
    sums: dict[int, list[int]] = {phase: [] for phase in program.units}
    for _ in range(budget.cold_blocks):
        first = cursor.advance(program.period)
        times = iter(cursor.replay.run_cold(first, program.period, evictor))
        block = dict.fromkeys(sums, 0)
        for i in range(program.period):
            step = program.setup_steps + (first + i) % program.body_steps
            if phase := program.phases[step]:
                ns = next(times)
                block[phase] += ns
                histogram.record(ns)
        for phase, ns in block.items():
            sums[phase].append(ns)
    return {
        phase: _cost([[ns] for ns in times], program.units[phase]) for phase, times in sums.items()
    }
