"""How much is proved: what a command that proves, and one that proves before it measures, do."""

from __future__ import annotations

from dataclasses import dataclass

from blockmark.workload.oracle.sized import ROWS


@dataclass(frozen=True, slots=True)
class Effort:
    """`programs`: random programs on tiny managers, and of a pool. `rows`: managers of all
    sizes (`workload/oracle/sized.py`). `long_use`: calls on one manager, and between them it
    loops for long over what ends as it began. `operations`: of each load, in whole steps.
    """

    programs: int
    rows: int
    long_use: int
    operations: int

    def request(self, *, first: bool) -> dict[str, int]:
        """What a proof's job says of it. What is the same in every cell is proved in the
        `first` one.
        """
        if not first:
            return {"random_programs": 0, "operations": self.operations}
        return {
            "random_programs": self.programs,
            "rows": self.rows,
            "long_use": self.long_use,
            "operations": self.operations,
        }


QUICK = Effort(programs=6, rows=0, long_use=0, operations=8_000)
BEFORE_MEASURING = Effort(programs=20, rows=0, long_use=0, operations=24_000)
DEFAULT = Effort(programs=100, rows=ROWS, long_use=30_000, operations=120_000)
EXHAUSTIVE = Effort(programs=10_000, rows=ROWS, long_use=300_000, operations=120_000)
