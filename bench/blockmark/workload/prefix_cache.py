"""A prefix cache: finished prompts stay in cache slots until their blocks are needed.

An entry is a slot of the manager that holds a prefix by a fork, so every
implementation can serve it. A block that only the cache names is free to be evicted;
the entry used least recently gives up its last blocks first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(slots=True)
class Entry:
    """One cached prefix: its slot, and the names of its blocks from the first on."""

    slot: int
    chain: list[object]


class PrefixCache:
    """Which prefixes are held where; knows names and slots, no physical blocks."""

    def __init__(self, slots: Sequence[int]) -> None:
        self._free_slots = list(reversed(slots))
        self._entries: OrderedDict[int, Entry] = OrderedDict()  # by slot, oldest use first
        self._holders: dict[object, dict[int, None]] = {}  # block name -> slots that hold it

    def __len__(self) -> int:
        return len(self._entries)

    def longest(self, chain: Sequence[object]) -> tuple[Entry | None, int]:
        """An entry with the longest known run of `chain` from its start, and the run.

        Names are prefix-chained, so whoever holds the last one holds all before it.
        """
        run = 0
        while run < len(chain) and chain[run] in self._holders:
            run += 1
        if run == 0:
            return None, 0
        slot = next(iter(self._holders[chain[run - 1]]))
        return self._entries[slot], run

    def touch(self, entry: Entry) -> None:
        """It was used now."""
        self._entries.move_to_end(entry.slot)

    def has_room(self) -> bool:
        """Whether a slot is left for one more entry."""
        return bool(self._free_slots)

    def insert(self, chain: Sequence[object]) -> Entry:
        """A new entry in a free slot. Raises IndexError if there is none."""
        entry = Entry(self._free_slots.pop(), list(chain))
        self._entries[entry.slot] = entry
        for name in entry.chain:
            self._holders.setdefault(name, {})[entry.slot] = None
        return entry

    def oldest_first(self) -> Iterator[Entry]:
        """Entries by last use; they may be shortened or removed meanwhile."""
        yield from list(self._entries.values())

    def shorten(self, entry: Entry, blocks: int) -> None:
        """Keep the first `blocks` blocks; with none left the entry is gone."""
        for name in entry.chain[blocks:]:
            holders = self._holders[name]
            del holders[entry.slot]
            if not holders:
                del self._holders[name]
        del entry.chain[blocks:]
        if not entry.chain:
            del self._entries[entry.slot]
            self._free_slots.append(entry.slot)
