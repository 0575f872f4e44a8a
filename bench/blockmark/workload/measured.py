"""A Program with what is measured by it, as every model makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from .program import Program
    from .scenario import Cell


@dataclass(frozen=True, slots=True)
class Measured:
    """A Program and the metric of each of its phases (None: that phase is not used).

    `pool_only`: the Program is for a BlockPool, not for a manager.
    """

    program: Program
    metrics: dict[int, str]
    pool_only: bool = False


def seeded(cell: Cell, salt: int) -> np.random.Generator:
    """Random numbers of the cell's seed; another `salt` for each purpose."""
    import numpy as np

    return np.random.default_rng([cell["seed"], salt])


def full_rows(cell: Cell) -> int:
    """Sequences with full rows that the pool holds at once."""
    return int(min(cell["concurrency"], cell["total_blocks"] // cell["max_blocks_per_seq"]))
