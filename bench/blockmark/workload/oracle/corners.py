"""Programs for what tiny random ones cannot reach: counts and ids that pass a limit, wide
pools that are nearly full, and a manager that is used for long.

Each is named, and the same every time. They are for checking, never for timing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark_impls.contract import PoolConfig

from ..program import Op, Program, ProgramBuilder
from .tiny import random_program

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORKS = 300  # more than an 8-bit count can hold
_PAST_16_BITS = 65_536 + 64


@dataclass(frozen=True, slots=True)
class Corner:
    """A Program, the manager that it is for, and every how many steps all is compared."""

    name: str
    config: PoolConfig
    program: Program
    compare_every: int = 1


def corners(id_bits: int, left_out: frozenset[Op], reserved: int = 0) -> Iterator[Corner]:
    """The corners that `left_out`, the operations that an implementation lacks, leaves.

    `reserved`: blocks that it keeps for itself.
    """
    if Op.FORK not in left_out:
        yield _many_forks(id_bits)
    for name, config, operations, every in (
        ("long use", PoolConfig(30, 4, 6, 6, id_bits), 5_000, 16),
        ("a wide pool", PoolConfig(600, 4, 24, 40, id_bits), 300, 8),
    ):
        usable = config.total_blocks - reserved
        program = random_program(
            config, random.Random(name), operations, left_out=left_out, usable_blocks=usable
        )
        yield Corner(name, config, program, every)
    for total, bits in ((65_536, 16), (_PAST_16_BITS, 32)):
        if bits >= min(id_bits, 32):
            yield _every_id(PoolConfig(total, 1, 2, total, bits), reserved, left_out)


def _many_forks(id_bits: int) -> Corner:
    config = PoolConfig(_FORKS, 2, _FORKS + 1, 2, id_bits)
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, 0, 1)
    builder.run(Op.FORK, [0] * _FORKS, list(range(1, _FORKS + 1)))
    builder.step()
    builder.run(Op.APPEND, [1])
    builder.run(Op.FREE, list(range(_FORKS, 2, -1)))
    builder.step()
    builder.run(Op.FREE, [0, 1, 2])
    return Corner(f"{_FORKS} forks", config, builder.build(units={}))


def _every_id(config: PoolConfig, reserved: int, left_out: frozenset[Op]) -> Corner:
    tokens = config.total_blocks - reserved
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, 0, tokens)
    if Op.LOOKUP not in left_out:
        builder.run(Op.LOOKUP, [0, 0], [0, tokens - 1])
    builder.step()
    builder.run(Op.FREE, [0])
    builder.run(Op.ALLOCATE, 1, 1)
    return Corner(f"every id of {config.total_blocks:,}", config, builder.build(units={}))
