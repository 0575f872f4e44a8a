"""The scheduler's account of blocks: every change is an operation of the Program too.

Tables are kept in whole blocks on an oracle, which knows exactly what sharing leaves
free; tokens inside a block change nothing there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .oracle.model import Oracle
from .program import Op, ProgramBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blockmark_impls.contract import PoolConfig

    from .prefix_cache import Entry, PrefixCache
    from .tally import Tally


class Blocks:
    """Blocks of running slots and of cached prefixes, with the operations recorded."""

    def __init__(
        self,
        config: PoolConfig,
        builder: ProgramBuilder,
        tally: Tally,
        cache: PrefixCache | None,
    ) -> None:
        self._oracle = Oracle(config)
        self._builder = builder
        self._tally = tally
        self._cache = cache
        self._running_refs: dict[int, int] = {}  # block -> running tables that name it
        self.block_size = config.block_size
        self.total = config.total_blocks
        self.widest = config.max_blocks_per_seq
        # Kept back from admissions, so that one is not undone a step later.
        self.reserve = config.total_blocks // 100

    @property
    def num_free(self) -> int:
        """Blocks that nobody names, cached prefixes included among those who do."""
        return self._oracle.num_free_blocks

    @property
    def used(self) -> int:
        """Blocks that somebody names."""
        return self.total - self.num_free

    def length(self, slot: int) -> int:
        """Blocks of a running slot's table."""
        return len(self._oracle.tables[slot].blocks)

    def blocks_for(self, tokens: int) -> int:
        """ceil(tokens / block_size)."""
        return self._oracle.blocks_for(tokens)

    def could_ever_hold(self, tokens: int) -> bool:
        """Whether a request of so many tokens fits an empty pool and a block table."""
        return self.blocks_for(tokens) <= min(self.widest, self.total)

    def at_boundary(self, held: int) -> bool:
        """Whether one more token takes a block."""
        return held % self.block_size == 0

    def more_for(self, held: int, tokens: int) -> int:
        """Blocks that `tokens` more take."""
        return self.blocks_for(held + tokens) - self.blocks_for(held)

    def tokens_within(self, held: int, blocks: int) -> int:
        """Tokens that fit the last block and `blocks` more."""
        return max(0, (self.blocks_for(held) + blocks) * self.block_size - held)

    def count(self, slot: int) -> int:
        """Blocks in the table of a slot."""
        return len(self._oracle.tables[slot].blocks)

    def allocate(self, slot: int, tokens: int) -> None:
        """A new table."""
        blocks = self.blocks_for(tokens)
        self._builder.run(Op.ALLOCATE, slot, tokens)
        self._oracle.allocate(slot, blocks * self.block_size)
        self._took(slot, blocks)

    def extend(self, slot: int, held: int, tokens: int) -> None:
        """More tokens in a table that holds `held`."""
        blocks = self.more_for(held, tokens)
        self._builder.run(Op.EXTEND, slot, tokens)
        self._oracle.extend(slot, blocks * self.block_size)
        self._took(slot, blocks)

    def grow(self, slot: int) -> None:
        """One more block, for an append that is recorded with the others of the step."""
        self._oracle.extend(slot, self.block_size)
        self._took(slot, 1)

    def _took(self, slot: int, blocks: int) -> None:
        self._tally.blocks_taken += blocks
        if self._cache is not None and blocks:
            self._count_running(self._oracle.tables[slot].kept[-blocks:], 1)

    def free(self, slot: int) -> None:
        """End a table."""
        if self._cache is not None:
            self._count_running(self._oracle.tables[slot].kept, -1)
        self._builder.run(Op.FREE, slot)
        self._oracle.free(slot)

    def _count_running(self, blocks: Sequence[int], change: int) -> None:
        refs = self._running_refs
        for block in blocks:
            refs[block] = refs.get(block, 0) + change
            if not refs[block]:
                del refs[block]

    # What follows is about cached prefixes; without a cache it is never reached.

    def known(self, chain: Sequence[object], tokens: int) -> int:
        """Full blocks at the start of a prompt that the cache has, so that a token is left."""
        if self._cache is None or not chain:
            return 0
        run = self._cache.longest(chain)[1]
        return min(run, (tokens - 1) // self.block_size)

    def begin(self, slot: int, chain: Sequence[object], known: int, more: int) -> int:
        """Share `known` cached blocks with a new slot; the tokens of them.

        Asks first whether the `more` others would fit, as a scheduler does.
        """
        self._builder.run(Op.CAN_ALLOCATE, more)
        if not known:
            return 0
        assert self._cache is not None
        entry, _ = self._cache.longest(chain[:known])
        assert entry is not None
        self._cache.touch(entry)
        shared = self._oracle.tables[entry.slot].kept[:known]
        live = sum(block in self._running_refs for block in shared)
        self._tally.blocks_shared_live += live
        self._tally.blocks_revived += known - live
        self._builder.run(Op.FORK, entry.slot, slot, known)
        self._oracle.fork(entry.slot, slot, known)
        self._count_running(shared, 1)
        return known * self.block_size

    def remember(self, slot: int, chain: Sequence[object]) -> None:
        """Keep the full prompt blocks of a slot for others."""
        if self._cache is None:
            return
        entry, run = self._cache.longest(chain)
        if run == len(chain):
            if entry is not None:
                self._cache.touch(entry)
            return
        if not self._cache.has_room():
            self._shorten(next(self._cache.oldest_first()), 0)
        # An entry that is a part of the new one says nothing more.
        part = entry if entry is not None and len(entry.chain) == run else None
        new = self._cache.insert(chain)
        self._builder.run(Op.FORK, slot, new.slot, len(chain))
        self._oracle.fork(slot, new.slot, len(chain))
        if part is not None and part.chain:
            self._shorten(part, 0)

    def free_up(self, blocks: int) -> bool:
        """Evict cached blocks, the least recently used first, until `blocks` are free."""
        if self._cache is not None and self.num_free < blocks:
            for entry in self._cache.oldest_first():
                if self.num_free >= blocks:
                    break
                self._evict_from(entry, blocks - self.num_free)
        return self.num_free >= blocks

    def _evict_from(self, entry: Entry, wanted: int) -> None:
        table, refs = self._oracle.tables[entry.slot].kept, self._oracle.ref_counts
        keep, gained = len(table), 0
        while keep and gained < wanted:
            keep -= 1
            gained += refs[table[keep]] == 1
        if gained:
            self._tally.evicted_blocks += gained
            self._shorten(entry, keep)

    def _shorten(self, entry: Entry, blocks: int) -> None:
        assert self._cache is not None
        if blocks:
            tokens = blocks * self.block_size
            self._builder.run(Op.TRUNCATE, entry.slot, tokens)
            self._oracle.truncate(entry.slot, tokens)
        else:
            self._builder.run(Op.FREE, entry.slot)
            self._oracle.free(entry.slot)
        self._cache.shorten(entry, blocks)

    def drop_cache(self) -> None:
        """Free every cached prefix, in a step of its own that is off the clock."""
        if self._cache is None:
            return
        self._builder.step(phase=0)
        for entry in self._cache.oldest_first():
            self._shorten(entry, 0)
