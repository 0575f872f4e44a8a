"""Pictures of one setting: what its cells cost, miss and wait, each as a chart declares it."""

from __future__ import annotations

from blockmark.report.facts.counter_source import source_of, sources_of
from blockmark.report.facts.order import CALL_STYLES, by_call_style
from blockmark.report.facts.picture import Drawn
from blockmark.report.plots.rows import draw_rows
from blockmark.report.plots.tails import draw_tails, tails_of
from blockmark.runs.metrics import label_of
from blockmark.runs.metrics.counters import operation_of
from blockmark.runs.model import Cell, Run, Setting

# The questions, in the order of a reader's interest.
_COSTS = ("step_ns", "lookup_chain_shuffled_ns", "alloc_free_interleaved_ns", "pack_ns")
_COUNTED = ("step_ns", "lookup_ordered_ns", "lookup_shuffled_ns", "alloc_free_interleaved_ns")
# Misses and not miss rates, which change with the compiler's flags while misses do not.
_MISSES = {f"{operation_of(cost)}_l1d_misses_per_op": label_of(cost) for cost in _COUNTED}


def draw_costs(run: Run, setting: Setting, title: str) -> Drawn | None:
    """A row an implementation, a panel a cost; None if no panel has a value above zero."""
    panels = {name: label_of(name) for name in _COSTS}
    return draw_rows(run, run.cells_of(setting.key), panels, title)


def draw_latencies(run: Run, setting: Setting, title: str) -> Drawn | None:
    """Tails of the steps, a panel a way of calling; None if no cell has a histogram.

    The ways differ by orders of magnitude, and no structure is there twice in one language.
    """
    panels = [
        (
            CALL_STYLES[style],
            tails_of(sorted(cells, key=lambda cell: cell.kind == "control"), "step_latency_ns"),
        )
        for style, cells in by_call_style(run.cells_of(setting.key))
    ]
    return draw_tails(run, panels, title, what=label_of("step_latency_ns"), thing="steps")


def sources_to_draw(run: Run, setting: Setting) -> tuple[str, ...]:
    """The sources that counted misses of some structure; each has a picture of its own.

    What a processor counted, what was simulated and what is left above the empty loop must
    not be read along one axis.
    """
    cells = run.cells_of(setting.key)
    return tuple(
        source
        for source in sources_of(cells, run)
        if any(cell.kind == "manager" and _has(run, cell, source) for cell in cells)
    )


def draw_misses(run: Run, setting: Setting, source: str, title: str) -> Drawn | None:
    """The picture of what this source counted; None if it is all zero or nothing.

    A way of calling of which the source counted the empty loop alone has no rows.
    """
    chosen = [cell for cell in run.cells_of(setting.key) if _has(run, cell, source)]
    styles = {cell.call_style for cell in chosen if cell.kind == "manager"}
    return draw_rows(run, [cell for cell in chosen if cell.call_style in styles], _MISSES, title)


def _has(run: Run, cell: Cell, source: str) -> bool:
    values = [cell.metric(metric) for metric in _MISSES] if cell.ok else []
    return any(
        value is not None and value.value is not None and source_of(value, run) == source
        for value in values
    )
