"""Cost by implementation: a row each, a panel for each question, log axes, floors."""

from __future__ import annotations

from blockmark.report.picture import Drawn
from blockmark.report.plots.rows import draw_rows
from blockmark.runs.metrics import label_of
from blockmark.runs.model import Run, Setting

# The questions, in the order of a reader's interest.
PANELS = (
    "step_ns",
    "lookup_chain_shuffled_ns",
    "alloc_free_interleaved_ns",
    "pack_ns",
)


def draw_costs(run: Run, setting: Setting, title: str) -> Drawn | None:
    """The picture; None if no panel has a value above zero."""
    return draw_rows(
        run, run.cells_of(setting.key), {name: label_of(name) for name in PANELS}, title
    )
