"""What a workload makes of a cell: the Program that is replayed, and facts about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .program import Program


@dataclass(frozen=True, slots=True)
class Load:
    """The Program of a workload, and what a reader of its numbers should know.

    `facts` are plain JSON: numbers, text, flat lists and dicts of them.
    """

    program: Program
    facts: dict[str, Any]
