"""No false alarm: right implementations against many random programs, made once for all."""

from __future__ import annotations

import random
from functools import cache

import pytest

from blockmark.measure.proof.checker import Checker
from blockmark.measure.proof.pool_checker import PoolChecker
from blockmark.workload.oracle.moves import random_program, small_config
from blockmark.workload.oracle.pool_calls import OPTIONAL, SIZES, random_pool_program
from blockmark.workload.program import Program
from blockmark_impls.contract import PoolConfig
from blockmark_impls.registry import names_of, resolve

PROGRAMS, CALLS = 500, 40
# Engines have proofs of their own, and are not installed here.
RIGHT = [
    impl
    for name in names_of("manager")
    for impl in resolve(name)
    if impl.facts.proof == "contract" and not impl.engine
]
MANAGERS = [impl.name for impl in RIGHT if not impl.pool_alone]
POOLS = [impl.name for impl in RIGHT]


@cache
def programs() -> list[tuple[PoolConfig, Program]]:
    made = []
    for number in range(PROGRAMS):
        rng = random.Random(f"right/{number}")
        config = small_config(rng, 16)
        made.append((config, random_program(config, rng, CALLS)))
    return made


@pytest.mark.parametrize("name", MANAGERS)
def test_a_right_manager_is_never_flagged(name: str) -> None:
    (impl,) = resolve(name)
    for config, program in programs():
        checker = Checker(impl.make_manager(config), config, impl.reuse_order)
        checker.replay(program, range(program.num_steps), compare_every=5)


@pytest.mark.parametrize("name", POOLS)
def test_a_right_pool_is_never_flagged(name: str) -> None:
    (impl,) = resolve(name)
    for number in range(PROGRAMS // 5):
        rng = random.Random(number)
        total = rng.choice(SIZES)
        pool = impl.make_pool(total, 16)
        optional = [method for method in OPTIONAL if hasattr(pool, method)]
        calls = random_pool_program(total, rng, CALLS, optional)
        PoolChecker(pool, total, impl.reuse_order).play(calls)
