"""A free pool held against what every pool must do: each id of the pool is out once at most,
the free count adds up, exhaustion changes nothing, and blocks come back as declared.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import islice
from operator import index
from typing import TYPE_CHECKING, Any

from blockmark_impls.contract import OutOfBlocks

from .packed_rows import shown
from .reuse import ReuseOrderChecker
from .wrong import WrongAnswer, kind_of, raise_if_short, said, shown_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from blockmark.workload.oracle.pool_calls import PoolCall

_SCRIBBLE = -77
_MOST_WRITTEN, _MOST_KEPT = 12, 4_096


class PoolChecker:
    """One pool of `total_blocks`, and which of its blocks are out.

    `written` keeps the calls as one would write them, the last one too.
    """

    def __init__(self, pool: Any, total_blocks: int, reuse_order: str, ask: int = 1) -> None:
        """Every `ask` calls its `num_free` is asked for."""
        self._ask = ask
        self._arrays = False  # whether it hands out arrays, and so is given some
        self.pool = pool
        self.total_blocks = total_blocks
        self.usable_blocks = getattr(pool, "usable_blocks", total_blocks)
        self.out: dict[int, None] = {}  # the longest out first
        self.reuse = ReuseOrderChecker(reuse_order, self.usable_blocks)
        self.written: list[str] = []
        self.operations = 0
        self._free = bytearray(b"\1" * total_blocks)
        self._answers: deque[tuple[str, Any, list[int]]] = deque(maxlen=4)

    def play(self, calls: Iterable[PoolCall]) -> None:
        """Make the calls of a program. Raises WrongAnswer."""
        self.begin()
        for call in calls:
            self.make(call)

    def begin(self) -> None:
        """Compare a new pool. Raises WrongAnswer, as every call does."""
        self._compare_free("num_free of a new pool is")

    @property
    def num_free(self) -> int:
        """Blocks that should be free."""
        return self.usable_blocks - len(self.out)

    def make(self, call: PoolCall) -> None:
        """One call of a program."""
        number = call.numbers[0] if call.numbers else 0
        match call.method:
            case "take":
                self.take(number)
            case "drain":
                self.take(self.num_free)
            case "leave":
                self.take(max(0, self.num_free - number))
            case "give":
                self.give(_ranked(self.out, call.numbers))
            case "oldest":
                self.give(list(islice(self.out, number)))
            case "newest":
                self.give(list(islice(reversed(self.out), number)))
            case "range":
                first = number % self.total_blocks
                self.give([b for b in range(first, first + call.numbers[1]) if b in self.out])
            case "twice":
                self.give_twice()
            case "remove":
                self.remove(number % self.total_blocks)
            case "no_block":
                self.remove(number)
            case "find_contiguous":
                self.find_contiguous(number)
            case "plan_compaction":
                self.plan_compaction(number)
        self.operations += 1

    def take(self, k: int) -> None:
        """Take blocks, or find that there are too few."""
        self._do(f"take({k})", lambda: self._take(k))

    def give(self, ids: list[int]) -> None:
        """Give back blocks that are out."""

        def give() -> None:
            if not ids:
                return
            given = self._given(ids)
            self.pool.give(given)
            if list(given) != ids:
                raise WrongAnswer(f"changed what it was given: {shown(given)}", kind="arguments")
            # The caller's, who does with it as he likes.
            given[:] = [_SCRIBBLE] * len(ids)
            for block in ids:
                del self.out[block]
                self._free[block] = 1
            self.reuse.given(ids)

        self._do(f"give({ids if len(ids) <= _MOST_WRITTEN else shown(ids)})", give)

    def _given(self, ids: list[int]) -> Any:
        """The ids as one gives them who has them from `take`."""
        if not self._arrays or self.operations % 2:
            return list(ids)
        import numpy as np

        return np.array(ids)

    def give_twice(self) -> None:
        """Give what can't be given, where that is refused: a block twice in one call, one that
        is free, and numbers that are no blocks.
        """
        if not getattr(self.pool, "refuses_double_give", False):
            return
        free = self._free.find(1)
        wrong = [[block, block] for block in islice(self.out, 1)]
        wrong += [[free]] if free >= 0 else []
        wrong += [[*islice(self.out, 1), -1], [self.total_blocks]]
        for ids in wrong:
            call = f"give({ids})"
            self._do(call, partial(self._refused, partial(self.pool.give, ids), ValueError))

    def remove(self, block: int) -> None:
        """Take one block by its id, or find that it is not free."""

        def remove() -> None:
            if block in self.out or not 0 <= block < self.total_blocks:
                self._refused(lambda: self.pool.remove(block), ValueError)
                return
            self.pool.remove(block)
            self._went_out([block])
            self.reuse.removed(block)

        self._do(f"remove({block})", remove)

    def find_contiguous(self, k: int) -> None:
        """The lowest run of `k` >= 1 free blocks, among marks a block."""

        def find() -> None:
            wanted = self._free.find(b"\1" * k)
            right = None if wanted < 0 else wanted
            if (got := self.pool.find_contiguous(k)) != right:
                raise WrongAnswer(f"returned {got!r}; it should be {right}", kind="returned")

        self._do(f"find_contiguous({k})", find)

    def plan_compaction(self, blocks: int) -> None:
        """The plan, by walking both ends of the pool."""

        def plan() -> None:
            total, free = self.total_blocks, self._free
            if blocks > total - len(self.out):
                self._refused(lambda: self.pool.plan_compaction(blocks), OutOfBlocks)
                return
            sources = [b for b in range(total - 1, total - blocks - 1, -1) if not free[b]]
            lowest = (b for b in range(total) if free[b])
            wanted = list(zip(sources, lowest, strict=False))
            got = [tuple(move) for move in self.pool.plan_compaction(blocks)]
            if len(got) != len(wanted):
                raise WrongAnswer(
                    f"returned {len(got)} moves; it should be {len(wanted)}", kind="returned"
                )
            for number, (ours, theirs) in enumerate(zip(wanted, got, strict=True)):
                if ours != theirs:
                    raise WrongAnswer(
                        f"move {number} is {theirs}; it should be {ours}", kind="returned"
                    )

        self._do(f"plan_compaction({blocks})", plan)

    def _went_out(self, ids: Iterable[int]) -> None:
        for block in ids:
            self.out[block] = None
            self._free[block] = 0

    def _refused(self, call: Callable[[], object], error: type[Exception]) -> None:
        try:
            answer = call()
        except error:
            return
        except Exception as other:  # whatever a user's class raises is its answer
            raise_if_short(other)
            raise WrongAnswer(
                f"raised {shown_answer(other)}; it should be {error.__name__}",
                kind=f"no {error.__name__}",
            ) from None
        raise WrongAnswer(
            f"returned {shown_answer(answer)}; it should raise {error.__name__}",
            kind=f"no {error.__name__}",
        )

    def _do(self, text: str, act: Callable[[], None]) -> None:
        self.written.append(text)
        try:
            act()
            if self.operations % self._ask == 0:
                self._compare_free("then num_free is")
            self._compare_answers()
        except Exception as error:
            raise_if_short(error)
            raise WrongAnswer(said(error), kind=kind_of(error)) from None

    def _take(self, k: int) -> None:
        if k > self.num_free:
            self._refused(lambda: self.pool.take(k), OutOfBlocks)
            return
        answer = self.pool.take(k)
        self._arrays = hasattr(answer, "shape")
        try:
            ids = [index(block) for block in answer]
        except TypeError:
            raise WrongAnswer(
                f"returned {shown_answer(answer)}, which is no list of blocks", kind="ids"
            ) from None
        if len(ids) != k:
            raise WrongAnswer(f"returned {len(ids)} blocks: {shown(ids)}", kind="ids")
        for block in ids:
            if not 0 <= block < self.total_blocks:
                raise WrongAnswer(
                    f"returned {shown(ids)}: {block} is no block of a pool of {self.total_blocks}",
                    kind="ids",
                )
            if block in self.out:
                raise WrongAnswer(
                    f"returned {shown(ids)}: block {block} is out already", kind="live twice"
                )
            self.out[block] = None
            self._free[block] = 0
        if k <= _MOST_KEPT:
            self._answers.append((f"take({k})", answer, ids))
        self.reuse.taken(
            ids, lambda text: WrongAnswer(f"returned {shown(ids)}: {text}", kind="order")
        )

    def _compare_answers(self) -> None:
        """What `take` returned is the caller's: it stays, and he may change it."""
        for what, answer, was in self._answers:
            if list(answer) != was:
                raise WrongAnswer(
                    f"what {what} returned, {shown(was)}, is {shown(list(answer))} now",
                    kind="kept answer",
                )
        if len(self._answers) == self._answers.maxlen:
            _, answer, was = self._answers.popleft()
            if isinstance(answer, list):
                answer[:] = [_SCRIBBLE] * len(was)

    def _compare_free(self, what: str) -> None:
        if (free := self.pool.num_free) != self.num_free:
            raise WrongAnswer(f"{what} {free}; it should be {self.num_free}", kind="free count")


def _ranked(blocks: Iterable[int], ranks: Iterable[int]) -> list[int]:
    """The blocks of these ranks, each taken from those that are left; fewer if none is."""
    left = sorted(blocks)
    return [left.pop(rank % len(left)) for rank in ranks if left]
