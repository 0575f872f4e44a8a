"""Processor counters per operation: every timed operation has each of them.

Their names are put together: `lookup_ordered_l1d_misses_per_op` are the L1D misses of what
`lookup_ordered_ns` is the time of, divided by the same thing. The source of a value says
whether a processor counted it (`pmu`) or a simulation did (`callgrind`; `callgrind-net`
where the empty loop's count was taken off it, since an interpreter's own loads would hide
the structure's).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .row import Direction, Kind, Metric

SOURCES = ("pmu", "callgrind", "callgrind-net")


@dataclass(frozen=True, slots=True)
class Counter:
    """A quantity counted for each operation; `{op}` in a text is the operation's time metric.

    `top` and `bottom` name the events whose totals are divided; an empty `bottom` is the
    number of operations.
    """

    name: str
    label: str
    unit: str
    direction: Direction | None
    top: str
    bottom: str
    meaning: str


# fmt: off
COUNTERS = (
    #       name, label, unit, direction, top, bottom, meaning
    Counter("instructions_per_op",     "instructions",     "count", "lower",  "instructions",     "",          "Instructions executed"),
    Counter("cycles_per_op",           "cycles",           "count", "lower",  "cycles",           "",          "Core cycles, user space only"),
    Counter("ipc",                     "IPC",              "ratio", "higher", "instructions",     "cycles",    "Instructions per cycle"),
    Counter("branches_per_op",         "branches",         "count", "lower",  "branches",         "",          "Branches executed"),
    Counter("branch_misses_per_op",    "br. misses",       "count", "lower",  "branch_misses",    "",          "Branches whose way or target was predicted wrongly"),
    Counter("l1d_loads_per_op",        "loads",            "count", "lower",  "l1d_loads",        "",          "Loads of data"),
    Counter("l1d_misses_per_op",       "L1D misses",       "count", "lower",  "l1d_misses",       "",          "Loads that the first-level data cache did not hold"),
    Counter("l1d_miss_rate",           "L1D rate",         "share", "lower",  "l1d_misses",       "l1d_loads", "The share of loads that miss; it changes with compiler flags, misses per operation do not"),
    Counter("l1d_stores_per_op",       "stores",           "count", "lower",  "l1d_stores",       "",          "Stores of data"),
    Counter("l1d_store_misses_per_op", "L1D store misses", "count", "lower",  "l1d_store_misses", "",          "Stores to lines that the first-level data cache did not hold"),
    Counter("l2_loads_per_op",         "L2 loads",         "count", "lower",  "l2_loads",         "",          "References to the second level, as AMD counts them"),
    Counter("l2_misses_per_op",        "L2 misses",        "count", "lower",  "l2_misses",        "",          "References that the second level did not hold, as AMD counts them"),
    Counter("l2_miss_rate",            "L2 rate",          "share", "lower",  "l2_misses",        "l2_loads",  "The share of these that miss"),
    Counter("ll_loads_per_op",         "LL loads",         "count", "lower",  "ll_loads",         "",          "Loads that reach the last level"),
    Counter("ll_misses_per_op",        "LL misses",        "count", "lower",  "ll_misses",        "",          "Loads that the last level did not hold: they go to memory"),
    Counter("ll_miss_rate",            "LL rate",          "share", "lower",  "ll_misses",        "ll_loads",  "The share of these that miss"),
)
# fmt: on
# What a source can count, in the order in which it is counted.
EVENTS = tuple(dict.fromkeys(name for row in COUNTERS for name in (row.top, row.bottom) if name))


def operation_of(cost: str) -> str:
    """`lookup_ordered` for `lookup_ordered_ns`: what the counters of an operation begin with."""
    return cost.removesuffix("_ns")


def rows(costs: Sequence[Metric]) -> list[Metric]:
    """A row for every counter of every timed operation."""
    found = []
    for cost in costs:
        if cost.source != "clock" or cost.kind != "cost":
            continue
        operation = operation_of(cost.name)
        for counter in COUNTERS:
            kind: Kind = "count" if counter.unit == "count" else "proof"
            bottom = counter.bottom or f"the units of {cost.name}"
            found.append(
                Metric(
                    f"{operation}_{counter.name}",
                    f"{cost.label}: {counter.label}",
                    counter.unit,
                    "counters",
                    kind,
                    counter.direction,
                    "counter",
                    f"{counter.top} / {bottom}, in a pass without a clock",
                    f"{counter.meaning}; of what {cost.name} times",
                )
            )
    return found


def derive(operation: str, events: Mapping[str, float], units: float) -> dict[str, float | str]:
    """Metric name -> value, from totals of events over `units` operations.

    A quotient whose divisor was counted as zero is the reason why there is none. Counters
    whose events are not in `events` are left out. Raises ValueError unless units > 0.
    """
    if not units > 0:
        raise ValueError("a count needs operations to be divided by")
    found: dict[str, float | str] = {}
    for counter in COUNTERS:
        if counter.top not in events or (counter.bottom and counter.bottom not in events):
            continue
        divisor = events[counter.bottom] if counter.bottom else units
        name = f"{operation}_{counter.name}"
        if divisor > 0:
            found[name] = events[counter.top] / divisor
        else:
            found[name] = f"no {counter.bottom.replace('_', ' ')} were counted"
    return found
