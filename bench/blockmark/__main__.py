"""The command `blockmark`, also as `python -m blockmark`: from its start to its end.

Before the command's own parts are imported, which takes time, it can be stopped and leaves
nothing behind.
"""

from __future__ import annotations

import sys

from . import interrupts, reaper


def main() -> None:
    """Run the command line. Exits with its code, 130 where it was interrupted."""
    try:
        interrupts.install()
        reaper.start()
        try:
            from .cli import main as command_line

            command_line()
        finally:
            interrupts.end()
            reaper.end()
    except KeyboardInterrupt:
        sys.exit(interrupts.EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
