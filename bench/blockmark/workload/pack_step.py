"""All rows written for a kernel after a step in which some of them grew by a block.

Where a table is rebuilt each time, it costs what `pack_ns` says. Where rows are kept and
only added to, as in vLLM's worker, this is what a decode step costs: one row in
`block_size` has a new entry, and all rows go out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .measured import Measured, full_rows
from .program import Op, ProgramBuilder

if TYPE_CHECKING:
    from .scenario import Cell

# Steps of a cycle: together the rows that grow in them are at most half of all.
_STEPS = 8


def pack_step_programs(cell: Cell) -> list[Measured]:
    """Rows of one block less than full; those that grew shrink again, off the clock."""
    rows, width, block_size = full_rows(cell), cell["max_blocks_per_seq"], cell["block_size"]
    grown = -(-rows // block_size)
    steps = min(_STEPS, rows // grown) if rows else 0
    if steps < 1 or width < 2:
        return []
    seqs = np.arange(rows, dtype=np.int32)
    order = np.random.default_rng([cell["seed"], 8]).permutation(seqs)
    start = (width - 1) * block_size
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, seqs, start)
    builder.end_setup()
    for step in range(steps):
        builder.step()
        builder.run(Op.EXTEND, np.sort(order[step * grown : (step + 1) * grown]), block_size)
        builder.step(phase=1)
        builder.run(Op.PACK, seqs)
    builder.step()
    builder.run(Op.TRUNCATE, np.sort(order[: steps * grown]), start)
    program = builder.build(period=2 * steps + 1, units={1: float(steps)}, width=width)
    return [Measured(program, {1: "pack_step_ns"})]
