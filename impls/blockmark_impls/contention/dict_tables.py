"""The tables of the locked engine, without its lock.

A list of free ids, a dict from request to its blocks, and a dict of ref counts, as a public
description of a serving engine has them. A request gets all of its blocks at once or None.
Its gaps are kept, since they are what is studied; `KNOWN_FAULTS` names them.
"""

from __future__ import annotations

from typing import ClassVar

# Of every engine with these tables. Proving an engine shows each of them, and no other.
KNOWN_FAULTS = (
    # A request id that is live already gets a second set of blocks; the first is lost.
    "duplicate-request-leaks",
    # A length of zero, or below, is served with no blocks and keeps its id.
    "empty-length-accepted",
    # Releasing a request that nobody knows says nothing, so a double release goes unseen.
    "unknown-release-silent",
    # Nothing gives a live request one block more, which every decode step needs.
    "no-growth",
)


class DictTables:
    """`total_blocks` blocks of `block_size` tokens; never waits and never locks."""

    known_faults: ClassVar[tuple[str, ...]] = KNOWN_FAULTS

    def __init__(self, total_blocks: int, block_size: int) -> None:
        self.total_blocks = total_blocks
        self.block_size = block_size
        self.free: list[int] = list(range(total_blocks))
        self.tables: dict[int, list[int]] = {}
        self.ref_counts: dict[int, int] = dict.fromkeys(range(total_blocks), 0)

    def blocks_for(self, num_tokens: int) -> int:
        """Blocks that hold so many tokens, rounded up."""
        return (num_tokens + self.block_size - 1) // self.block_size

    def take(self, request: int, num_tokens: int) -> list[int] | None:
        """Blocks for a request, each with a ref count of one; None if the pool is short."""
        needed = self.blocks_for(num_tokens)
        if len(self.free) < needed:
            return None
        blocks = [self.free.pop() for _ in range(needed)]
        for block in blocks:
            self.ref_counts[block] = 1
        self.tables[request] = blocks
        return blocks

    def give(self, request: int) -> None:
        """Drop a request's references; a block that nobody holds any more is free."""
        if request not in self.tables:
            return
        for block in self.tables.pop(request):
            self.ref_counts[block] -= 1
            if self.ref_counts[block] == 0:
                self.free.append(block)
