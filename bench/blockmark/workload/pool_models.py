"""The Programs of the free pool alone: taking and giving, and its free blocks by number.

A pool is first brought to the cell's occupancy with its free ids in the order asked for
(`aged`). Which physical blocks are free is then as the pool itself decided: two pools that
were asked for the same are left with other blocks, and that is what is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .measured import Measured, seeded
from .program import Op, ProgramBuilder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .scenario import Cell

    Handles = NDArray[np.int32]

POOL_MODELS = ("pool", "free_space")
# Blocks handed out and given back between two visits to the cell's occupancy.
_CHURN_BLOCKS = 4096
# Different random orders in a cyclic body, so that no predictor learns one by heart.
_VARIANTS = 8
_MOST_HANDLES = 1 << 20
# Bursts go up to the whole pool and down to this share, so that a last-in-first-out pool
# comes to the blocks that steady occupancy would never touch.
_LOW_WATER = 0.3
_BURSTS = 3
_LONGEST = 64  # blocks of a request in a burst
_FINDS = 4


def pool_occupancy(cell: Cell) -> float:
    """The share of the pool that others hold while it is measured; half unless it is set."""
    return float(cell.values.get("pool_occupancy", 0.5))  # type: ignore[arg-type]


def held_blocks(cell: Cell) -> int:
    """Blocks that others hold while the pool is measured."""
    return int(cell["total_blocks"] * pool_occupancy(cell))


def free_blocks(cell: Cell) -> int:
    """Blocks that are free while the pool is measured."""
    return int(cell["total_blocks"]) - held_blocks(cell)


def pool_programs(cell: Cell) -> list[Measured]:
    """The free pool alone: `batch` blocks a call, at the occupancy of the cell.

    Whole hand-outs are given back in shuffled order; given back in order they would
    measure a bump pointer.
    """
    if pool_refusals("pool", cell):
        return []
    builder = ProgramBuilder()
    work = _aged_with_work(builder, cell)
    rng = seeded(cell, 5)
    builder.end_setup()
    for _ in range(_VARIANTS):
        builder.step(phase=1)
        builder.run(Op.TAKE, work, cell["batch"])
        builder.step(phase=2)
        builder.run(Op.GIVE, rng.permutation(work))
    blocks = float(len(work) * cell["batch"])
    program = builder.build(period=2, units={1: blocks, 2: blocks})
    return [Measured(program, {1: "take_ns", 2: "give_ns"}, pool_only=True)]


def free_space_programs(cell: Cell) -> list[Measured]:
    """The free blocks by number: one removed, a run of them found, a compaction planned."""
    refused = pool_refusals("free_space", cell)
    programs = []
    for name, make in (
        ("remove_ns", _remove),
        ("find_contiguous_ns", _find),
        ("compact_ns", _compact),
    ):
        if name not in refused:
            programs.append(make(cell))
    return programs


def pool_refusals(model: str, cell: Cell) -> dict[str, str]:
    """Metric -> why this cell's pool has no such number, for any implementation."""
    free, batch = free_blocks(cell), cell["batch"]
    left = f"the {free} blocks that pool_occupancy = {pool_occupancy(cell):g} leaves free"
    refused = {}
    if batch > free:
        names = ("take_ns", "give_ns", "take_run_length", "take_descriptors")
        refused = dict.fromkeys(
            names if model == "pool" else ("remove_ns",), f"batch = {batch} is more than {left}"
        )
    if model == "free_space":
        if cell["contiguous"] > free:
            reason = f"contiguous = {cell['contiguous']} is more than {left}"
            refused |= dict.fromkeys(("find_contiguous_ns", "contiguous_found"), reason)
        if not top_blocks(cell):
            reason = f"compact_share = {cell['compact_share']:g} is less than one of {left}"
            refused |= dict.fromkeys(("compact_ns", "compact_moves"), reason)
    return refused


def top_blocks(cell: Cell) -> int:
    """Blocks that a compaction frees at the top of the pool."""
    return int(free_blocks(cell) * cell["compact_share"])


def _remove(cell: Cell) -> Measured:
    """What was handed out and given back is taken again by its ids, then given to the end."""
    builder = ProgramBuilder()
    work = _aged_with_work(builder, cell)
    rng = seeded(cell, 8)
    builder.step()
    builder.run(Op.TAKE, work, cell["batch"])
    builder.run(Op.GIVE, rng.permutation(work))
    builder.end_setup()
    for _ in range(_VARIANTS):
        hit = rng.permutation(work)
        builder.step(phase=1)
        builder.run(Op.REMOVE, hit, cell["batch"])
        builder.run(Op.GIVE, hit)
    program = builder.build(units={1: float(len(work) * cell["batch"])})
    return Measured(program, {1: "remove_ns"}, pool_only=True)


def _find(cell: Cell) -> Measured:
    builder = ProgramBuilder()
    aged(builder, cell)
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.FIND, [cell["contiguous"]] * _FINDS, free_blocks(cell))
    program = builder.build(units={1: float(_FINDS)})
    return Measured(program, {1: "find_contiguous_ns"}, pool_only=True)


def _compact(cell: Cell) -> Measured:
    builder = ProgramBuilder()
    aged(builder, cell)
    builder.end_setup()
    builder.step(phase=1)
    builder.run(Op.COMPACT, [top_blocks(cell)], free_blocks(cell))
    return Measured(builder.build(units={1: 1.0}), {1: "compact_ns"}, pool_only=True)


def _aged_with_work(builder: ProgramBuilder, cell: Cell) -> Handles:
    """Handles for hand-outs of `batch` that leave at least half of the free blocks, if
    one alone does not need more.
    """
    import numpy as np

    first = aged(builder, cell)
    batch = cell["batch"]
    count = min(_CHURN_BLOCKS, free_blocks(cell) // 2) // batch
    return np.arange(first, first + max(1, count), dtype=np.int32)


def aged(builder: ProgramBuilder, cell: Cell) -> int:
    """Bring a new pool to the cell's occupancy and order of free ids, as set-up steps.

    Returns the first handle that is free for other use. Blocks are taken in pieces of one
    (more, if the pool is too large for a program of so many operations):

    `fresh`: nothing was ever given back. `shuffled`: all are taken, and come back in
    random order until the occupancy is reached. `burst`: see `_bursts`.
    """
    import numpy as np

    total, held = cell["total_blocks"], held_blocks(cell)
    piece = -(-total // _MOST_HANDLES)
    pieces: int = total // piece
    rng = seeded(cell, 6)
    builder.step()
    if cell["pool"] == "fresh":
        builder.run(Op.TAKE, np.arange(held // piece, dtype=np.int32), piece)
    elif cell["pool"] == "shuffled":
        builder.run(Op.TAKE, np.arange(pieces, dtype=np.int32), piece)
        builder.run(Op.GIVE, rng.permutation(pieces)[held // piece :].astype(np.int32))
    else:
        _bursts(builder, pieces, held // piece, piece, rng)
    if held % piece:
        builder.run(Op.TAKE, [pieces], held % piece)
    return pieces + 1


def _bursts(
    builder: ProgramBuilder, pieces: int, held: int, piece: int, rng: np.random.Generator
) -> None:
    """Requests come until the pool is full and end in random order until `_LOW_WATER` of it
    is left, `_BURSTS` times; after the last time, until `held` pieces are.

    A request takes a prompt at once and then grows by a piece in turn with the others, as
    in decode; its pieces come back in the order of its table.
    """
    import numpy as np

    longest = max(1, min(_LONGEST, pieces // 8))
    unused = np.arange(pieces, dtype=np.int32)
    live: list[Handles] = []
    for burst in range(_BURSTS):
        sizes = _sizes(len(unused), longest, rng)
        requests = np.split(unused, np.cumsum(sizes)[:-1])
        prompts = rng.integers(0, sizes, endpoint=True)
        for request, prompt in zip(requests, prompts, strict=True):
            builder.run(Op.TAKE, request[:prompt], piece)
        builder.run(Op.TAKE, _in_turn(requests, prompts), piece)
        live += requests
        goal = held if burst == _BURSTS - 1 else int(pieces * _LOW_WATER)
        live = [live[at] for at in rng.permutation(len(live))]
        given: list[Handles] = []
        running = pieces
        while running > goal:
            given.append(live.pop())
            running -= len(given[-1])
            builder.run(Op.GIVE, given[-1])
        unused = np.concatenate(given) if given else unused[:0]
        # A whole request has ended where a part of it would have done.
        builder.run(Op.TAKE, unused[: goal - running], piece)
        if goal > running:
            live.append(unused[: goal - running])
            unused = unused[goal - running :]


def _sizes(pieces: int, longest: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sizes of 1 to `longest` that add up to `pieces`."""
    import numpy as np

    drawn = rng.integers(1, longest, size=pieces, endpoint=True)
    ends = np.cumsum(drawn)
    count = int(np.searchsorted(ends, pieces)) + 1
    sizes = drawn[:count].copy()
    sizes[-1] -= ends[count - 1] - pieces
    return sizes


def _in_turn(requests: list[Handles], prompts: NDArray[np.int64]) -> Handles:
    """What is left of the requests behind their prompts: the first piece of each, then the
    second of each, and so on.
    """
    import numpy as np

    rest = [request[prompt:] for request, prompt in zip(requests, prompts, strict=True)]
    turn = np.concatenate([np.arange(len(part)) for part in rest])
    return np.concatenate(rest)[np.argsort(turn, kind="stable")]
