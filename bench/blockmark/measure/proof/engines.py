"""Proof of what is no manager of ours: an engine's pool, and an engine that decides itself.

A pool's hand-outs are the engine's own objects; its blocks are compared by their numbers,
with what every pool must do. Of a scheduler's step no answer is known beforehand, so the
load is replayed, and what must hold after every step is checked.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.program import Op, Program
from blockmark_impls.contract import OutOfBlocks

from ..replay import bind
from .reuse import ReuseOrderChecker
from .wrong import WrongAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from blockmark_impls.contract import PoolConfig
    from blockmark_impls.registry import Implementation

_POOL_BLOCKS, _POOL_CALLS = 96, 400
# What an engine says when it has too few blocks; None is such an answer as well.
_TOO_FEW = (ValueError, MemoryError, RuntimeError, OutOfBlocks)


def prove_engine(
    impl: Implementation, proof: str, config: PoolConfig, job: dict[str, Any]
) -> dict[str, Any]:
    """`ok`, `wrong`, or `unavailable` where the engine does not run the load as it is.

    `proof` is `hand-outs` or `invariants`, see `blockmark_impls/entry.py`.
    """
    try:
        if proof == "hand-outs":
            operations = sum(
                check_pool(
                    impl.make_pool(_POOL_BLOCKS, 32),
                    _POOL_BLOCKS,
                    f"{job['seed']}/{n}",
                    impl.reuse_order,
                )
                for n in range(max(1, job["random_programs"]))
            )
            return {"status": "ok", "operations": operations, "steps": 0}
        done = 0
        steps = 0
        for path in job["programs"]:
            manager = impl.make_manager(config)
            program = Program.load(Path(path))
            done += check_steps(manager, config, program, job["operations"])
            steps += program.num_steps
        return {"status": "ok", "operations": done, "steps": steps}
    except WrongAnswer as wrong:
        return {"status": "wrong", "reason": str(wrong)}
    except NotTheLoad as other:
        return {"status": "unavailable", "reason": str(other)}


class NotTheLoad(Exception):  # noqa: N818 - a finding, not a failure of this program
    """The engine did something else than the load asks for, so its time is not comparable."""


def check_pool(pool: Any, total_blocks: int, seed: str, reuse_order: str = "unspecified") -> int:
    """Random hand-outs and returns, by number; how many. Raises WrongAnswer.

    Ids are of the pool, none is out twice, the free count adds up, asking for too many
    changes nothing, and blocks come back in the order that is declared.
    """
    rng = random.Random(seed)
    usable = getattr(pool, "usable_blocks", total_blocks)
    # An engine gives the blocks of a request back in an order of its own.
    reuse = ReuseOrderChecker(reuse_order, usable, within_calls=False)
    out: list[tuple[Any, list[int]]] = []
    held: set[int] = set()
    for number in range(_POOL_CALLS):
        if out and rng.random() < 0.5:
            handout, ids = out.pop(rng.randrange(len(out)))
            # Now and then by number, as a caller does that has kept nothing else.
            what = _by_number(pool, ids) if rng.random() < 0.3 else handout
            pool.give(what)
            held -= set(ids)
            reuse.given(ids)
        else:
            most = usable + 1 if rng.random() < 0.1 else max(1, usable // 6)
            k = rng.randint(1, most)
            handout, ids = _taken(pool, k, usable - len(held))
            for block in ids:
                if not 0 <= block < total_blocks:
                    raise WrongAnswer(
                        f"take({k}) gave {block}, no block of a pool of {total_blocks}"
                    )
                if block in held:
                    raise WrongAnswer(f"take({k}) gave block {block}, which is out already")
                held.add(block)
            reuse.taken(ids, WrongAnswer)
            if ids:
                out.append((handout, ids))
        if (free := pool.num_free) != usable - len(held):
            raise WrongAnswer(
                f"after call {number} {free} blocks are free; it should be {usable - len(held)}"
            )
    return _POOL_CALLS


def _by_number(pool: Any, ids: list[int]) -> Any:
    return pool.handout_of(ids) if hasattr(pool, "handout_of") else ids


def _taken(pool: Any, k: int, free: int) -> tuple[Any, list[int]]:
    try:
        handout = pool.take(k)
    except _TOO_FEW as error:
        if k <= free:
            raise WrongAnswer(f"take({k}) raised {error!r} where {free} blocks are free") from None
        return None, []
    if handout is None:
        if k <= free:
            raise WrongAnswer(f"take({k}) gave nothing where {free} blocks are free")
        return None, []
    ids = pool.ids_of(handout) if hasattr(pool, "ids_of") else list(handout)
    if k > free:
        raise WrongAnswer(f"take({k}) gave {len(ids)} blocks where {free} are free")
    if len(ids) != k:
        raise WrongAnswer(f"take({k}) gave {len(ids)} blocks")
    return handout, ids


def check_steps(manager: Any, config: PoolConfig, program: Program, operations: int) -> int:
    """A load replayed step by step as it will be timed; how many of its operations.

    After each step: every running sequence is in it and has blocks enough for the tokens
    that it had before it, no block is in two tables, all are of the pool, and the free
    blocks and the tables' add up. At the end every block comes back. Raises WrongAnswer, and
    NotTheLoad where a sequence was left out: the engine took it out again, or made it wait.
    """
    replay = bind(manager, program, "per-step")
    total = manager.num_free_blocks
    lengths: dict[int, int] = {}
    replay.setup()
    done = 0
    for step, is_step in _steps(program, lengths, operations):
        if step >= program.setup_steps:
            replay.run(step - program.setup_steps, 1)
        if is_step:
            _check_tables(manager, config, lengths, total, step)
        done += sum(1 for _ in program.operations(step))
    for seq in lengths:
        manager.free(seq)
    manager.append_slots(())
    if (free := manager.num_free_blocks) != total:
        raise WrongAnswer(f"after the last sequence {free} blocks are free, not {total}")
    return done


def _steps(
    program: Program, lengths: dict[int, int], operations: int
) -> Iterator[tuple[int, bool]]:
    """(step, whether it appends) with `lengths` as of after it, for so many operations."""
    left = operations
    for step in range(program.num_steps):
        appends = False
        for _, code, a, b, _ in program.operations(step):
            if code is Op.ALLOCATE:
                lengths[a] = b
            elif code is Op.APPEND:
                lengths[a] += 1
                appends = True
            elif code is Op.FREE:
                del lengths[a]
            elif code not in (Op.LOOKUP, Op.CAN_ALLOCATE):
                raise NotTheLoad(f"it has no {code.name.lower()}, which this load needs")
            left -= step >= program.setup_steps
        # The set-up is run in one go: only its end can be looked at.
        yield step, appends and step >= program.setup_steps - 1
        if left <= 0:
            return


def _check_tables(
    manager: Any, config: PoolConfig, lengths: dict[int, int], total: int, step: int
) -> None:
    waiting = [seq for seq in lengths if not manager.scheduled(seq)]
    if waiting:
        raise NotTheLoad(
            f"it left {len(waiting)} of {len(lengths)} sequences out of step {step}: it took them "
            "out again or let them wait; give it a pool that holds all requests to their end"
        )
    holder: dict[int, int] = {}
    for seq, tokens in lengths.items():
        table = manager.block_table(seq)
        # A prompt is computed in the step that admits it, so its tokens are one behind.
        if len(table) < -(-(tokens - 1) // config.block_size):
            raise WrongAnswer(
                f"step {step}: sequence {seq} has {len(table)} blocks for {tokens - 1} tokens"
            )
        for block in table:
            if not 0 <= block < config.total_blocks:
                raise WrongAnswer(f"step {step}: block {block} of {seq} is not of the pool")
            if block in holder:
                raise WrongAnswer(
                    f"step {step}: block {block} is in the tables of {holder[block]} and {seq}"
                )
            holder[block] = seq
    free = manager.num_free_blocks
    if free + len(holder) != total:
        raise WrongAnswer(
            f"step {step}: {free} blocks are free and {len(holder)} in tables, of {total}"
        )
