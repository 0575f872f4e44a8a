"""The locked engine's tables without a lock: the floor, and right for coroutines alone."""

from __future__ import annotations

from .dict_tables import DictTables


class NoLockEngine(DictTables):
    """Coroutines need no lock here, since nothing between the check and the change waits."""

    def allocate_now(self, request: int, num_tokens: int) -> list[int] | None:
        """Blocks for a new request, or None if there are too few."""
        return self.take(request, num_tokens)

    def release_now(self, request: int) -> None:
        """Give a request's blocks back."""
        self.give(request)

    async def allocate(self, request: int, num_tokens: int) -> list[int] | None:
        """Blocks for a new request, or None if there are too few."""
        return self.take(request, num_tokens)

    async def release(self, request: int) -> None:
        """Give a request's blocks back."""
        self.give(request)
