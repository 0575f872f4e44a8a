<<<<<<< HEAD
"""A free pool held against what every pool must do: each id of the pool is out once at most,
the free count adds up, exhaustion changes nothing, and blocks come back as declared.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from blockmark_impls.contract import OutOfBlocks

from .packed_rows import shown
from .reuse import ReuseOrderChecker
from .verify import WrongAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from blockmark.workload.pool_ops import PoolCall


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
        """Make the calls. Raises WrongAnswer."""
        self._compare_free("num_free of a new pool is")
        for call in calls:
            try:
                self._call(call)
                self._compare_free("then num_free is")
            except (MemoryError, WrongAnswer):
                raise
            except Exception as error:
                raise WrongAnswer(f"raised {error!r}") from None
            self.operations += 1

    @property
    def num_free(self) -> int:
        """Blocks that should be free."""
        return self.usable_blocks - len(self.out)

    def _call(self, call: PoolCall) -> None:
        match call.method:
            case "take":
                self._take(call.numbers[0])
            case "drain":
                self._take(self.num_free)
            case "give":
                ids = _ranked(self.out, call.numbers)
                self._write(f"give({ids})")
                if ids:
                    self.pool.give(ids)
                    self.out.difference_update(ids)
                    self.reuse.given(ids)
            case "remove":
                for block in _ranked(self.reuse.free_again, call.numbers):
                    self._write(f"remove({block})")
                    self.pool.remove(block)
                    self.out.add(block)
                    self.reuse.removed(block)
            case "find_contiguous":
                self._find_contiguous(call.numbers[0])
            case "plan_compaction":
                self._plan_compaction(call.numbers[0])

    def _take(self, k: int) -> None:
        self._write(f"take({k})")
        try:
            answer = self.pool.take(k)
        except OutOfBlocks as error:
            if k <= self.num_free:
                raise WrongAnswer(
                    f"OutOfBlocks({error}) where {self.num_free} blocks are free"
                ) from None
            return
        ids = [index(block) for block in answer]
        if k > self.num_free:
            raise WrongAnswer(
                f"returned {shown(ids)} where {self.num_free} blocks are free and the contract "
                "says OutOfBlocks"
            )
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

    def _find_contiguous(self, k: int) -> None:
        """The lowest run of `k` free blocks, by trying every one."""
        free = self._free()
        starts = (block for block in sorted(free) if free.issuperset(range(block, block + k)))
        self._compare(f"find_contiguous({k})", self.pool.find_contiguous, k, next(starts, None))

    def _plan_compaction(self, blocks: int) -> None:
        """Blocks at the top in use, each to the lowest free one, by walking both ends."""
        free = self._free()
        call = f"plan_compaction({blocks})"
        if blocks > len(free):
            self._write(call)
            try:
                answer = self.pool.plan_compaction(blocks)
            except OutOfBlocks:
                return
            raise WrongAnswer(f"returned {answer!r} where the contract says OutOfBlocks")
        top = range(self.total_blocks - 1, self.total_blocks - blocks - 1, -1)
        wanted = list(zip((b for b in top if b not in free), sorted(free), strict=False))

        def plan(count: int) -> list[tuple[int, ...]]:
            return [tuple(move) for move in self.pool.plan_compaction(count)]

        self._compare(call, plan, blocks, wanted)

    def _free(self) -> set[int]:
        return set(range(self.total_blocks)) - self.out

    def _compare(self, call: str, answer: Callable[[int], Any], number: int, wanted: Any) -> None:
        self._write(call)
        if (got := answer(number)) != wanted:
            raise WrongAnswer(f"returned {got!r}; it should be {wanted!r}")

    def _compare_free(self, what: str) -> None:
        if (free := self.pool.num_free) != self.num_free:
            raise WrongAnswer(f"{what} {free}; it should be {self.num_free}")

    def _write(self, text: str) -> None:
        self.written.append(text)


def _ranked(blocks: Iterable[int], ranks: Iterable[int]) -> list[int]:
    """The blocks of these ranks, each taken from those that are left; fewer if none is."""
    left = sorted(blocks)
    return [left.pop(rank % len(left)) for rank in ranks if left]
=======
"""The proof of a free pool: random programs, every id, and the replays that will be timed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.pool_ops import (
    OPTIONAL,
    PAST_16_BITS,
    SIZES,
    every_id_program,
    random_pool_program,
)
from blockmark.workload.program import Op, Program
from blockmark_impls.contract import missing_operations

from .counterexample import Found, PoolFault
from .pool_checker import PoolChecker
from .replay import MissingOperationsError, bind
from .verify import Verified, WrongAnswer

if TYPE_CHECKING:
    from blockmark.workload.pool_ops import PoolCall
    from blockmark_impls.contract import PoolConfig
    from blockmark_impls.registry import Implementation

_NEEDED = ("take", "give", "num_free")
_CALLS = 60


def program_numbers(job: dict[str, Any]) -> range:
    """The numbers of a job's random programs."""
    first = job.get("first_program", 0)
    return range(first, first + job["random_programs"])


def prove_pool(
    impl: Implementation, config: PoolConfig, job: dict[str, Any], done: Verified
) -> str | None:
    """Verify the pool of an implementation, if it has one; why it can't be, or None.

    The job is that of `proof.prove`. Raises WrongAnswer.
    """
    # At least one, since a pool alone has no other proof.
    for number in program_numbers(job) or range(impl.pool_alone):
        rng = random.Random(f"{job['seed']}/pool/{number}")
        total = rng.choice(SIZES)
        pool = impl.make_pool(total, config.id_bits)
        if pool is None:
            return None
        if missing := missing_operations(pool, _NEEDED):
            return f"{impl.name} lacks {', '.join(missing)}, which every pool needs"
        optional = [name for name in OPTIONAL if not missing_operations(pool, [name])]
        calls = random_pool_program(total, rng, _CALLS, optional)
        _play(impl, config.id_bits, total, calls, f"random pool program {number}", done)
    if 0 in program_numbers(job):
        _prove_every_id(impl, done)
    if impl.pool_alone:
        for path in job.get("pool_programs", ()):
            _prove_replay(impl, config, Program.load(Path(path)), job["call_style"])
    return None


def _prove_every_id(impl: Implementation, done: Verified) -> None:
    try:
        impl.make_pool(PAST_16_BITS, 32)
    except ValueError:
        return  # more than it can number, and it says so
    _play(impl, 32, PAST_16_BITS, every_id_program(), "every id of a pool", done)


def _play(
    impl: Implementation,
    id_bits: int,
    total: int,
    calls: list[PoolCall],
    what: str,
    done: Verified,
) -> None:
    checker = PoolChecker(impl.make_pool(total, id_bits), total, impl.reuse_order)
    try:
        checker.play(calls)
    except WrongAnswer as wrong:
        last = checker.written[-1] if checker.written else "no call"
        brief = f"{last}: {wrong}"
        text = f"{what} ({total} blocks), call {checker.operations}, {brief}"
        fault = PoolFault(
            lambda blocks: impl.make_pool(blocks, id_bits), impl.reuse_order, total, calls
        )
        raise Found(text, brief, fault) from None
    done.operations += checker.operations
    done.steps += impl.pool_alone


def _prove_replay(impl: Implementation, config: PoolConfig, program: Program, style: str) -> None:
    """The loop that will be timed leaves as many blocks free as its operations say."""
    pool: Any = impl.make_pool(config.total_blocks, config.id_bits)
    try:
        replay = bind(pool, program, style)
    except MissingOperationsError:
        return  # a metric without a number, and no wrong answer
    replay.setup()
    replay.run(0, program.body_steps)
    held: dict[int, int] = {}
    for step in range(program.num_steps):
        for _, code, a, b, _c in program.operations(step):
            if code is Op.TAKE or code is Op.REMOVE:
                held[a] = b
            elif code is Op.GIVE:
                held[a] = 0
    free = {int(block) for block in pool.take(pool.num_free)}
    wanted = config.total_blocks - sum(held.values())
    if len(free) != wanted or not all(0 <= block < config.total_blocks for block in free):
        raise WrongAnswer(
            f"replay of the pool's load ({style}): {len(free)} different blocks of the pool are "
            f"free after it; it should be {wanted}"
        )
>>>>>>> w-verify
