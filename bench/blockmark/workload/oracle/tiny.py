"""Small random programs that reach every corner of the contract.

Forks, prefixes, copy-on-write, exhaustion, truncation, dropped fronts, tables that
get too long, sequences that exist or don't: a few hundred operations on a pool so
small that all of them happen. They are for checking, never for timing.
"""

from __future__ import annotations

import random
from typing import Any

from blockmark_impls.contract import BlockManagerError, PoolConfig

from ..program import Op, Program, ProgramBuilder
from .calls import Call, call_of
from .model import Oracle

# Weights make growth and sharing common enough to exhaust the pool again and again.
_WEIGHTS = {
    Op.CAN_ALLOCATE: 1,
    Op.ALLOCATE: 4,
    Op.APPEND: 10,
    Op.EXTEND: 5,
    Op.TRUNCATE: 3,
    Op.DROP_FRONT: 2,
    Op.FORK: 5,
    Op.FREE: 3,
    Op.LOOKUP: 4,
}
_OPS_A_STEP = 8
_BATCHED, _BATCH_SHARE = (Op.APPEND, Op.LOOKUP), 0.2


def random_config(rng: random.Random, id_bits: int) -> PoolConfig:
    """A tiny manager: block sizes from 1, a pool that its tables can exhaust."""
    max_seqs = rng.randint(2, 8)
    max_blocks = rng.randint(1, 9)
    return PoolConfig(
        total_blocks=rng.randint(2, max(3, max_seqs * max_blocks)),
        block_size=rng.choice((1, 2, 3, 4, 16)),
        max_seqs=max_seqs,
        max_blocks_per_seq=max_blocks,
        id_bits=id_bits,
    )


def random_program(
    config: PoolConfig,
    rng: random.Random,
    operations: int,
    *,
    left_out: frozenset[Op] = frozenset(),
    failing: bool = True,
    usable_blocks: int | None = None,
) -> Program:
    """`operations` random operations, `_OPS_A_STEP` to a step.

    Some are runs of several appends or lookups, which a manager may do in one call.
    `left_out`: operations that the implementation lacks. With `failing` false, only
    operations that succeed are kept, so that a replay can run to its end.
    """
    oracle = Oracle(config, usable_blocks)
    builder = ProgramBuilder()
    codes = [code for code in _WEIGHTS if code not in left_out]
    weights = [_WEIGHTS[code] for code in codes]
    made = tries = 0
    while made < operations and tries < operations * 20:
        tries += 1
        code = rng.choices(codes, weights)[0]
        call, operands = _random_call(code, oracle, rng)
        if not apply_to_oracle(oracle, call) and not failing:
            continue
        if made % _OPS_A_STEP == 0:
            builder.step(phase=1)
        builder.run(code, *operands)
        made += 1
    return builder.build(units={1: 1.0}, width=config.max_blocks_per_seq)


def _random_call(code: Op, oracle: Oracle, rng: random.Random) -> tuple[Call, tuple[Any, ...]]:
    """A call, and its operands as a run of a Program: now and then of several sequences."""
    if code in _BATCHED and len(oracle.tables) > 1 and rng.random() < _BATCH_SHARE:
        batch = [_operands(code, oracle, rng)[:2] for _ in range(rng.randint(2, 4))]
        seqs, logicals = (tuple(column) for column in zip(*batch, strict=True))
        if code is Op.APPEND:
            return Call("append_slots", (seqs,)), (seqs,)
        return Call("lookup_slots", (seqs, logicals)), (seqs, logicals)
    a, b, c = _operands(code, oracle, rng)
    return call_of(code, a, b, c), (a, b, c)


def _operands(code: Op, oracle: Oracle, rng: random.Random) -> tuple[int, int, int]:
    config = oracle.config
    size, widest = config.block_size, config.max_blocks_per_seq
    seq = rng.randrange(config.max_seqs)
    live = list(oracle.tables)
    # Mostly a sequence that makes sense, sometimes any.
    if live and code is not Op.ALLOCATE and rng.random() < 0.9:
        seq = rng.choice(live)
    table = oracle.tables.get(seq)
    tokens = table.tokens if table else size
    match code:
        case Op.CAN_ALLOCATE:
            return rng.randint(0, config.total_blocks + 1), 0, 0
        case Op.ALLOCATE:
            return seq, rng.randint(1, (widest + (rng.random() < 0.1)) * size), 0
        case Op.EXTEND:
            return seq, rng.randint(0, 3 * size), 0
        case Op.TRUNCATE:
            return seq, rng.randint(0 if rng.random() < 0.1 else 1, tokens + 1), 0
        case Op.DROP_FRONT:
            return seq, rng.randint(0, oracle.blocks_for(tokens)), 0
        case Op.FORK:
            whole = rng.random() < 0.6
            child = rng.randrange(config.max_seqs)
            return seq, child, 0 if whole else rng.randint(1, max(1, tokens // size))
        case Op.LOOKUP:
            return seq, rng.randint(0, oracle.blocks_for(tokens)), 0
        case _:
            return seq, 0, 0


def apply_to_oracle(oracle: Oracle, call: Call) -> bool:
    """Do one call; False if the contract refuses it."""
    try:
        getattr(oracle, call.method)(*call.operands)
    except (BlockManagerError, ValueError):
        return False
    return True
