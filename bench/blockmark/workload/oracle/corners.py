"""Programs for limits that lie beyond the sizes: more readers than 16 bits count, and every
id that 16 bits number, and ids beyond them.

Each is named, and the same every time. They are for checking, never for timing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockmark_impls.contract import PoolConfig

from .calls import Call

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_FORKS, _LONGEST = 65_600, 1 << 13
_PAST_16_BITS = 65_536 + 64


@dataclass(frozen=True, slots=True)
class Corner:
    """Calls, the manager that they are for, and every how many of them it is looked at."""

    name: str
    config: PoolConfig
    calls: list[Call]
    look: int


def corners(id_bits: int, left_out: Collection[str], reserved: int = 0) -> Iterator[Corner]:
    """The corners that `left_out`, the operations that an implementation lacks, leaves.

    `reserved`: blocks that it keeps for itself.
    """
    for total, bits in ((65_536, 16), (_PAST_16_BITS, 32)):
        if bits >= min(id_bits, 32):
            yield _every_id(PoolConfig(total, 2, 2, total, bits), reserved, left_out)
    yield _every_edge(id_bits, reserved, left_out)
    if "fork" not in left_out:
        yield _many_forks(id_bits, reserved)


def _every_edge(id_bits: int, reserved: int, left_out: Collection[str]) -> Corner:
    """Tables of every length around a power of two, taken, grown, shared, dropped and cut by
    just so many blocks.
    """
    size = 3
    config = PoolConfig(2 * _LONGEST + 64 + reserved, size, 3, 2 * _LONGEST + 8, id_bits)
    calls = []
    for power in range(_LONGEST.bit_length()):
        for edge in sorted({max(1, (1 << power) - 1), 1 << power, (1 << power) + 1}):
            some = [
                Call("allocate", (0, edge * size)),
                Call("extend", (0, edge * size)),
                Call("lookup", (0, edge)),
                Call("fork", (0, 1, edge)),
                Call("drop_front", (1, edge - 1)),
                Call("append_slot", (1,)),
                Call("lookup", (1, edge)),
                Call("drop_front", (0, edge)),
                Call("fork", (0, 2, None)),
                Call("free", (1,)),
                Call("truncate", (2, (edge + 1) * size)),
                Call("free", (2,)),
                Call("truncate", (0, 2 * edge * size - 1)),
                Call("write_block_tables", ((0,),)),
                Call("free", (0,)),
                Call("allocate", (0, 2 * edge * size)),
                Call("truncate", (0, edge * size)),
                Call("free", (0,)),
            ]
            calls += [call for call in some if call.method not in left_out]
    return Corner("every edge of a table", config, calls, 3)


def _many_forks(id_bits: int, reserved: int) -> Corner:
    config = PoolConfig(4 + reserved, 2, _FORKS + 1, 2, id_bits)
    calls = [
        Call("allocate", (0, 1)),
        *(Call("fork", (0, child, None)) for child in range(1, _FORKS + 1)),
        Call("append_slot", (1,)),
        *(Call("free", (seq,)) for seq in range(_FORKS, 2, -1)),
        *(Call("free", (seq,)) for seq in range(3)),
    ]
    return Corner(f"{_FORKS:,} forks", config, calls, 2_048)


def _every_id(config: PoolConfig, reserved: int, left_out: Collection[str]) -> Corner:
    """Every block in one table, and the last one as a copy; two tokens a block."""
    blocks = config.total_blocks - reserved
    calls = []
    if "fork" not in left_out:
        # All but the last block of a new pool, the last of them half full, and its copy.
        calls += [Call("allocate", (0, 2 * blocks - 3)), Call("fork", (0, 1, None))]
        calls += [Call("append_slot", (1,)), Call("append_slot", (0,))]
        calls += [Call("free", (0,)), Call("free", (1,))]
    calls += [Call("allocate", (0, 2 * blocks))]
    if "fork" not in left_out:
        calls += [Call("fork", (0, 1, None)), Call("free", (0,))]
        calls += [Call("fork", (1, 0, blocks // 2)), Call("free", (1,))]
    calls += [Call("free", (0,)), Call("allocate", (1, 2 * blocks)), Call("append_slot", (1,))]
    calls += [Call("free", (1,)), Call("allocate", (1, 1))]
    return Corner(f"every id of {config.total_blocks:,}", config, calls, 1)
