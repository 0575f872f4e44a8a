"""The order in which freed blocks come back, held against what was declared.

It is a property that users see: a change of it moved blocks across a whole engine
once, and nobody noticed until a run crashed. Blocks that come back in one call form
a group, within which any order is allowed.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Error = Callable[[str], Exception]


class ReuseOrderChecker:
    """Follows what is given back and taken; knows nothing of tables."""

    def __init__(self, order: str, usable_blocks: int) -> None:
        self.order = order
        self.usable_blocks = usable_blocks
        self._groups: dict[int, set[int]] = {}  # by age, oldest first
        self._group_of: dict[int, int] = {}
        self._seen: set[int] = set()
        self._numbers = count()
        self._cursor = 0  # next-fit: behind the last block that was taken

    @property
    def free_again(self) -> Iterable[int]:
        """Ids that were given back and not taken since."""
        return self._group_of.keys()

    def given(self, ids: Sequence[int]) -> None:
        """One call gave these ids back."""
        if ids:
            number = next(self._numbers)
            self._groups[number] = set(ids)
            self._group_of.update(dict.fromkeys(ids, number))

    def taken(self, ids: Sequence[int], error: Error) -> None:
        """One call took these ids. Raises `error` where the declared order is broken."""
        if self.order == "LIFO":
            self._check_lifo(set(ids), error)
        elif self.order == "FIFO":
            self._check_fifo(set(ids), error)
        elif self.order == "lowest":
            self._check_lowest(ids, error)
        elif self.order == "next-fit":
            self._check_next_fit(ids, error)
        for block in ids:
            self.removed(block)

    def removed(self, block: int) -> None:
        """One block left by its id, which no order has a say in."""
        self._seen.add(block)
        number = self._group_of.pop(block, None)
        if number is not None:
            self._groups[number].discard(block)
            if not self._groups[number]:
                del self._groups[number]

    def _check_lifo(self, wanted: set[int], error: Error) -> None:
        # The newest groups first; a block never used before lies below them all.
        wanted = self._without(reversed(self._groups.values()), wanted, "last (LIFO", error)
        if wanted & self._seen:
            raise error(f"{_shown(wanted)} were not freed last (LIFO declared)")

    def _check_fifo(self, wanted: set[int], error: Error) -> None:
        # A block never used before was free the longest; then the oldest groups.
        old = wanted & self._seen
        unused = self.usable_blocks - len(self._seen) - (len(wanted) - len(old))
        if old and unused > 0:
            raise error(
                f"{_shown(old)} were freed after {unused} that were never used (FIFO declared)"
            )
        self._without(self._groups.values(), old, "first (FIFO", error)

    def _without(
        self, groups: Iterable[set[int]], wanted: set[int], which: str, error: Error
    ) -> set[int]:
        """What is left of `wanted` when whole groups, and a part of the last, are taken."""
        for group in groups:
            if not wanted:
                break
            if not (group <= wanted or wanted <= group):
                raise error(f"{_shown(wanted)} are not those freed {which} declared)")
            wanted = wanted - group
        return wanted

    def _check_lowest(self, ids: Sequence[int], error: Error) -> None:
        left = self._group_of.keys() - set(ids)
        if left and ids and min(left) < max(ids):
            raise error(f"block {max(ids)} was taken though {min(left)} is free (lowest declared)")

    def _check_next_fit(self, ids: Sequence[int], error: Error) -> None:
        # From the cursor on and around the end, no block that came back is passed over.
        if not ids:
            return
        order = sorted(ids, key=self._from_cursor)
        last = self._from_cursor(order[-1])
        passed = [b for b in self._group_of.keys() - set(ids) if self._from_cursor(b) < last]
        if passed:
            raise error(
                f"block {order[-1]} was taken though {min(passed, key=self._from_cursor)} "
                f"comes first after block {self._cursor - 1} (next-fit declared)"
            )
        self._cursor = order[-1] + 1

    def _from_cursor(self, block: int) -> tuple[bool, int]:
        return block < self._cursor, block


def _shown(blocks: set[int]) -> str:
    listed = sorted(blocks)
    more = ", ..." if len(listed) > 6 else ""
    return f"blocks {', '.join(map(str, listed[:6]))}{more}"
