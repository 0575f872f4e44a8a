"""What a study looks like: one module a study says its tables, findings and pictures.

The screen and the report ask the same module, so they show the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol, cast

from blockmark.report.picture import Drawn
from blockmark.report.sweep import Sweep
from blockmark.report.table import Table
from blockmark.runs.model import Run, Setting

# Workload -> module of this package.
_VIEWS: dict[str, str] = {
    "capacity": "capacity",
    "contention": "contention",
    "false-sharing": "false_sharing",
    "layout-pack": "layout_pack",
    "layout-rows": "layout_rows",
    "mistakes": "mistakes",
}


class StudyView(Protocol):
    """What a module of this package offers."""

    QUESTION: str
    """What the study asks, for the head of a report."""
    METHOD: str
    """How its numbers are taken, in a few sentences; formulas stand in the table of metrics."""

    def load_words(self, settings: Sequence[Setting]) -> str:
        """The load of one setting, or of several with the range of what differs."""

    def tables(self, run: Run, sweep: Sweep) -> list[Table]:
        """All settings of the scenario."""

    def sentences(self, run: Run, sweep: Sweep) -> list[str]:
        """What the numbers say; empty where they say nothing."""

    def draw(self, run: Run, sweep: Sweep) -> Iterator[tuple[str, str, str, Drawn]]:
        """Pictures: a slug for the file's name, title, caption, and the picture."""


def workload_of(setting: Setting) -> str:
    """The workload that a setting names; empty if it names none."""
    workload = setting.params.get("workload")
    return workload if isinstance(workload, str) else ""


def view_of(sweep: Sweep) -> StudyView | None:
    """The view of a scenario's workload; None where managers replayed a Program."""
    name = _VIEWS.get(workload_of(sweep.settings[0]))
    return None if name is None else cast("StudyView", import_module(f".{name}", __package__))
