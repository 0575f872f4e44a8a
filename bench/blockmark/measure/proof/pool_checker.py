"""A free pool held against what every pool must do: each id of the pool is out once at most,
the free count adds up, exhaustion changes nothing, and blocks come back as declared.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from blockmark_impls.contract import OutOfBlocks

from .checker import WrongAnswer
from .packed_rows import shown
from .reuse import ReuseOrderChecker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from blockmark.workload.oracle.pool_calls import PoolCall


class PoolChecker:
    """One pool of `total_blocks`, and which of its blocks are out.

    `written` keeps the calls as one would write them, the last one too.
    """

    def __init__(self, pool: Any, total_blocks: int, reuse_order: str) -> None:
        self.pool = pool
        self.total_blocks = total_blocks
        self.usable_blocks = getattr(pool, "usable_blocks", total_blocks)
        self.out: set[int] = set()
        self.reuse = ReuseOrderChecker(reuse_order, self.usable_blocks)
        self.written: list[str] = []
        self.operations = 0

    def play(self, calls: Iterable[PoolCall]) -> None:
        """Make the calls of a program. Raises WrongAnswer."""
        self.begin()
        for call in calls:
            self._play(call)
            self.operations += 1

    def begin(self) -> None:
        """Compare a new pool. Raises WrongAnswer, as every call does."""
        self._compare_free("num_free of a new pool is")

    @property
    def num_free(self) -> int:
        """Blocks that should be free."""
        return self.usable_blocks - len(self.out)

    def _play(self, call: PoolCall) -> None:
        match call.method:
            case "take":
                self.take(call.numbers[0])
            case "drain":
                self.take(self.num_free)
            case "give":
                self.give(_ranked(self.out, call.numbers))
            case "remove":
                self.remove(call.numbers[0] % self.total_blocks)
            case "find_contiguous":
                self.find_contiguous(call.numbers[0])
            case "plan_compaction":
                self.plan_compaction(call.numbers[0])

    def take(self, k: int) -> None:
        """Take blocks, or find that there are too few."""
        self._do(f"take({k})", lambda: self._take(k))

    def give(self, ids: list[int]) -> None:
        """Give back blocks that are out."""

        def give() -> None:
            if ids:
                self.pool.give(ids)
                self.out.difference_update(ids)
                self.reuse.given(ids)

        self._do(f"give({ids})", give)

    def remove(self, block: int) -> None:
        """Take one block by its id, or find that it is not free."""

        def remove() -> None:
            if block in self.out:
                self._refused(lambda: self.pool.remove(block), ValueError)
                return
            self.pool.remove(block)
            self.out.add(block)
            self.reuse.removed(block)

        self._do(f"remove({block})", remove)

    def find_contiguous(self, k: int) -> None:
        """The lowest run of `k` free blocks, by trying every block."""

        def find() -> None:
            free = self._free()
            starts = (b for b in sorted(free) if all(b + i in free for i in range(1, k)))
            wanted = next(starts, None)
            if (got := self.pool.find_contiguous(k)) != wanted:
                raise WrongAnswer(f"returned {got!r}; it should be {wanted}")

        self._do(f"find_contiguous({k})", find)

    def plan_compaction(self, blocks: int) -> None:
        """The plan, by walking both ends of the pool."""

        def plan() -> None:
            free = self._free()
            if blocks > len(free):
                self._refused(lambda: self.pool.plan_compaction(blocks), OutOfBlocks)
                return
            top = range(self.total_blocks - 1, self.total_blocks - blocks - 1, -1)
            wanted = list(zip((b for b in top if b not in free), sorted(free), strict=False))
            got = [tuple(move) for move in self.pool.plan_compaction(blocks)]
            if len(got) != len(wanted):
                raise WrongAnswer(f"returned {len(got)} moves; it should be {len(wanted)}")
            for number, (ours, theirs) in enumerate(zip(wanted, got, strict=True)):
                if ours != theirs:
                    raise WrongAnswer(f"move {number} is {theirs}; it should be {ours}")

        self._do(f"plan_compaction({blocks})", plan)

    def _free(self) -> set[int]:
        return set(range(self.total_blocks)) - self.out

    def _refused(self, call: Callable[[], object], error: type[Exception]) -> None:
        try:
            answer = call()
        except error:
            return
        except Exception as other:  # whatever a user's class raises is its answer
            raise WrongAnswer(f"raised {other!r}; it should be {error.__name__}") from None
        raise WrongAnswer(f"returned {answer!r}; it should raise {error.__name__}")

    def _do(self, text: str, act: Callable[[], None]) -> None:
        self.written.append(text)
        try:
            act()
            self._compare_free("then num_free is")
        except (MemoryError, WrongAnswer):
            raise
        except Exception as error:
            raise WrongAnswer(f"raised {error!r}") from None

    def _take(self, k: int) -> None:
        if k > self.num_free:
            self._refused(lambda: self.pool.take(k), OutOfBlocks)
            return
        answer = self.pool.take(k)
        try:
            ids = [index(block) for block in answer]
        except TypeError:
            raise WrongAnswer(f"returned {answer!r}, which is no list of blocks") from None
        if len(ids) != k:
            raise WrongAnswer(f"returned {len(ids)} blocks: {shown(ids)}")
        for block in ids:
            if not 0 <= block < self.total_blocks:
                raise WrongAnswer(
                    f"returned {shown(ids)}: {block} is no block of a pool of {self.total_blocks}"
                )
            if block in self.out:
                raise WrongAnswer(f"returned {shown(ids)}: block {block} is out already")
            self.out.add(block)
        self.reuse.taken(ids, lambda text: WrongAnswer(f"returned {shown(ids)}: {text}"))

    def _compare_free(self, what: str) -> None:
        if (free := self.pool.num_free) != self.num_free:
            raise WrongAnswer(f"{what} {free}; it should be {self.num_free}")


def _ranked(blocks: Iterable[int], ranks: Iterable[int]) -> list[int]:
    """The blocks of these ranks, each taken from those that are left; fewer if none is."""
    left = sorted(blocks)
    return [left.pop(rank % len(left)) for rank in ranks if left]
