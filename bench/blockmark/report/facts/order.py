"""In which order cells are shown: by how they were called, then by cost, floors last."""

from __future__ import annotations

from collections.abc import Iterable

from blockmark.runs.model import CallStyle, Cell

CALL_STYLES: dict[CallStyle, str] = {
    "native": "native loop",
    "per-op": "called from Python, once per operation",
    "per-step": "called from Python, once per step",
}


def by_call_style(cells: Iterable[Cell]) -> list[tuple[CallStyle, list[Cell]]]:
    """The cells of each call style that has any, cheapest step first.

    Costs of two call styles differ by the price of the call, so they never share a
    group. Cells without a step time keep the order of the run behind those with one,
    cells that were not measured follow, and controls come last.
    """
    groups: dict[CallStyle, list[Cell]] = {style: [] for style in CALL_STYLES}
    for cell in cells:
        groups[cell.call_style].append(cell)
    return [(style, sorted(group, key=_rank)) for style, group in groups.items() if group]


def value_of(cell: Cell, address: str) -> float | None:
    """The value of a metric such as `step_latency_ns.p99`, None if there is none."""
    metric = cell.metric(address) if cell.ok else None
    return None if metric is None else metric.value


def _rank(cell: Cell) -> tuple[bool, bool, float]:
    step = value_of(cell, "step_ns")
    return cell.kind == "control", not cell.ok, float("inf") if step is None else step
