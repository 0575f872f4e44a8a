"""Packing tables of Python ints into the int32 rows that a kernel reads."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray


@lru_cache(maxsize=4096)
def _packer(length: int) -> Callable[..., None]:
    return Struct(f"{length}i").pack_into


def write_rows(
    rows: Sequence[tuple[int, Collection[int]]], out: NDArray[np.int32], lengths: NDArray[np.int32]
) -> None:
    """Write `rows`, pairs of (dropped blocks, ids of the rest), as `write_block_tables` says.

    `out` and `lengths` stay untouched when ValueError is raised. `struct` turns ints
    into bytes twice as fast as assigning a list to a slice of an array does.
    """
    import numpy as np

    count, width = out.shape
    if count != len(rows):
        raise ValueError(f"out has {count} rows for {len(rows)} sequences")
    scratch = bytearray(4 * count * width)
    totals = []
    start = 0
    for dropped, ids in rows:
        length = len(ids)
        if dropped + length > width:
            raise ValueError(f"a table of {dropped + length} blocks is wider than out ({width})")
        _packer(length)(scratch, 4 * (start + dropped), *ids)
        totals.append(dropped + length)
        start += width
    lengths[:] = totals
    out[:] = np.frombuffer(scratch, np.int32).reshape(count, width)
