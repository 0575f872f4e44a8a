"""Rounds in which one side is disturbed and never both: where ranks of rounds promise too much.

To swap the labels of such a round is fair, so the turns are as good as ever. But a round's two
values are less alike than those of two rounds, and ranks compare across rounds.
"""

from __future__ import annotations

import math
import random

from blockmark.verdict.gate import GateCell, Rule, judge
from blockmark.verdict.margins import COST

CELLS = 8


def count_false(suites: int, rule: Rule, seed: int) -> int:
    """In how many suites of `CELLS` equal cells one is called regressed.

    In each round a fair coin decides which side takes 5 to 50 % more, in each cell on its own;
    beside that the sides differ by 1 %.
    """
    rng = random.Random(seed)
    return sum(_any_regressed(rule, rng) for _ in range(suites))


def _any_regressed(rule: Rule, rng: random.Random) -> bool:
    cells = [GateCell(str(number), COST) for number in range(CELLS)]
    for look in rule.every_look:
        for cell in cells:
            while cell.verdict is None and len(cell.before) < look:
                sides = [100 * (1 + abs(rng.gauss(0, 0.01))) for _ in range(2)]
                sides[rng.randrange(2)] *= rng.uniform(1.05, 1.5)
                cell.before.append(sides[0])
                cell.after.append(sides[1])
                cell.shifts.append(math.log(sides[1] / sides[0]))
        judge(cells, rule, last=look == rule.looks[-1])
    return any(cell.verdict == "regressed" for cell in cells)
