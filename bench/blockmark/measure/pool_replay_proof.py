"""A pool's timed loop held against its operations: nothing lost, nothing held twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark.workload.program import Op, Program

from .replay import MissingOperationsError, bind
from .verify import WrongAnswer

if TYPE_CHECKING:
    from blockmark_impls.contract import PoolConfig
    from blockmark_impls.registry import Implementation


def prove_pool_replay(
    impl: Implementation, config: PoolConfig, program: Program, style: str
) -> None:
    """Replay the body once and take all that is free then. Raises WrongAnswer."""
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
            if code in (Op.TAKE, Op.REMOVE):
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
