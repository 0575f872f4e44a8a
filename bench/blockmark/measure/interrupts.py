"""Ctrl-C and polite kills: one way to be stopped, and none in the middle of keeping a result."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """A polite kill is treated like Ctrl-C: what is finished is published."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """What is done in here is done as a whole: an interrupt that comes is raised at its end.

    Not by blocking signals, which another thread of the process would take.
    """
    came: list[int] = []

    def remember(this: int, _: Any) -> None:
        came.append(this)

    before: dict[int, Any] = {}
    try:
        # In here: one that comes between the two must find the first put back.
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, remember)
        yield
    finally:
        for stopping, handler in before.items():
            signal.signal(stopping, handler)
    if came:
        signal.raise_signal(came[0])
