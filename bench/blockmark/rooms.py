"""The studies: each has a folder of its name in `blockmark/studies`.

A study measures what is no replay of a Program. Its workload is called as its folder is, with a
hyphen for each underscore; a new study is a folder there and a name here. A folder holds:

    keys.py      KEYS: the scenario keys that it adds
    metrics.py   ROWS: what it measures, a row of the table of metrics each
    measure.py   how it is measured: `blockmark.measure.study.Study`
    view.py      its tables, sentences and pictures: `blockmark.report.study.StudyView`

Both wings ask for its parts here, so neither imports the other's.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

STUDIES = (
    "contention",
    "false-sharing",
    "capacity",
    "mistakes",
    "layout-rows",
    "layout-pack",
)


def part_of(study: str, part: str) -> Any:
    """A module of a study's folder, imported when it is asked for."""
    assert study in STUDIES
    return import_module(f"blockmark.studies.{study.replace('-', '_')}.{part}")
