"""The order in which freed blocks come back, held against what was declared.

It is a property that users see: a change of it moved blocks across a whole engine
once, and nobody noticed until a run crashed. Blocks go back in the order that the contract
states; of those that one call takes the order among themselves is not looked at.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Error = Callable[[str], Exception]

_UP, _FREE_AGAIN = 0, 1


class ReuseOrderChecker:
    """Follows what is given back and taken; knows nothing of tables.

    Without `within_calls`, blocks that came back in one call may come in any order.
    """

    def __init__(self, order: str, usable_blocks: int, *, within_calls: bool = True) -> None:
        self.order = order
        self._within_calls = within_calls
        self._call_of: dict[int, int] = {}
        self._calls = 0
        self.usable_blocks = usable_blocks
        # Ids that were given back and not taken since, the longest free first.
        self._queue: OrderedDict[int, None] = OrderedDict()
        self._seen: set[int] = set()
        # A mark at each id that is in the queue, to find the lowest in a range quickly.
        self._marks = bytearray(usable_blocks + 64)
        self._cursor = 0  # next-fit: behind the last block that was taken

    @property
    def free_again(self) -> Iterable[int]:
        """Ids that were given back and not taken since."""
        return self._queue.keys()

    def given(self, ids: Sequence[int]) -> None:
        """One call gave these ids back, in this order."""
        self._calls += 1
        if not self._within_calls:
            self._call_of.update(dict.fromkeys(ids, self._calls))
        for block in ids:
            self._queue[block] = None
            self._mark(block, _FREE_AGAIN)

    def taken(self, ids: Sequence[int], error: Error) -> None:
        """One call took these ids. Raises `error` where the declared order is broken."""
        wanted = set(ids)
        if self.order == "LIFO":
            # A block never used before lies below all that came back.
            if missing := self._missing(len(ids), wanted, last=True):
                raise error(f"{_shown(missing)} were freed last and not taken (LIFO declared)")
        elif self.order == "FIFO":
            self._check_fifo(wanted, error)
        for block in ids:
            self.removed(block)
        if self.order == "lowest":
            self._check_lowest(ids, error)
        elif self.order == "next-fit":
            self._check_next_fit(ids, error)

    def removed(self, block: int) -> None:
        """One block left by its id, which no order has a say in."""
        self._seen.add(block)
        if block in self._queue:
            del self._queue[block]
            self._mark(block, _UP)

    def _missing(self, count: int, wanted: set[int], *, last: bool) -> set[int]:
        """Those of the next `count` ids, from one end of the queue, that were not taken."""
        ends = reversed(self._queue) if last else iter(self._queue)
        following = {block for block, _ in zip(ends, range(count), strict=False)}
        missing, instead = following - wanted, (wanted & self._queue.keys()) - following
        if not self._within_calls:
            calls = [sorted(self._call_of[block] for block in some) for some in (missing, instead)]
            if calls[0] == calls[1]:
                return set()
        return missing

    def _check_fifo(self, wanted: set[int], error: Error) -> None:
        # A block never used before was free the longest; then the oldest.
        old = wanted & self._seen
        unused = self.usable_blocks - len(self._seen) - (len(wanted) - len(old))
        if old and unused > 0:
            raise error(
                f"{_shown(old)} were taken before {unused} that were never used (FIFO declared)"
            )
        if missing := self._missing(len(old), old, last=False):
            raise error(f"{_shown(missing)} were freed first and not taken (FIFO declared)")

    def _check_lowest(self, ids: Sequence[int], error: Error) -> None:
        if ids and (lower := self._marks.find(_FREE_AGAIN, 0, max(ids))) >= 0:
            raise error(f"block {max(ids)} was taken though {lower} is free (lowest declared)")

    def _check_next_fit(self, ids: Sequence[int], error: Error) -> None:
        # From the cursor on and around the end, no block that came back is passed over.
        if not ids:
            return
        last = max(ids, key=lambda block: (block < self._cursor, block))
        passed = self._marks.find(_FREE_AGAIN, self._cursor, None if last < self._cursor else last)
        if passed < 0 and last < self._cursor:
            passed = self._marks.find(_FREE_AGAIN, 0, last)
        if passed >= 0:
            raise error(
                f"block {last} was taken though {passed} "
                f"comes first after block {self._cursor - 1} (next-fit declared)"
            )
        self._cursor = last + 1

    def _mark(self, block: int, mark: int) -> None:
        # Where some blocks are not usable, ids go beyond their number.
        if block >= len(self._marks):
            self._marks.extend(bytes(block + 1 - len(self._marks)))
        self._marks[block] = mark


def _shown(blocks: set[int]) -> str:
    listed = sorted(blocks)
    more = ", ..." if len(listed) > 6 else ""
    return f"blocks {', '.join(map(str, listed[:6]))}{more}"
