"""What one row of the table of metrics says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["cost", "distribution", "count", "bytes", "share", "rate", "proof"]
Direction = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table.

    `label` is what people call it: titles of columns, rows, panels and axes are made of it.
    `unit` is `ns`, `share` (a fraction of one), `ratio`, `bytes`, `blocks`, `1/s` or
    `count`. `model` is the part of the measurement that it comes from.
    `kind` decides how rounds become one value (see `estimate`): a *cost* is timed
    in blocks, a *distribution* sample by sample; *count* and *bytes* are exact; a
    *share* is a cost put in relation; a *rate* is a speed, whose best is the largest; a
    *proof* shows that a condition held and is never judged. `direction` is what counts
    as better, None if nothing does. `formula` is how the number is made, `meaning` what
    it tells, `source` where it comes from: `clock`, `count`, `software` (the kernel's
    books), `counter` (a processor's or a simulated one; each value names which),
    `derived` from other metrics, or `model` (a formula whose inputs are keys, not measured).
    """

    name: str
    label: str
    unit: str
    model: str
    kind: Kind
    direction: Direction | None
    source: str
    formula: str
    meaning: str
