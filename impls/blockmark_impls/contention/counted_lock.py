"""Locks that count how often they were taken, and how often somebody had to wait."""

from __future__ import annotations

import asyncio
import threading
import types
from collections.abc import Coroutine, Generator
from typing import Any, Literal


class CountedAsyncLock(asyncio.Lock):
    """An asyncio.Lock; an acquisition waited if it gave control back to the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.acquired = 0
        self.waited = 0

    async def acquire(self) -> Literal[True]:
        """As the lock's own, counted."""
        await self._counted(super().acquire())
        self.acquired += 1
        return True

    @types.coroutine
    def _counted(self, attempt: Coroutine[Any, Any, bool]) -> Generator[Any, Any, None]:
        try:
            waiting = attempt.send(None)
        except StopIteration:
            return
        self.waited += 1
        while True:
            try:
                answer = yield waiting
            except BaseException as error:
                waiting = attempt.throw(error)
                continue
            try:
                waiting = attempt.send(answer)
            except StopIteration:
                return


class CountedThreadLock:
    """A threading.Lock; an acquisition waited if the lock was not free at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.acquired = 0
        self.waited = 0

    def __enter__(self) -> None:
        waits = not self._lock.acquire(blocking=False)
        if waits:
            self._lock.acquire()
        # Counted while it is held, so that no count is lost.
        self.acquired += 1
        self.waited += waits

    def __exit__(self, *_: object) -> None:
        self._lock.release()
