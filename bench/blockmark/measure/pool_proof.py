"""The proof of a free pool alone: held against a plain set of free ids.

Small pools of odd sizes are driven at random through every operation that the pool has,
until they run dry and beyond. What must hold: an id is in range and handed out once, the
free count is right, an error changes nothing, blocks come back in the order that is
declared, and what is said of the free blocks by number is what a search through the set
finds.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.program import Op, Program
from blockmark_impls.contract import OutOfBlocks, missing_operations

from .replay import MissingOperationsError, bind
from .reuse import ReuseOrderChecker
from .verify import Verified, WrongAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from blockmark_impls.contract import PoolConfig
    from blockmark_impls.registry import Implementation

_NEEDED = ("take", "give", "num_free")
# Around the ends of words, which a bitmap has to get right.
_SIZES = (1, 2, 7, 63, 64, 65, 130, 4_097)
_OPERATIONS = 160


def prove_pool(impl: Implementation, config: PoolConfig, job: dict[str, Any]) -> dict[str, Any]:
    """Verify a pool; the result is `ok`, `wrong` or `unavailable`.

    The job names `random_programs` (how many turns of small pools) and `pool_programs`
    (paths of what will be timed).
    """
    if missing := missing_operations(impl.make_pool(2, config.id_bits), _NEEDED):
        return {
            "status": "unavailable",
            "reason": f"{impl.name} lacks {', '.join(missing)}, which every pool needs",
        }
    done = Verified()
    try:
        # At least once, since a pool has no other proof.
        for number in range(max(1, job["random_programs"])):
            rng = random.Random(f"{job['seed']}/{number}")
            total = _SIZES[number % len(_SIZES)] if number else rng.randint(60, 200)
            _prove_random(impl, total, config.id_bits, rng, done)
        for path in job["pool_programs"]:
            _prove_replay(impl, config, Program.load(Path(path)), job["call_style"])
    except WrongAnswer as wrong:
        return {"status": "wrong", "reason": str(wrong)}
    return {"status": "ok", "operations": done.operations, "steps": done.steps}


class PoolChecker:
    """One pool beside the set of its free ids."""

    def __init__(self, pool: Any, total_blocks: int, reuse_order: str) -> None:
        self.pool = pool
        self.total = total_blocks
        self.free = set(range(total_blocks))
        self.out: list[list[int]] = []  # hand-outs, as they were taken
        self.reuse = ReuseOrderChecker(reuse_order, total_blocks)
        self._check_count("a new pool")

    def take(self, k: int) -> None:
        """Take `k` blocks, or be refused. Raises WrongAnswer."""
        what = f"take({k})"
        if k > len(self.free):
            self._refused(lambda: self.pool.take(k), OutOfBlocks, what)
            return
        ids = self._ids(self.pool.take(k), what)
        if len(ids) != k:
            raise WrongAnswer(f"{what} returned {len(ids)} blocks")
        for block in ids:
            if block not in self.free:
                raise WrongAnswer(f"{what} returned block {block}, which is in use or no block")
            self.free.remove(block)
        self.reuse.taken(ids, lambda said: WrongAnswer(f"{what}: {said}"))
        self.out.append(ids)
        self._check_count(what)

    def give(self, at: int) -> None:
        """Give back the hand-out at a place of `out`. Raises WrongAnswer."""
        ids = self.out.pop(at)
        self.pool.give(ids)
        self.free.update(ids)
        # A call for each, as their order within one counts for a pool.
        self.reuse.given(ids)
        self._check_count(f"giving back {len(ids)} blocks")

    def remove(self, block: int) -> None:
        """Remove a block by its id, or be refused where it is not free. Raises WrongAnswer."""
        what = f"remove({block})"
        if block not in self.free:
            self._refused(lambda: self.pool.remove(block), ValueError, what)
            return
        self.pool.remove(block)
        self.free.remove(block)
        self.reuse.removed(block)
        self.out.append([block])
        self._check_count(what)

    def find_contiguous(self, k: int) -> None:
        """The lowest run of `k`, by trying every block. Raises WrongAnswer."""
        starts = (
            block for block in sorted(self.free) if all(block + i in self.free for i in range(1, k))
        )
        wanted = next(starts, None)
        if (got := self.pool.find_contiguous(k)) != wanted:
            raise WrongAnswer(f"find_contiguous({k}) returned {got}; it should be {wanted}")
        self._check_count(f"find_contiguous({k})")

    def plan_compaction(self, blocks: int) -> None:
        """The plan, by walking both ends of the pool. Raises WrongAnswer."""
        what = f"plan_compaction({blocks})"
        if blocks > len(self.free):
            self._refused(lambda: self.pool.plan_compaction(blocks), OutOfBlocks, what)
            return
        top = range(self.total - 1, self.total - blocks - 1, -1)
        wanted = list(zip((b for b in top if b not in self.free), sorted(self.free), strict=False))
        got = [tuple(move) for move in self.pool.plan_compaction(blocks)]
        if len(got) != len(wanted):
            raise WrongAnswer(f"{what} returned {len(got)} moves; it should be {len(wanted)}")
        for number, (ours, theirs) in enumerate(zip(wanted, got, strict=True)):
            if ours != theirs:
                raise WrongAnswer(f"{what}: move {number} is {theirs}; it should be {ours}")
        self._check_count(what)

    def _refused(self, call: Callable[[], object], error: type[Exception], what: str) -> None:
        try:
            answer = call()
        except error:
            self._check_count(f"{what}, which was refused")
            return
        except Exception as other:  # whatever a user's class raises is its answer
            raise WrongAnswer(f"{what} raised {other!r}; it should be {error.__name__}") from None
        raise WrongAnswer(f"{what} returned {answer!r}; it should raise {error.__name__}")

    def _ids(self, answer: Any, what: str) -> list[int]:
        try:
            return [int(block) for block in answer]
        except (TypeError, ValueError):
            what = f"{what} returned {type(answer).__name__}"
            raise WrongAnswer(f"{what}, which is no list of blocks") from None

    def _check_count(self, what: str) -> None:
        if self.pool.num_free != len(self.free):
            raise WrongAnswer(
                f"after {what} {self.pool.num_free} blocks are free; it should be {len(self.free)}"
            )


def _prove_random(
    impl: Implementation, total: int, id_bits: int, rng: random.Random, done: Verified
) -> None:
    pool = impl.make_pool(total, id_bits)
    try:
        checker = PoolChecker(pool, total, impl.reuse_order)
        operations = _operations(pool)
        for _ in range(_OPERATIONS):
            _one(checker, rng.choice(operations), rng)
            done.operations += 1
        # Everything comes back, and everything can be had again.
        while checker.out:
            checker.give(rng.randrange(len(checker.out)))
        checker.take(total)
        checker.take(1)
    except WrongAnswer as wrong:
        raise WrongAnswer(f"a pool of {total} blocks: {wrong}") from None
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise WrongAnswer(f"a pool of {total} blocks: raised {error!r}") from None
    done.steps += 1


def _operations(pool: Any) -> Sequence[str]:
    optional = [
        name
        for name in ("remove", "find_contiguous", "plan_compaction")
        if not missing_operations(pool, [name])
    ]
    return ("take", "take", "take", "give", "give", *optional)


def _one(checker: PoolChecker, operation: str, rng: random.Random) -> None:
    total = checker.total
    if operation == "give":
        if checker.out:
            checker.give(rng.randrange(len(checker.out)))
    elif operation == "remove":
        checker.remove(rng.randrange(total))
    elif operation == "find_contiguous":
        checker.find_contiguous(rng.choice((1, 2, 3, 5, 17, 64, 65, 150)))
    elif operation == "plan_compaction":
        checker.plan_compaction(rng.randint(0, len(checker.free) + (rng.random() < 0.1)))
    else:
        checker.take(rng.choice((0, 1, 2, 3, 8, 40, 64, 100, total)))


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
