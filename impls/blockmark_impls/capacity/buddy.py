"""Pieces of powers of two, split in halves and joined with their other half."""

from __future__ import annotations

from .contiguous import Contiguous
from .contract import Request


class Buddy(Contiguous):
    """The binary buddy system (Knowlton, 1965), with the request's final length rounded up.

    Memory that is no power of two is cut into the powers of its binary digits, largest
    first, so that each lies at a multiple of its own size.
    """

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self._free: dict[int, set[int]] = {1 << bit: set() for bit in range(tokens.bit_length())}
        start = 0
        for size in sorted(self._free, reverse=True):
            if tokens & size:
                self._free[size].add(start)
                start += size

    def size_of(self, request: Request) -> int:
        """The next power of two."""
        return 1 << (request.final - 1).bit_length()

    def place(self, size: int) -> int | None:
        """The lowest of the smallest free pieces that are large enough, split as needed."""
        room = next((each for each in self._sizes(size) if self._free[each]), None)
        if room is None:
            return None
        start = min(self._free[room])
        self._free[room].remove(start)
        while room > size:
            room //= 2
            self._free[room].add(start + room)
        return start

    def give_back(self, place: int, size: int) -> None:
        """Joined with its other half for as long as that is free."""
        while size * 2 in self._free and place ^ size in self._free[size]:
            self._free[size].remove(place ^ size)
            place &= ~size
            size *= 2
        self._free[size].add(place)

    def has_hole(self, size: int) -> bool:
        """Whether a free piece of that size or more exists."""
        return any(self._free[each] for each in self._sizes(size))

    def _sizes(self, least: int) -> list[int]:
        return [size for size in self._free if size >= least]
