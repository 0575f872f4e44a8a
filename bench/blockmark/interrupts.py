"""Ctrl-C, a polite kill, a terminal that is closed: one way to be stopped, for every command.

The first of these signals ends all that the command has started and raises KeyboardInterrupt;
a command that keeps results publishes what is finished. Those that follow are passed over
while it does so, and end it at once when it takes too long.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import reaper

if TYPE_CHECKING:
    from collections.abc import Iterator

EXIT_INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Publishing a large run takes a second or two.
_PATIENCE_S = 5.0
_LOOK_EVERY_S = 0.2

_first_at: float | None = None
_held = 0
_came = False


def install() -> None:
    """Have the signals stop this command; one that is ignored, as under nohup, stays so."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def end() -> None:
    """From now on the command ends by itself, and no signal is needed."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def interrupted() -> bool:
    """Whether a signal came: then what processes say is said of processes that were ended."""
    return _first_at is not None


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """What is done in here is done as a whole: an interrupt that comes is raised at its end.

    Not by blocking signals, which another thread of the process would take.
    """
    global _held, _came
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        if _came and not _held:
            _came = False
            _stop()


def _stop(*_: Any) -> None:
    global _first_at, _came
    if _first_at is not None:
        if time.monotonic() - _first_at > _PATIENCE_S:
            os._exit(EXIT_INTERRUPTED)
    elif _held:
        _came = True
    else:
        _first_at = time.monotonic()
        reaper.end_processes()
        # What another thread starts from now on, as the next of many compilers, is waited for.
        threading.Thread(target=_end_what_starts, daemon=True).start()
        raise KeyboardInterrupt


def _end_what_starts() -> None:
    while True:
        time.sleep(_LOOK_EVERY_S)
        reaper.end_processes()
