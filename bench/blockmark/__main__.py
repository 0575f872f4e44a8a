"""The command `blockmark`, also as `python -m blockmark`: from its start to its end.

Before the command's own parts are imported, which takes time, it can be stopped and leaves
nothing behind.
"""

from __future__ import annotations

# Built in, where `signal` takes a while to import.
import _signal  # type: ignore[import-not-found]

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    # Until `interrupts` is there: an end without a word.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import os
import sys
from contextlib import suppress

from . import interrupts, reaper


def main() -> None:
    """Run the command line. Exits with its code, 130 where it was interrupted."""
    try:
        try:
            interrupts.install()
            with interrupts.interrupts_wait():
                reaper.start()
            from .cli import main as command_line

            command_line()
        finally:
            interrupts.end()
            if interrupts.interrupted():
                _leave()
            reaper.end()
    except KeyboardInterrupt:
        _leave()


def _leave() -> None:
    """Exit with the code of an interrupt, and not by way of the interpreter.

    That waits for threads, and ends by a signal where the interrupt came inside an `exec`. What
    is left is removed right after, when no thread of this process can make more of it.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(interrupts.EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
