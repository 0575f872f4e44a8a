"""Where the built-in structures can be mutated, each place with a name that stays.

A site is named by its file, its operator, the line as it stands and which of that line's
changes by that operator it is: nothing that moves when lines are added elsewhere.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import native_sites
import python_sites

from blockmark.measure.proof.mutants import Mutant
from blockmark_impls.build_tools import NATIVE

if TYPE_CHECKING:
    from collections.abc import Iterator

IMPLS = NATIVE.parent
# The manager's own code with a table of small pages, so that its loops over pages are met in
# tiny tables; and with one that has no pages at all.
_PAGED = "Manager<TwoLevelTable<std::uint32_t, 8>, StackPool<std::uint32_t>, ArrayRefCounts>"
_UNPAGED = "Manager<HashTable, ListPool<std::int32_t>, ArrayRefCounts>"
# A file and the classes that it is proved by; a second one is asked where the first survives.
FILES: dict[str, tuple[str, ...]] = {
    "python/manager.py": ("vector:VectorManager", "two_level:TwoLevelManager"),
    "python/vector.py": ("VectorManager",),
    "python/hash_map.py": ("HashMapManager",),
    "python/flat_stack.py": ("FlatStackManager",),
    "python/flat_stack_numpy.py": ("FlatStackNumpyManager",),
    "python/two_level.py": ("TwoLevelManager",),
    "python/list_pool.py": ("ListPool",),
    "python/stack_pool.py": ("StackPool",),
    "python/stack_pool_numpy.py": ("NumpyStackPool",),
    "python/linked_list_pool.py": ("LinkedListPool",),
    "python/bitmap_pool.py": ("BitmapPool",),
    "python/free_runs.py": ("list_pool:ListPool",),
    "native/manager.hpp": (_PAGED, _UNPAGED),
    "native/batch.hpp": ("BatchCheck",),
    "native/tables/flat.hpp": ("FlatTable<std::uint32_t>",),
    "native/tables/hash.hpp": ("HashTable",),
    "native/tables/open_hash.hpp": ("OpenHashTable",),
    "native/tables/two_level.hpp": ("TwoLevelTable<std::uint32_t>",),
    "native/tables/vector.hpp": ("VectorTable",),
    "native/pools/bitmap.hpp": ("BitmapPool<std::int32_t>",),
    "native/pools/linked_list.hpp": ("LinkedList<8>",),
    "native/pools/list.hpp": ("ListPool<std::int32_t>",),
    "native/pools/lru.hpp": ("LruPool<std::int32_t>",),
    "native/pools/stack.hpp": ("StackPool<std::int32_t>",),
}


@dataclass(frozen=True, slots=True)
class Site:
    """One change of one place: source[start:end] becomes another text."""

    number: int
    of: str
    operator: str
    line: str
    occurrence: int
    start: int
    end: int
    becomes: str

    @property
    def name(self) -> str:
        """The same as long as the line stands in the file."""
        return f"{self.of} | {self.operator} | {self.line} | {self.occurrence}"

    @property
    def shown(self) -> str:
        """The line, and what it becomes."""
        source = text_of(self.of)
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        changed = source[first : self.start] + self.becomes + source[self.end : last]
        return f"{self.line}  ->  {' '.join(changed.split())}"

    def mutant(self, offers: str) -> Mutant:
        """As a row of mutants.toml: whole lines, as many as stand there once."""
        source = text_of(self.of)
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end) + 1
        while source.count(source[first:last]) > 1:
            first = source.rfind("\n", 0, first - 1) + 1
        becomes = source[first : self.start] + self.becomes + source[self.end : last]
        name = f"m{self.number}"
        return Mutant(name, self.of, offers, source[first:last], becomes, self.operator, self.name)


@cache
def text_of(of: str) -> str:
    """A file of the package."""
    return (IMPLS / of).read_text("utf-8")


@cache
def all_sites() -> list[Site]:
    """Every site, in the order of files and places."""
    found: list[Site] = []
    for of in FILES:
        found += _sites(of, len(found))
    return found


def _sites(of: str, number: int) -> Iterator[Site]:
    source = text_of(of)
    changes = (python_sites if of.endswith(".py") else native_sites).changes(source)
    seen: Counter[tuple[str, str]] = Counter()
    for change in sorted(set(changes)):
        if source[change.start : change.end] == change.becomes:
            continue  # `while True` with a condition that always holds
        line = source[source.rfind("\n", 0, change.start) + 1 : source.find("\n", change.start)]
        seen[change.operator, line.strip()] += 1
        yield Site(
            number,
            of,
            change.operator,
            line.strip(),
            seen[change.operator, line.strip()],
            change.start,
            change.end,
            change.becomes,
        )
        number += 1
