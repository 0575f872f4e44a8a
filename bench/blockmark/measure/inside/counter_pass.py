"""What the processor counts in a model's operations: a pass of its own, without a clock."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from blockmark.runs.metrics.counters import COUNTERS, derive, operation_of

from ..process.reading import Reading, Readings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..probes.pmu import Pmu
    from ..probes.timing import Cost, Cursor

# Starting and stopping the counters takes about 12 us: a thousandth of this.
_LEAST_NS = 10_000_000
SOURCE = "pmu"


def count_operations(
    pmu: Pmu, cursor: Cursor, names: Mapping[int, str], costs: Mapping[int, Cost]
) -> Readings:
    """Metric name -> entry of a round, for the operations whose times are `names` (by phase).

    Whole periods, as many as take at least 10 ms of the phase by its cost.
    """
    program = cursor.program
    found: Readings = {}
    for phase, name in names.items():
        units = program.units[phase]
        periods = max(1, ceil(_LEAST_NS / max(costs[phase].least * units, 1.0)))
        events = pmu.count(cursor, periods * program.period, phase)
        found |= entries(operation_of(name), events, units * periods)
    return found


def not_counted(names: Mapping[int, str], reason: str) -> Readings:
    """Metric name -> entry: one counter of each operation stands for all, with the reason."""
    return {
        f"{operation_of(name)}_l1d_misses_per_op": Reading.missing(reason, SOURCE)
        for name in names.values()
    }


def entries(operation: str, events: Mapping[str, float | str], units: float) -> Readings:
    """Metric name -> entry, from events that were counted over `units` operations or have a
    reason why not; a counter one of whose events has a reason has it too.
    """
    counted = {name: value for name, value in events.items() if not isinstance(value, str)}
    values = derive(operation, counted, units)
    for counter in COUNTERS:
        for event in (counter.top, counter.bottom):
            reason = events.get(event)
            if isinstance(reason, str):
                values.setdefault(f"{operation}_{counter.name}", f"{event}: {reason}")
    return {name: Reading.of(value, SOURCE) for name, value in values.items()}
