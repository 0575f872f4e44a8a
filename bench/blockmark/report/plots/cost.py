"""Cost by implementation: a row each, a panel for each question, log axes, floors."""

from __future__ import annotations

from blockmark.report.picture import Drawn
from blockmark.report.plots.rows import draw_rows
from blockmark.runs.model import Run, Setting

# The questions, in the order of a reader's interest.
PANELS = (
    ("step_ns", "whole step"),
    ("lookup_chain_shuffled_ns", "lookup chain, shuffled"),
    ("alloc_free_interleaved_ns", "alloc + free, mixed"),
    ("pack_ns", "pack all rows"),
)


def draw_costs(run: Run, setting: Setting, title: str) -> Drawn | None:
    """The picture; None if no panel has a value above zero."""
    return draw_rows(run, run.cells_of(setting.key), PANELS, title)
