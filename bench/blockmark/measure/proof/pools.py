"""The proof of a free pool: random programs, pools of every size and used for long, every id,
and the replays that will be timed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle.pool_calls import (
    OPTIONAL,
    PAST_16_BITS,
    SIZES,
    PoolCall,
    every_id_program,
    long_pool_program,
    random_pool_program,
    sized_pools,
)
from blockmark.workload.program import Op, Program
from blockmark_impls.contract import missing_operations

from ..missing import name_missing
from ..process.limits import extend_limit
from ..replay import MissingOperationsError, bind
from .checker import Verified
from .clock import move_on
from .counterexample import Found, PoolFault
from .heap import held
from .long_use import DAY_S, check_held
from .pool_checker import PoolChecker
from .wrong import WrongAnswer, located

if TYPE_CHECKING:
    from blockmark_impls.contract import PoolConfig

    from .provable import Provable

_NEEDED = ("take", "give", "num_free")
_CALLS = 60
_LONG_USE_BLOCKS = 150
# Readings of what a pool holds, and hand-outs between two of them.
_READINGS, _HAND_OUTS = 10, 2_000


def program_numbers(job: dict[str, Any]) -> range:
    """The numbers of a job's random programs."""
    first = job.get("first_program", 0)
    return range(first, first + job["random_programs"])


def prove_pool(
    impl: Provable,
    config: PoolConfig,
    job: dict[str, Any],
    done: Verified,
    notes: list[str],
) -> str | None:
    """Verify the pool of an implementation, if it has one; why it can't be, or None.

    The job is that of `prove.prove`; what a pool alone can't be asked goes into `notes`.
    Raises WrongAnswer.
    """
    pool = impl.make_pool(config.total_blocks, config.id_bits)
    if pool is None:
        return None
    if missing := missing_operations(pool, _NEEDED):
        return f"{impl.name} lacks {name_missing(pool, missing)}, which every pool needs"
    optional = [name for name in OPTIONAL if not missing_operations(pool, [name])]
    if impl.pool_alone and len(optional) < len(OPTIONAL):
        notes.append(f"without {name_missing(pool, missing_operations(pool, OPTIONAL))}")
    _PoolProof(impl, config.id_bits, done, optional).play_all(job)
    if impl.pool_alone:
        for path in job.get("pool_programs", ()):
            _prove_replay(impl, config, Program.load(Path(path)), job["call_style"])
    return None


class _PoolProof:
    def __init__(self, impl: Provable, id_bits: int, done: Verified, optional: list[str]) -> None:
        self._impl = impl
        self._id_bits = id_bits
        self._done = done
        self._optional = optional

    def play_all(self, job: dict[str, Any]) -> None:
        seed, optional = job["seed"], self._optional
        numbers = program_numbers(job)
        # At least one, since a pool alone has no other proof.
        for number in numbers or range(1 if self._impl.pool_alone else 0):
            rng = random.Random(f"{seed}/pool/{number}")
            totals = [rng.choice(SIZES) for _ in range(2 if number % 3 == 1 else 1)]
            programs = [random_pool_program(total, rng, _CALLS, optional) for total in totals]
            # Some faults hide from one who asks all the time.
            ask = rng.choice((1, 1, 5, 40))
            self._play(totals, _mixed(programs, rng), f"random pool program {number}", ask=ask)
        if 0 not in numbers:
            return
        for number, (total, program) in enumerate(sized_pools(seed, optional)):
            if number >= job.get("rows", 0):
                break
            self._play([total], ((0, call) for call in program), f"pool of size {number}")
        if calls := job.get("long_use", 0) // 2:
            self._use_for_long(calls, random.Random(f"{seed}/pool for long"))
        self._every_id()

    def _every_id(self) -> None:
        try:
            self._impl.make_pool(PAST_16_BITS, 32)
        except ValueError:
            return  # more than it can number, and it says so
        calls = ((0, call) for call in every_id_program())
        self._play([PAST_16_BITS], calls, "every id of a pool", 32)

    def _use_for_long(self, calls: int, rng: random.Random) -> None:
        def steps() -> Iterator[tuple[int, PoolCall]]:
            for some in (calls, calls // 20):
                program = long_pool_program(_LONG_USE_BLOCKS, rng, some, self._optional)
                yield from ((0, call) for call in program)
                move_on(DAY_S)

        self._play([_LONG_USE_BLOCKS], steps(), "a pool used for long")
        pool: Any = self._impl.make_pool(_LONG_USE_BLOCKS, self._id_bits)
        readings = [held()]
        for _ in range(_READINGS):
            for _ in range(_HAND_OUTS):
                pool.give(list(pool.take(8)))
            readings.append(held())
            extend_limit()
        check_held(readings, _HAND_OUTS, "hand-out that was given back")

    def _play(
        self,
        totals: list[int],
        steps: Iterable[tuple[int, PoolCall]],
        what: str,
        id_bits: int | None = None,
        ask: int = 1,
    ) -> None:
        bits = self._id_bits if id_bits is None else id_bits
        impl, order = self._impl, self._impl.reuse_order
        try:
            checkers = [PoolChecker(impl.make_pool(n, bits), n, order, ask) for n in totals]
        except ValueError:
            return  # a size that it refuses, and says so
        made: list[tuple[int, PoolCall]] = []
        who = 0
        try:
            for checker in checkers:
                checker.begin()
            for who, call in steps:
                made.append((who, call))
                checkers[who].make(call)
                # Only the last is shown, and a long program has many.
                del checkers[who].written[:-1]
        except WrongAnswer as wrong:
            last = checkers[who].written[-1] if checkers[who].written else "no call"
            wrong.brief = f"{last}: {wrong}"
            beside = ", beside another" if len(totals) > 1 else ""
            text = f"{what} ({totals[who]} blocks{beside}), call {len(made)}, {wrong.brief}"
            fault = PoolFault(lambda n: impl.make_pool(n, bits), order, tuple(totals), made)
            raise Found(wrong, text, fault) from None
        self._done.operations += len(made)
        self._done.steps += 1 if impl.pool_alone else 0
        extend_limit()


def _mixed(programs: list[list[PoolCall]], rng: random.Random) -> Iterator[tuple[int, PoolCall]]:
    """The calls of several programs in turns, each in its order."""
    left = [iter(program) for program in programs]
    order = [who for who, program in enumerate(programs) for _ in program]
    if len(programs) > 1:
        rng.shuffle(order)
    return ((who, next(left[who])) for who in order)


def _prove_replay(impl: Provable, config: PoolConfig, program: Program, style: str) -> None:
    """The loop that will be timed hands out blocks that are free, and leaves as many as its
    operations say.
    """
    pool: Any = impl.make_pool(config.total_blocks, config.id_bits)
    try:
        replay = bind(pool, program, style)
    except MissingOperationsError:
        return  # a metric without a number, and no wrong answer
    where = f"replay of the pool's load ({style})"
    try:
        replay.setup()
        records = replay.answers(0, program.body_steps)
    except Exception as error:
        raise located(error, "", where) from None
    held: dict[int, int] = {}
    out: dict[int, list[int]] = {}
    answers = _by_operation(records)
    for step in range(program.num_steps):
        for at, code, a, b, _c in program.operations(step):
            if code is Op.TAKE or code is Op.REMOVE:
                held[a] = b
            elif code is Op.GIVE:
                held[a] = 0
                out.pop(a, None)
            if code is Op.TAKE and step >= program.setup_steps:
                ids = answers.get(at, [])
                taken = {block for handle in out.values() for block in handle}
                if len({*ids}) != b or taken & {*ids}:
                    raise WrongAnswer(
                        f"{where}: take({b}) gave {len(ids)} blocks, some of them out"
                    )
                out[a] = ids
    free = {int(block) for block in pool.take(pool.num_free)}
    wanted = config.total_blocks - sum(held.values())
    if len(free) != wanted or not all(0 <= block < config.total_blocks for block in free):
        raise WrongAnswer(
            f"{where}: {len(free)} different blocks of the pool are free after it; it should be "
            f"{wanted}"
        )


def _by_operation(records: Any) -> dict[int, list[int]]:
    found = {}
    at = 0
    while at < len(records):
        index, count = records[at], records[at + 1]
        found[index] = list(records[at + 2 : at + 2 + count])
        at += 2 + count
    return found
