"""The Programs behind the models other than `step`: one cost at a time.

Each function makes the Program of one model from a cell, or None with the reason
where the cell has no such thing. Full rows are rows of `max_blocks_per_seq` blocks,
as many as the pool holds and the cell has sequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .measured import Measured, full_rows, seeded
from .pool_models import free_space_programs, pool_programs
from .program import Op, Program, ProgramBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from .scenario import Cell

    # A run of operations: code, sequences, and tokens of each or of all.
    _Move = tuple[Op, NDArray[np.int32], NDArray[np.int64] | int]

# Lookups in a step of the lookup programs: so many that reading the clock between two
# orders is lost in them. The trace goes over the whole table.
_LOOKUPS = 16384
# Blocks handed out and given back between two visits to 50 % occupancy.
_CHURN_BLOCKS = 4096
# Different random orders in a cyclic body, so that no predictor learns one by heart.
_VARIANTS = 8
_CAN_ALLOCATE_CALLS = 1024
# How often a pool is emptied and filled to bring its ids into order.
_BURSTS, _GROWN_TURNS = 3, 2
# A manager that only appends takes 0.2 to 2 us a call: seconds, in every process of a run.
_MOST_APPENDS = 8_000_000


def _allocate_rows(builder: ProgramBuilder, cell: Cell, rows: int, tokens: int) -> None:
    import numpy as np

    builder.step()
    builder.run(Op.ALLOCATE, np.arange(rows, dtype=np.int32), tokens)
    builder.end_setup()


def lookup_programs(cell: Cell) -> list[Measured]:
    """Reads of one table entry: in order and shuffled, independent and as a chain.

    The two orders take turns, so that one set-up serves both.
    """
    import numpy as np

    rows, width = full_rows(cell), cell["max_blocks_per_seq"]
    if rows < 1:
        return []
    entries = np.arange(rows * width, dtype=np.int64)
    whole = -(-len(entries) // _LOOKUPS) * _LOOKUPS
    ordered = np.resize(entries, whole).reshape(-1, _LOOKUPS)
    shuffled = np.resize(seeded(cell, 1).permutation(entries), whole).reshape(-1, _LOOKUPS)
    programs = []
    for chain, code in (("", Op.LOOKUP), ("chain_", Op.LOOKUP_CHAIN)):
        builder = ProgramBuilder()
        _allocate_rows(builder, cell, rows, width * cell["block_size"])
        for parts in zip(ordered, shuffled, strict=True):
            for phase, part in enumerate(parts, start=1):
                builder.step(phase)
                builder.run(code, part // width, part % width)
        program = builder.build(period=2, units={1: _LOOKUPS, 2: _LOOKUPS})
        names = {1: f"lookup_{chain}ordered_ns", 2: f"lookup_{chain}shuffled_ns"}
        programs.append(Measured(program, names))
    return programs


def alloc_free_programs(cell: Cell) -> list[Measured]:
    """Blocks taken and given back around 50 % occupancy, whole rows or interleaved."""
    import numpy as np

    width, block_size = cell["max_blocks_per_seq"], cell["block_size"]
    slots, total = max(2, cell["concurrency"]), cell["total_blocks"]
    held = min(slots // 2, total // 2 // width)
    churned = min(-(-_CHURN_BLOCKS // width), slots - held, (total - held * width) // width)
    programs = []
    if churned >= 1:
        work = np.arange(held, held + churned, dtype=np.int32)
        for name in ("burst", "interleaved"):
            rng = seeded(cell, 2)
            builder = ProgramBuilder()
            _allocate_rows(builder, cell, held, width * block_size)
            for _ in range(_VARIANTS):
                builder.step(phase=1)
                if name == "burst":
                    builder.run(Op.ALLOCATE, work, width * block_size)
                else:
                    builder.run(Op.ALLOCATE, work, block_size)
                    grown = rng.permutation(np.repeat(work, width - 1))
                    builder.run(Op.EXTEND, grown, block_size)
                builder.run(Op.FREE, rng.permutation(work))
            program = builder.build(units={1: churned * width})
            programs.append(Measured(program, {1: f"alloc_free_{name}_ns"}))
    programs.append(_can_allocate(cell, held))
    programs.append(_append(cell))
    return programs


def _can_allocate(cell: Cell, held: int) -> Measured:
    builder = ProgramBuilder()
    _allocate_rows(builder, cell, held, cell["max_blocks_per_seq"] * cell["block_size"])
    builder.step(phase=1)
    asked = seeded(cell, 3).integers(1, cell["total_blocks"] + 1, _CAN_ALLOCATE_CALLS)
    builder.run(Op.CAN_ALLOCATE, asked)
    return Measured(builder.build(units={1: _CAN_ALLOCATE_CALLS}), {1: "can_allocate_ns"})


def _append(cell: Cell) -> Measured:
    """Tokens appended in batch order; half-filled rows grow, off the clock they shrink."""
    import numpy as np

    width, block_size, total = cell["max_blocks_per_seq"], cell["block_size"], cell["total_blocks"]
    start = max(1, width // 2)
    grow = min(8, width - start)
    seqs = np.arange(min(cell["concurrency"], total // (start + grow)), dtype=np.int32)
    builder = ProgramBuilder()
    _allocate_rows(builder, cell, len(seqs), start * block_size)
    for _ in range(grow * block_size):
        builder.step(phase=1)
        builder.run(Op.APPEND, seqs)
    builder.step()
    builder.run(Op.TRUNCATE, seqs, start * block_size)
    appends = len(seqs) * grow * block_size
    program = builder.build(period=grow * block_size + 1, units={1: appends} if appends else {})
    return Measured(program, {1: "append_ns"})


def pack_programs(cell: Cell) -> list[Measured]:
    """All tables written as rows for a kernel; and only those that changed in a step."""
    import numpy as np

    rows, width, block_size = full_rows(cell), cell["max_blocks_per_seq"], cell["block_size"]
    if rows < 1:
        return []
    seqs = np.arange(rows, dtype=np.int32)
    builder = ProgramBuilder()
    _allocate_rows(builder, cell, rows, width * block_size)
    builder.step(phase=1)
    builder.run(Op.PACK, seqs)
    # In a decode step every sequence whose block is full gets one more entry.
    changed = -(-rows // block_size)
    order = seeded(cell, 4).permutation(seqs)
    for first in range(_VARIANTS):
        builder.step(phase=2)
        builder.run(Op.PACK, np.sort(np.take(order, range(first, first + changed), mode="wrap")))
    program = builder.build(period=1 + _VARIANTS, units={1: 1, 2: _VARIANTS}, width=width)
    return [Measured(program, {1: "pack_ns", 2: "pack_changed_ns"})]


def fork_programs(cell: Cell) -> list[Measured]:
    """Whole tables shared with a child; then one append to each child copies a block."""
    import numpy as np

    width, block_size = cell["max_blocks_per_seq"], cell["block_size"]
    parents = min(max(2, cell["concurrency"]) // 2, cell["total_blocks"] // (width + 1))
    if parents < 1:
        return []
    # The last block has one free slot, so that the child's append must copy it.
    tokens = width * block_size - (1 if block_size > 1 else 0)
    mothers = np.arange(parents, dtype=np.int32)
    children = mothers + np.int32(parents)
    builder = ProgramBuilder()
    _allocate_rows(builder, cell, parents, tokens)
    builder.step(phase=1)
    builder.run(Op.FORK, mothers, children)
    metrics, units, period = {1: "fork_per_block_ns"}, {1: float(parents * width)}, 2
    if block_size > 1:
        builder.step(phase=2)
        builder.run(Op.APPEND, children)
        metrics[2], units[2], period = "cow_per_copy_ns", float(parents), 3
    builder.step()
    builder.run(Op.FREE, children)
    return [Measured(builder.build(period=period, units=units), metrics)]


def model_programs(model: str, cell: Cell) -> list[Measured]:
    """The Programs of a model, but for `step`, whose Program the workload makes."""
    if model == "pack_step":
        from .pack_step import pack_step_programs

        return pack_step_programs(cell)
    return {
        "lookup": lookup_programs,
        "alloc_free": alloc_free_programs,
        "pack": pack_programs,
        "fork": fork_programs,
        "pool": pool_programs,
        "free_space": free_space_programs,
    }[model](cell)


def condition_manager(cell: Cell) -> Program:
    """Bring a new manager's free ids into the order that the cell asks for.

    Only operations of the contract are used, so it holds for any implementation.
    `shuffled`: all tables are filled, then give back their last blocks in random
    turns; first a few blocks at a time, then one. (One turn alone would leave the ids
    as streams, whose neighbours are still handed out soon after one another.)
    `burst`: the pool goes three times from full to nearly empty; sequences grow a
    block at a time in turn, as in decode, and end in random order.
    Steady occupancy would age nothing: a LIFO pool never touches what lies below its
    low-water mark. Blocks that the tables can't hold at once stay as they were.
    """
    moves: Iterator[_Move] = iter(())
    if cell["pool"] == "shuffled":
        moves = _shuffled(cell)
    elif cell["pool"] == "burst":
        moves = _burst(cell)
    builder = ProgramBuilder()
    builder.step()
    for code, seqs, tokens in moves:
        builder.run(code, seqs, tokens)
    builder.end_setup()
    return builder.build(units={})


def plain_condition(cell: Cell) -> Iterator[Program]:
    """The same for a manager without `extend` or `truncate`, in pieces: a block costs it a
    call of `append_slot` for each of its tokens, too many calls to be held at once.

    `burst`: the same blocks in the same order. `shuffled`: tables grow a block at a time, in
    turns of random order, twice. Raises ValueError where that takes too many calls.
    """
    shuffled = cell["pool"] == "shuffled"
    block_size = cell["block_size"]
    calls = int(_sizes(cell).sum()) * block_size * (_GROWN_TURNS if shuffled else _BURSTS)
    if calls > _MOST_APPENDS:
        raise ValueError(f"up to {calls:,} calls of append_slot, more than {_MOST_APPENDS:,}")
    return _pieces(_grown(cell) if shuffled else _burst(cell), block_size)


def _pieces(moves: Iterator[_Move], block_size: int) -> Iterator[Program]:
    for code, seqs, tokens in moves:
        builder = ProgramBuilder()
        builder.step()
        if code is Op.EXTEND:
            for _ in range(block_size):
                builder.run(Op.APPEND, seqs)
        else:
            builder.run(code, seqs, tokens)
        builder.end_setup()
        yield builder.build(units={})


def _sizes(cell: Cell) -> NDArray[np.int64]:
    """Blocks of each table where they fill the pool, or as much of it as they can."""
    slots, width = max(2, cell["concurrency"]), cell["max_blocks_per_seq"]
    return _shares(min(cell["total_blocks"], slots * width), slots, width)


def _shuffled(cell: Cell) -> Iterator[_Move]:
    import numpy as np

    sizes, block_size, rng = _sizes(cell), cell["block_size"], seeded(cell, 7)
    seqs = np.arange(len(sizes), dtype=np.int32)
    for piece in (5, 1):
        yield Op.ALLOCATE, seqs, sizes * block_size
        order = rng.permutation(np.repeat(seqs, (sizes - 1) // piece))
        left = sizes[order] - piece * (1 + _rank_within(order))
        yield Op.TRUNCATE, order, left * block_size
        yield Op.FREE, rng.permutation(seqs), 0


def _grown(cell: Cell) -> Iterator[_Move]:
    import numpy as np

    sizes, block_size, rng = _sizes(cell), cell["block_size"], seeded(cell, 7)
    seqs = np.arange(len(sizes), dtype=np.int32)
    for _ in range(_GROWN_TURNS):
        yield Op.ALLOCATE, rng.permutation(seqs), block_size
        for turn in range(1, int(sizes.max())):
            yield Op.EXTEND, rng.permutation(seqs[sizes > turn]), block_size
        yield Op.FREE, rng.permutation(seqs), 0


def _burst(cell: Cell) -> Iterator[_Move]:
    import numpy as np

    sizes, block_size, rng = _sizes(cell), cell["block_size"], seeded(cell, 7)
    seqs = np.arange(len(sizes), dtype=np.int32)
    live = np.zeros(0, dtype=np.int32)
    for _ in range(_BURSTS):
        new = np.setdiff1d(seqs, live)
        prompts = rng.integers(1, np.maximum(2, sizes[new] // 2 + 1))
        yield Op.ALLOCATE, new, prompts * block_size
        for turn in range(int((sizes[new] - prompts).max(initial=0))):
            yield Op.EXTEND, new[sizes[new] - prompts > turn], block_size
        order = rng.permutation(seqs)
        live = order[: len(seqs) * 3 // 10]
        yield Op.FREE, order[len(live) :], 0
    yield Op.FREE, live, 0


def _shares(blocks: int, slots: int, width: int) -> NDArray[np.int64]:
    """Sizes that fill `blocks` blocks with rows of at most `width`; int64 [rows]."""
    import numpy as np

    rows = min(slots, -(-blocks // width))
    sizes = np.full(rows, width, dtype=np.int64)
    sizes[-1] = min(width, blocks - (rows - 1) * width)
    return sizes


def _rank_within(order: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many equal entries stand before each entry; int64 like `order`."""
    import numpy as np

    by_value = np.argsort(order, kind="stable")
    counts = np.bincount(order)
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    rank = np.empty(len(order), dtype=np.int64)
    rank[by_value] = np.arange(len(order)) - np.repeat(starts, counts)
    return rank
