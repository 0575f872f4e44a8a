"""The locked engine's tables behind a threading.Lock, for threads and for coroutines."""

from __future__ import annotations

import threading
from typing import Any

from .dict_tables import DictTables


class ThreadLockEngine(DictTables):
    """A lock that threads need; coroutines pay for it and gain nothing."""

    def __init__(self, total_blocks: int, block_size: int) -> None:
        super().__init__(total_blocks, block_size)
        self.lock: Any = threading.Lock()

    def allocate_now(self, request: int, num_tokens: int) -> list[int] | None:
        """Blocks for a new request, or None if there are too few."""
        with self.lock:
            return self.take(request, num_tokens)

    def release_now(self, request: int) -> None:
        """Give a request's blocks back."""
        with self.lock:
            self.give(request)

    async def allocate(self, request: int, num_tokens: int) -> list[int] | None:
        """The same as a coroutine."""
        with self.lock:
            return self.take(request, num_tokens)

    async def release(self, request: int) -> None:
        """The same as a coroutine."""
        with self.lock:
            self.give(request)
