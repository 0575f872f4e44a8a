"""The duties of an engine's free pool in plain lists and dicts: what an object a block costs.

Ref counts, a prefix cache with an eviction order, and removal from the middle are there, as
in vLLM's pool; block objects, events and metrics are not. Blocks without a hash are a stack;
those with one wait in the order in which they came back, and are evicted when the stack is
empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract import OutOfBlocks

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence


class ListDutiesPool:
    """A free pool with ref counts and a prefix cache; ids are int objects."""

    def __init__(self, total_blocks: int) -> None:
        if total_blocks < 1:
            raise ValueError(f"total_blocks = {total_blocks} must be at least 1")
        self._refs = [0] * total_blocks
        self._hash_of: list[Hashable | None] = [None] * total_blocks
        self._block_of: dict[Hashable, int] = {}
        self._free = list(range(total_blocks - 1, -1, -1))
        self._cached: dict[int, None] = {}  # free, with contents: the oldest first

    @property
    def num_free(self) -> int:
        return len(self._free) + len(self._cached)

    def take(self, k: int) -> list[int]:
        """Take `k` blocks with ref count 1. Raises OutOfBlocks, ValueError."""
        if k < 0:
            raise ValueError(f"k = {k} must not be negative")
        free = self._free
        if k > len(free):
            if k > self.num_free:
                raise OutOfBlocks(f"{k} blocks are wanted, {self.num_free} are free")
            self._evict(k - len(free))
        start = len(free) - k
        taken = free[start:]
        del free[start:]
        taken.reverse()
        refs = self._refs
        for block in taken:
            refs[block] = 1
        return taken

    def give(self, ids: Sequence[int]) -> None:
        """Take a reference off each; those that nobody holds are free again."""
        refs, hash_of = self._refs, self._hash_of
        released = []
        for block in ids:
            left = refs[block] - 1
            refs[block] = left
            if not left:
                if hash_of[block] is None:
                    released.append(block)
                else:
                    self._cached[block] = None
        released.reverse()
        self._free += released

    def keep(self, block: int, hash_value: Hashable) -> None:
        """Note the contents of a block that is held, so that it can be found again."""
        self._hash_of[block] = hash_value
        self._block_of[hash_value] = block

    def find(self, hash_value: Hashable) -> int | None:
        """The block with these contents, held or free."""
        return self._block_of.get(hash_value)

    def touch(self, ids: Iterable[int]) -> None:
        """One more reference on each block that was found; a free one is so no longer."""
        for block in ids:
            if not self._refs[block]:
                del self._cached[block]
            self._refs[block] += 1

    def _evict(self, count: int) -> None:
        """Forget the contents of the blocks that have been free the longest."""
        evicted: list[int] = []
        for block in self._cached:
            if len(evicted) == count:
                break
            evicted.append(block)
        for block in evicted:
            del self._cached[block]
            hash_value, self._hash_of[block] = self._hash_of[block], None
            if hash_value is not None and self._block_of.get(hash_value) == block:
                del self._block_of[hash_value]
        # They are older than whatever is on the stack.
        evicted.reverse()
        self._free[:0] = evicted
