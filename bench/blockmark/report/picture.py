"""A picture of a report: the file beside it, and the words that go with it."""

from __future__ import annotations

from dataclasses import dataclass

from blockmark.runs.model import SettingKey


@dataclass(frozen=True, slots=True)
class Picture:
    """`file` is the name without a folder, `data` the PNG; `caption` says how to read it.

    A picture shows one setting, or, if that is None, all of a scenario's.
    """

    file: str
    title: str
    caption: str
    setting: SettingKey | None
    data: bytes
    scenario: str = ""
