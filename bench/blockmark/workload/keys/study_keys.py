"""What a study adds to the scenario keys."""

from __future__ import annotations

from dataclasses import dataclass

from .key import Key


@dataclass(frozen=True, slots=True)
class StudyKeys:
    """The keys of one study: `rows` are its own, `shared` names others that mean the same for
    it. Nothing else stands in its cells.
    """

    rows: tuple[Key, ...]
    shared: tuple[str, ...] = ("seed",)
