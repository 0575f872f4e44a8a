"""What this process holds on its heaps, to tell a manager that keeps more and more."""

from __future__ import annotations

import ctypes
import gc
import sys


class _Mallinfo2(ctypes.Structure):
    # Of glibc's malloc.h; uordblks and hblkhd are the bytes in use, in arenas and mapped.
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    ]  # fmt: skip


def held() -> tuple[int, int]:
    """(Python's blocks, bytes of the C heap) in use now; 0 bytes where no one tells."""
    gc.collect()
    return sys.getallocatedblocks(), _c_heap()


def _c_heap() -> int:
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return 0
    mallinfo2.restype = _Mallinfo2
    info = mallinfo2()
    return int(info.uordblks + info.hblkhd)
