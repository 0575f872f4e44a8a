"""The locked engine with shared system prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .prefix_tables import PrefixTables


class AsyncLockPrefixEngine(PrefixTables):
    """`AsyncLockEngine` whose requests may name a system prompt. Parameters as there."""

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

    async def allocate(
        self, request: int, num_tokens: int, prompt: int = 0, prompt_tokens: int = 0
    ) -> list[int] | None:
        """Blocks for a new request, or None if there are too few.

        The full blocks of its first `prompt_tokens` tokens are shared with every request of
        the same `prompt`.
        """
        async with self.lock:
            if self.await_inside:
                await asyncio.sleep(0)
            return self.take_shared(request, num_tokens, prompt, prompt_tokens)

    async def release(self, request: int) -> None:
        """Give a request's blocks back; shared ones stay as long as anybody holds them."""
        async with self.lock:
            if self.await_inside:
                await asyncio.sleep(0)
            self.give(request)
