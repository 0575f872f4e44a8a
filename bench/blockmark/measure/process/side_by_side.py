"""Work that no clock times, done by as many processes at once as there are processors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from ..machine import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def side_by_side(
    work: Callable[[Item, Event], Result], items: Iterable[Item], most: int | None = None
) -> Iterator[Iterator[Result]]:
    """The result of each item, in their order; all are begun at once, `most` run at a time.

    Where the `with` is left, nothing more is begun, and the event tells the processes that
    `work` has started to end.
    """
    stop = Event()
    pool = ThreadPoolExecutor(most or usable_cores())
    try:
        futures = [pool.submit(work, item, stop) for item in items]
        yield (future.result() for future in futures)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
