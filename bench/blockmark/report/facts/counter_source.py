"""Where counters come from, in words, and which counter of which operation a metric is.

A processor's own counts and simulated ones answer different questions, so every
table and sentence names its source.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from blockmark.report.facts.numbers import exact, scale_for
from blockmark.report.facts.setting import build_words, word
from blockmark.runs.metrics import METRICS
from blockmark.runs.metrics.counters import COUNTERS, SOURCES, Counter
from blockmark.runs.model import Cell, MetricValue, Run

ABOVE_THE_LOOP = "above the empty loop"
# Of every timed operation, so those that have it are all the operations.
_OF_ALL = f"_{COUNTERS[0].name}"
_LINE_BYTES = "64"


def operations() -> tuple[str, ...]:
    """The operations that have counters, such as `lookup_ordered`, in the table's order."""
    return tuple(name.removesuffix(_OF_ALL) for name in METRICS if name.endswith(_OF_ALL))


@functools.cache
def _parts() -> Mapping[str, tuple[str, Counter]]:
    return {
        f"{operation}_{counter.name}": (operation, counter)
        for operation in operations()
        for counter in COUNTERS
    }


def parts_of(metric: str) -> tuple[str, Counter] | None:
    """Operation and counter of a metric; None if the metric is no counter."""
    return _parts().get(metric)


def source_of(value: MetricValue, run: Run) -> str:
    """The source of a counter; that of the run where the value names none of its own.

    What is unavailable was never counted by anything, so it need not name one.
    """
    return value.source if value.source in SOURCES else word(run.counters, "source") or ""


def sources_of(cells: Iterable[Cell], run: Run) -> tuple[str, ...]:
    """The sources of all counters of these cells, in the order of `SOURCES`."""
    found = {
        source_of(value, run)
        for cell in cells
        if cell.ok
        for name, value in cell.metrics.items()
        if parts_of(name) is not None
    }
    return tuple(source for source in SOURCES if source in found)


def source_words(run: Run, source: str) -> str:
    """`simulated (callgrind 3.19.0; L1D 32 KiB, 8 ways; last level 32 MiB, 16 ways)`."""
    if source == "pmu":
        return "counted by the processor"
    parts = [" ".join(["callgrind", word(run.counters, "valgrind") or ""]).strip()]
    for label, name in (("L1D", "d1"), ("last level", "ll")):
        shape = word(run.counters, name)
        if shape is not None:
            parts.append(f"{label} {_shape_words(shape)}")
    text = f"simulated ({'; '.join(parts)})"
    return f"{text}, {ABOVE_THE_LOOP}" if source == "callgrind-net" else text


def short_source(source: str) -> str:
    """One word for the source, for a sentence; two for what is above the empty loop."""
    if source == "pmu":
        return "counted"
    return f"simulated, {ABOVE_THE_LOOP}" if source == "callgrind-net" else "simulated"


def run_source_words(run: Run) -> str:
    """What the run's counters come from, for a list of facts; empty if it has none."""
    source = word(run.counters, "source") or ""
    return source_words(run, source) if source in SOURCES else ""


def method_words(run: Run) -> str:
    """How the counters of a run were taken, in sentences."""
    text = (
        "Counters are those of the same replay, over whole periods of the program after a warm-up, "
        "in a pass of its own without a clock, divided by the operations in it. "
    )
    if word(run.counters, "source") == "pmu":
        return text + (
            "The processor counted them, in user space and only while the replay ran; of events "
            "that had to share a counter, the count is scaled by the time that they had it."
        )
    return text + (
        f"They are {run_source_words(run) or 'simulated'}: the replay runs under valgrind, and "
        "each of its loads and stores goes to a model of the caches. The same program gives the "
        "same counts, so there is no interval."
    )


def source_notes(run: Run, source: str, *, called: bool) -> list[str]:
    """What a reader must know of the numbers of a source; `called` if Python loops."""
    notes = []
    flags = word(run.build, "flags")
    if flags is not None and run.build.get("native") is not False:
        compiler = word(run.build, "compiler") or build_words(run)
        notes.append(
            f"Compiled by {compiler} with {flags}. Other flags change the loads and so the miss "
            "rate, but hardly the misses per operation."
        )
    if source == "pmu":
        notes.append("Counted in user space only.")
        if called:
            notes.append("Where Python loops, the interpreter's own counts are in.")
    else:
        notes.append(
            "The simulation has no prefetcher and no TLB and gives one core all of its caches: it "
            "says what a structure touches, not how long that takes."
        )
    if source == "callgrind-net":
        notes.append(
            "Above the empty loop: the counts of the same loop over a structure that does nothing "
            "(null) are taken off; what an interpreter does inside a structure is in."
        )
    return notes


def _shape_words(shape: str) -> str:
    """`32 KiB, 8 ways` for `32768,8,64`; a shape of another form as it is."""
    parts = shape.split(",")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return shape
    size, ways, line = parts
    scale = scale_for([float(size)], "bytes")
    text = f"{exact(float(size) * scale.factor)} {scale.label}, {ways} ways"
    return text if line == _LINE_BYTES else f"{text} of {line} B"
