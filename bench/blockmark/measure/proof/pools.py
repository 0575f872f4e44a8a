"""The proof of a free pool: random programs, every id, and the replays that will be timed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.oracle.pool_calls import (
    OPTIONAL,
    PAST_16_BITS,
    SIZES,
    every_id_program,
    random_pool_program,
)
from blockmark.workload.program import Op, Program
from blockmark_impls.contract import missing_operations

from ..replay import MissingOperationsError, bind
from .checker import Verified, WrongAnswer
from .counterexample import Found, PoolFault
from .pool_checker import PoolChecker

if TYPE_CHECKING:
    from blockmark.workload.oracle.pool_calls import PoolCall
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
