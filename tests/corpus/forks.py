"""Forks of prefixes, and of tables whose front was dropped."""

from __future__ import annotations

from blockmark_impls.python.vector import VectorManager


class PrefixOneShort(VectorManager):
    """A prefix of n > 1 blocks has n - 1."""

    fault = "fork prefix"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        if num_blocks is not None and len(self.block_table(child)) > 1:
            self._refs[self._tables[child].pop()] -= 1


class PrefixKeepsTheLength(VectorManager):
    """A prefix has the tokens left in its parent's last block, not none."""

    fault = "fork prefix"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._room[child] = self._room[parent]


class PrefixOfPartialBlocks(VectorManager):
    """A prefix may name a last block that is not full."""

    fault = "fork prefix"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        if num_blocks is not None and num_blocks == len(self._table_of(parent)):
            num_blocks = None
        super().fork(parent, child, num_blocks)


class ForkForgetsDropped(VectorManager):
    """A child does not know that the front of its parent was dropped."""

    fault = "fork prefix"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        super().fork(parent, child, num_blocks)
        self._first[child] = 0


class PrefixOfDroppedBlocks(VectorManager):
    """A prefix may name dropped blocks alone."""

    fault = "fork prefix"

    def fork(self, parent: int, child: int, num_blocks: int | None = None) -> None:
        if num_blocks is not None and 0 < num_blocks <= self._first[parent]:
            num_blocks = self._first[parent] + 1
        super().fork(parent, child, num_blocks)
