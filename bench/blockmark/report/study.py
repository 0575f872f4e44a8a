"""How a study is shown: what its `view` says of tables, findings and pictures.

The screen and the report ask the same one, so they show the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.sweep import Sweep
from blockmark.report.tables.model import Table
from blockmark.rooms import STUDIES, part_of
from blockmark.runs.model import Run, Setting


class StudyView(Protocol):
    """What `view` of a study offers."""

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
    workload = workload_of(sweep.settings[0])
    return cast("StudyView", part_of(workload, "view")) if workload in STUDIES else None
