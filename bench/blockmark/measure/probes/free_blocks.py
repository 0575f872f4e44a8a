"""What a pool alone hands out, and how its free blocks lie: exact counts, without a clock.

They are of the state that the program's set-up leaves, which is the same every time; a
pool that was timed has been through as many turns as the clock allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..process.reading import Reading, Readings
from .memory import contiguity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from blockmark.workload.program import Program


def free_block_counts(
    pool: Any, names: Mapping[int, str], params: Mapping[str, Any], program: Program
) -> Readings:
    """The counts that belong to the timed metrics `names` of a program; may be none.

    `pool` is where the program's set-up leaves it, and is not to be used afterwards.
    """
    timed = set(names.values())
    found: dict[str, float] = {}
    # A recording hands out what it did, of sizes of its own.
    if "take_ns" in timed and params["workload"] != "recorded":
        batch = params["batch"]
        outs = [_ids(pool.take(batch)) for _ in range(int(program.units[1]) // batch)]
        found["take_run_length"], found["take_descriptors"] = contiguity(outs)
    if timed & {"find_contiguous_ns", "compact_ns"}:
        free = sorted(_ids(pool.take(pool.num_free)))
        found["longest_free_run"] = float(max(runs_of(free), default=0))
        if "find_contiguous_ns" in timed:
            found["contiguous_found"] = share_found(free, params["contiguous"])
        if "compact_ns" in timed:
            top = int(len(free) * params["compact_share"])
            found["compact_moves"] = float(moves_to_free(free, params["total_blocks"], top))
    return {name: Reading(value) for name, value in found.items()}


def _ids(blocks: Iterable[Any]) -> list[int]:
    """The numbers of blocks, which some engines hand out as objects."""
    return [int(getattr(block, "block_id", block)) for block in blocks]


def runs_of(free: Iterable[int]) -> list[int]:
    """The lengths of the runs of consecutive ids in ascending `free`."""
    lengths: list[int] = []
    before = None
    for block in free:
        if before is not None and block == before + 1:
            lengths[-1] += 1
        else:
            lengths.append(1)
        before = block
    return lengths


def share_found(free: list[int], k: int) -> float:
    """Of as many runs of `k` as the free blocks would make, the share that can be had, each
    taken before the next is looked for. At least `k` must be free.
    """
    return sum(length // k for length in runs_of(free)) / (len(free) // k)


def moves_to_free(free: list[int], total_blocks: int, top: int) -> int:
    """The used blocks among the `top` highest: each has to move once."""
    return top - sum(1 for block in free if block >= total_blocks - top)
