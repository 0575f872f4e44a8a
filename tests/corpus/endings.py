"""Classes that never answer, end their process, or eat its memory."""

from __future__ import annotations

import os
import signal
import sys

from blockmark_impls.contract import Copy
from blockmark_impls.python.list_pool import ListPool
from blockmark_impls.python.vector import VectorManager


class HangsOnTruncate(VectorManager):
    """`truncate` inside a block never comes back."""

    fault = "hang"
    alone = True

    def truncate(self, seq: int, num_tokens: int) -> None:
        while self._tables[seq] and self._room[seq] > 0:
            pass
        super().truncate(seq, num_tokens)


class HangsWhenEmpty(ListPool):
    """`take` waits for a block when there is none."""

    fault = "hang"
    alone = True

    def take(self, k: int) -> list[int]:
        while k > len(self._free):
            pass
        return super().take(k)


class Exits(VectorManager):
    """`fork` ends the process, with code 0."""

    fault = "exits"
    alone = True

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        os._exit(0)


class LeavesPython(VectorManager):
    """`drop_front` raises SystemExit."""

    fault = "exits"

    def drop_front(self, seq: int, num_blocks: int) -> None:
        sys.exit("no window")


class Crashes(VectorManager):
    """A copy reads where there is no memory."""

    fault = "crash"
    alone = True

    def append_slot(self, seq: int) -> Copy | None:
        made = super().append_slot(seq)
        if made:
            os.kill(os.getpid(), signal.SIGSEGV)
        return made


class EatsMemory(VectorManager):
    """`free` keeps a gigabyte each time."""

    fault = "memory"
    alone = True

    def free(self, seq: int) -> None:
        super().free(seq)
        self.hoard = [*getattr(self, "hoard", []), bytes(1 << 30)]
