"""Every request gets a slot of the maximum length."""

from __future__ import annotations

from .contiguous import Contiguous
from .contract import Request


class Reserve(Contiguous):
    """Slots of `max_len` tokens, cut when the engine starts."""

    def __init__(self, tokens: int, max_len: int) -> None:
        super().__init__(tokens)
        self._max_len = max_len
        count = tokens // max_len
        self._slots = [slot * max_len for slot in reversed(range(count))]

    def size_of(self, request: Request) -> int:
        """A whole slot."""
        return self._max_len

    def place(self, size: int) -> int | None:
        """Any free slot."""
        return self._slots.pop() if self._slots else None

    def give_back(self, place: int, size: int) -> None:
        """The slot is free again."""
        self._slots.append(place)

    def has_hole(self, size: int) -> bool:
        """Whether a slot is free. What is left over behind the last slot is none."""
        return bool(self._slots)
