"""Questions about free blocks by number, answered from a list of their ids.

What a pool that keeps ids in some other order must do first is to sort them: that is the
price of its answer, and part of it every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract import Copy, OutOfBlocks

if TYPE_CHECKING:
    from collections.abc import Iterable


def lowest_run(free: Iterable[int], k: int) -> int | None:
    """The lowest id from which on `k` ids are in `free`, or None. Raises ValueError if k < 1."""
    if k < 1:
        raise ValueError(f"a run of {k} blocks cannot be found")
    start = before = -2
    for block in sorted(free):
        if block != before + 1:
            start = block
        if block - start + 1 == k:
            return start
        before = block
    return None


def plan_compaction(free: Iterable[int], total_blocks: int, blocks: int) -> list[Copy]:
    """The moves that free the `blocks` highest ids of a pool of `total_blocks`.

    Each used id among them, from the top down, goes to the lowest free id that no earlier
    move took. Raises OutOfBlocks if fewer are free, ValueError if `blocks` is negative.
    """
    holes = sorted(free)
    check_top(blocks, len(holes))
    inside = set(holes[len(holes) - blocks :])
    used = (
        block
        for block in range(total_blocks - 1, total_blocks - blocks - 1, -1)
        if block not in inside
    )
    return [Copy(src, dst) for src, dst in zip(used, holes, strict=False)]


def check_top(blocks: int, free: int) -> None:
    """Raises as `plan_compaction` does."""
    if blocks < 0:
        raise ValueError(f"{blocks} blocks cannot be freed")
    if blocks > free:
        raise OutOfBlocks(f"{blocks} blocks wanted, {free} free")
