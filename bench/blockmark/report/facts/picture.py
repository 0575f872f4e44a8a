"""A picture of a report: the file beside it, and the words that go with it."""

from __future__ import annotations

from dataclasses import dataclass

from blockmark.runs.model import SettingKey


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture in both forms: `png` is as wide as a page of text, `svg` of any size."""

    png: bytes
    svg: bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """`file` is the name of the PNG without a folder; `caption` says how to read it.

    A picture shows one setting, or, if that is None, all of a scenario's.
    """

    file: str
    title: str
    caption: str
    setting: SettingKey | None
    drawn: Drawn
    scenario: str = ""

    @property
    def data(self) -> bytes:
        """The PNG."""
        return self.drawn.png

    @property
    def files(self) -> dict[str, bytes]:
        """Both forms by the names of their files."""
        return {self.file: self.drawn.png, self.file.removesuffix(".png") + ".svg": self.drawn.svg}
