"""What policies have in common in which a request lies in one piece, taken when it starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from .contract import Request, Usage


@dataclass(slots=True)
class _Held:
    place: int
    size: int
    held: int
    since: int
    final: int


class Contiguous(ABC):
    """Pieces never move or grow; a request takes all that it may need when it starts."""

    table_entries = 0
    blocks_saved = (0, 0)

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self._running: dict[int, _Held] = {}
        self._taken = 0
        # Live tokens in step t are base + t * running; final ones do not depend on t.
        self._base = 0
        self._final = 0

    @abstractmethod
    def size_of(self, request: Request) -> int:
        """Tokens that a request asks for."""

    @abstractmethod
    def place(self, size: int) -> int | None:
        """The first token of a free piece, now taken; None if there is none."""

    @abstractmethod
    def give_back(self, place: int, size: int) -> None:
        """Free a piece."""

    @abstractmethod
    def has_hole(self, size: int) -> bool:
        """Whether a free piece of that size exists."""

    def fits(self, request: Request) -> bool:
        """Whether it could run alone."""
        return request.final <= self.size_of(request) <= self.tokens

    def start(self, number: int, request: Request, held: int, now: int) -> bool:
        """Take a piece."""
        size = self.size_of(request)
        place = self.place(size)
        if place is None:
            return False
        self._running[number] = _Held(place, size, held, now, request.final)
        self._taken += size
        self._base += held - now
        self._final += request.final
        return True

    def end(self, number: int, now: int) -> None:
        """Give the piece back."""
        gone = self._running.pop(number)
        self.give_back(gone.place, gone.size)
        self._taken -= gone.size
        self._base -= gone.held - gone.since
        self._final -= gone.final

    def grow(self, now: int) -> bool:
        """There always is room: it was taken before."""
        return True

    def usage(self, now: int, head: Request | None) -> Usage:
        """See the contract. What ends up written is reserved until it is."""
        live = self._base + now * len(self._running)
        free = self.tokens - self._taken
        external = 0
        if head is not None:
            size = self.size_of(head)
            external = free if free >= size and not self.has_hole(size) else 0
        return Usage(live, self._final - live, self._taken - self._final, external, free - external)

    def pieces(self) -> list[tuple[int, int]]:
        """(first token, tokens) of every piece that is held, for a checker."""
        return sorted((each.place, each.size) for each in self._running.values())
