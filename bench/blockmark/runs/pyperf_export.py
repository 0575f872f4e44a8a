"""The timings of a run as a pyperf suite, for pyperf's own viewers.

`python -m pyperf stats|hist|compare_to` read the file. One benchmark is one
metric of one cell; one pyperf run is one round, with the round's value. pyperf
knows seconds, bytes and integers above zero and no reason for a missing value, so
only timings are exported, and what is left out is counted. `loops` is about how many of an
operation a round timed: a run keeps the time of one. Its verdicts treat
values as it sees fit; blockmark's own are made from the run.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockmark.runs.errors import StoreError, one_line
from blockmark.runs.metrics import QUANTILES
from blockmark.runs.model import Cell, MetricValue, Run, canonical

_SECONDS = 1e-9
# pyperf warns of a value that a clock could not tell, unless it knows how many operations were
# timed together. A round times a cost in blocks that take about so long in all.
_TIMED_S = 0.01
# pyperf refuses to merge runs that differ in these, so they are named as it does.
_MACHINE_FACTS = {
    "cpu_model": "cpu_model_name",
    "cores": "cpu_count",
    "python": "python_version",
    "python_implementation": "python_implementation",
}


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of a run: benchmarks written, and what is missing from the file.

    `left_out` are metrics of measured cells that are no timings (counts, bytes,
    shares, proofs), have a zero, or are unavailable. `cells_left_out` are cells
    without a single timing, such as those that were never measured.
    """

    benchmarks: int
    left_out: int
    cells_left_out: int

    @property
    def summary(self) -> str:
        """`42 timings; 14 other metrics, such as counts, have no place there`."""
        timings = f"{self.benchmarks} timing{'' if self.benchmarks == 1 else 's'}"
        if not self.left_out:
            return timings
        many = self.left_out != 1
        others = f"{self.left_out} other metric{'s' if many else ''}, such as counts,"
        return f"{timings}; {others} {'have' if many else 'has'} no place there"


def export_pyperf(run: Run, path: str | Path) -> Exported:
    """Write the timings of a run to a pyperf file, over an older one.

    The name may end in `.json.gz`. Raises StoreError if nothing in the run is a
    timing or the file cannot be written.
    """
    import pyperf

    file = Path(path)
    benchmarks: list[Any] = []
    names: set[str] = set()
    left_out = cells_left_out = 0
    facts = _facts(run)
    for cell in run.cells:
        before = len(benchmarks)
        for address, value in _addresses(cell):
            seconds = [number * _SECONDS for number in value.values]
            if value.unit != "ns" or not seconds or min(seconds) <= 0:
                left_out += 1
                continue
            name = _unique_name(_name(run, cell, address), names)
            metadata = facts | _cell_facts(cell, address) | {"name": name, "unit": "second"}
            metadata["loops"] = max(1, math.ceil(_TIMED_S / min(seconds)))
            benchmarks.append(
                pyperf.Benchmark(
                    [
                        pyperf.Run(
                            [second],
                            metadata=metadata | {"blockmark_round": number},
                            collect_metadata=False,
                        )
                        for number, second in enumerate(seconds, start=1)
                    ]
                )
            )
        cells_left_out += len(benchmarks) == before
    if not benchmarks:
        raise StoreError(file, "the run has no timing to export", "measure at least one cell")
    _write(pyperf.BenchmarkSuite(benchmarks), file)
    return Exported(len(benchmarks), left_out, cells_left_out)


def _addresses(cell: Cell) -> Iterator[tuple[str, MetricValue]]:
    """Every metric of a cell; a distribution as its quantiles."""
    for name, value in cell.metrics.items():
        if value.quantiles is None:
            yield name, value
            continue
        for label in QUANTILES:
            if label in value.quantiles:
                yield f"{name}.{label}", value.quantile(label)


def _name(run: Run, cell: Cell, address: str) -> str:
    """A name that a run of the same scenario gives to the same cell."""
    axes = (
        f"{axis}={cell.params[axis]}" for axis in run.axes(cell.scenario) if axis in cell.params
    )
    return " ".join(_clean(part) for part in (cell.scenario, *axes, cell.impl, address))


def _unique_name(name: str, taken: set[str]) -> str:
    """The name, with a number behind it if it is taken: pyperf refuses it a second time."""
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name} ({number})", number + 1
    taken.add(unique)
    return unique


def _clean(text: str) -> str:
    """Text that pyperf accepts as a name or metadata: one line, not empty."""
    return one_line(text).strip() or "?"


def _facts(run: Run) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "date": _clean(run.created),
        "blockmark_version": _clean(run.blockmark_version),
        "blockmark_run": _clean(run.run_id),
        "blockmark_seed": run.seed,
    }
    for fact, name in _MACHINE_FACTS.items():
        value = run.machine.get(fact)
        # Not every kind of value may be metadata; None and an empty text may not.
        if isinstance(value, int) or (isinstance(value, str) and value.strip()):
            facts[name] = _clean(value) if isinstance(value, str) else value
    return facts


def _cell_facts(cell: Cell, address: str) -> dict[str, Any]:
    return {
        "blockmark_scenario": _clean(cell.scenario),
        "blockmark_params": canonical(cell.params),
        "blockmark_impl": _clean(cell.impl),
        "blockmark_call_style": cell.call_style,
        "blockmark_metric": address,
    }


def _write(suite: Any, file: Path) -> None:
    # The front of the name changes, not its end: pyperf compresses by the end.
    temporary = file.with_name(f"tmp-{os.getpid()}-{file.name}")
    try:
        suite.dump(str(temporary), replace=True)
        os.replace(temporary, file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        mend = "name another file with --pyperf"
        raise StoreError(file, error.strerror or str(error), mend) from None
