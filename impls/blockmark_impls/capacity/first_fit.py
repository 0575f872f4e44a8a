"""A piece of the length that a request needs, in the first hole that is large enough."""

from __future__ import annotations

from .contiguous import Contiguous
from .contract import Request


class FirstFit(Contiguous):
    """Holes in order of their place; neighbours become one when a piece comes back.

    With `max_new` a piece is the prompt and so many tokens: what an engine can know.
    Without, it is the request's final length: what only an oracle knows beforehand.
    """

    def __init__(self, tokens: int, max_new: int | None) -> None:
        super().__init__(tokens)
        self._max_new = max_new
        self._holes: list[tuple[int, int]] = [(0, tokens)]

    def size_of(self, request: Request) -> int:
        """The final length, or the prompt and the limit."""
        return request.final if self._max_new is None else request.prompt + self._max_new

    def place(self, size: int) -> int | None:
        """The start of the first hole that is large enough."""
        for index, (start, room) in enumerate(self._holes):
            if room >= size:
                rest = [(start + size, room - size)] if room > size else []
                self._holes[index : index + 1] = rest
                return start
        return None

    def give_back(self, place: int, size: int) -> None:
        """A hole again, together with the holes beside it."""
        index = next(
            (i for i, (start, _) in enumerate(self._holes) if start > place), len(self._holes)
        )
        start, end = place, place + size
        low, high = index, index
        if index and sum(self._holes[index - 1]) == place:
            start, low = self._holes[index - 1][0], index - 1
        if index < len(self._holes) and self._holes[index][0] == end:
            end, high = sum(self._holes[index]), index + 1
        self._holes[low:high] = [(start, end - start)]

    def has_hole(self, size: int) -> bool:
        """Whether one hole is large enough."""
        return any(room >= size for _, room in self._holes)
