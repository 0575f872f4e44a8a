"""What callgrind wrote, made into counts of events; pure functions of text and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark.runs.metrics.counters import COUNTERS, derive, operation_of

from ..process.reading import Reading, Readings

if TYPE_CHECKING:
    from collections.abc import Mapping

# Our event -> callgrind's, whose sum it is. A load that misses the first level is one
# that reaches the last.
_SUMS = {
    "instructions": ("Ir",),
    "l1d_loads": ("Dr",),
    "l1d_misses": ("D1mr",),
    "l1d_stores": ("Dw",),
    "l1d_store_misses": ("D1mw",),
    "ll_loads": ("D1mr",),
    "ll_misses": ("DLmr",),
    "branches": ("Bc", "Bi"),
    "branch_misses": ("Bcm", "Bim"),
}
SHORT_WARM_UP = (
    "the warm-up was shorter than one turn of the program, so first touches would count as misses"
)
_NOT_ABOVE = "not above the empty loop"


class DumpError(RuntimeError):
    """A dump that can't be what was asked for; one line."""


@dataclass(frozen=True, slots=True)
class Dump:
    """One dump: the label that asked for it (empty if none did), callgrind's event -> total."""

    label: str
    totals: Mapping[str, int]


def parse_dump(text: str) -> Dump:
    """Read a dump. Raises DumpError if it has no events or no totals, as a torn one has not.

    The line of totals, not that of the summary: without instrumentation from the start
    the latter says 0. Either ends at its last number that is not 0, so what is missing is 0.
    """
    label, events, totals = "", None, None
    trigger = "desc: Trigger: Client Request: "
    for line in text.splitlines():
        if line.startswith(trigger):
            label = line.removeprefix(trigger).strip()
        elif line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("totals:"):
            totals = line.split()[1:]
    if not events or totals is None or not text.endswith("\n"):
        raise DumpError("a dump of callgrind has no events or no totals: it was cut short")
    try:
        numbers = [int(word) for word in totals]
    except ValueError:
        raise DumpError(f"callgrind's totals are not numbers: {' '.join(totals)[:120]}") from None
    if len(numbers) > len(events):
        raise DumpError(f"callgrind wrote {len(numbers)} totals of {len(events)} events")
    return Dump(label, dict(zip(events, numbers + [0] * (len(events) - len(numbers)), strict=True)))


def events_of(totals: Mapping[str, int]) -> dict[str, int]:
    """Our events, as far as callgrind counted what they are made of.

    Raises DumpError where no instruction or no load was counted: then nothing was
    collected, and zeros would look like a result.
    """
    if not totals.get("Ir") or not totals.get("Dr"):
        raise DumpError(
            f"callgrind counted {totals.get('Ir', 0):,} instructions and "
            f"{totals.get('Dr', 0):,} loads: nothing was collected"
        )
    return {
        event: sum(totals[name] for name in names)
        for event, names in _SUMS.items()
        if all(name in totals for name in names)
    }


def counter_metrics(
    cost: str,
    units: float,
    events: Mapping[str, int],
    *,
    baseline: Mapping[str, int] | None = None,
    warm: bool = True,
) -> Readings:
    """Metric name -> what was counted, of what `cost` times.

    `events` are totals over `units` operations, `baseline` those of the empty loop over
    as many, which are taken off. `warm`: every part of the program had run before.
    """
    source = "callgrind" if baseline is None else "callgrind-net"
    counted: dict[str, float] = dict(events)
    reasons: dict[str, str] = {}
    for event in events:
        if baseline is not None:
            counted[event] -= baseline.get(event, 0)
            if counted[event] < 0:
                reasons[event] = _NOT_ABOVE
    if not warm:
        reasons["ll_misses"] = SHORT_WARM_UP
    operation = operation_of(cost)
    found: dict[str, float | str] = derive(
        operation, {name: value for name, value in counted.items() if name not in reasons}, units
    )
    for counter in COUNTERS:
        wanted = [name for name in (counter.top, counter.bottom) if name]
        broken = next((reasons[name] for name in wanted if name in reasons), None)
        if broken and all(name in events for name in wanted):
            found[f"{operation}_{counter.name}"] = broken
    return {name: Reading.of(one, source) for name, one in found.items()}
