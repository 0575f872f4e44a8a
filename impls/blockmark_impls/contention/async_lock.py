"""The locked engine: one asyncio.Lock around allocating and releasing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .dict_tables import DictTables


class AsyncLockEngine(DictTables):
    """Coroutines take turns at one lock.

    Nothing inside waits, so the event loop never switches while the lock is held and nobody
    ever finds it taken: as it stands it guards against nothing. `await_inside` waits once
    inside, as a call over the network would. `lock` makes the lock.
    """

    def __init__(
        self,
        total_blocks: int,
        block_size: int,
        *,
        await_inside: bool = False,
        lock: Callable[[], asyncio.Lock] = asyncio.Lock,
    ) -> None:
        super().__init__(total_blocks, block_size)
        self.lock = lock()
        self.await_inside = await_inside

    async def allocate(self, request: int, num_tokens: int) -> list[int] | None:
        """Blocks for a new request, or None if there are too few."""
        async with self.lock:
            if self.await_inside:
                await asyncio.sleep(0)
            return self.take(request, num_tokens)

    async def release(self, request: int) -> None:
        """Give a request's blocks back."""
        async with self.lock:
            if self.await_inside:
                await asyncio.sleep(0)
            self.give(request)
