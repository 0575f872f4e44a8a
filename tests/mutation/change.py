"""A change of a source text."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """source[start:end] becomes another text, by an operator."""

    start: int
    end: int
    operator: str
    becomes: str
