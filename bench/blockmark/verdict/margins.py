"""Which change of a metric matters: the margin that a ratio must pass to be called anything.

From recorded pairs of identical programs: the least block of a round repeats within a few
per cent, quantiles of single steps do not. A margin narrower than what the statistic can
hold would only make cells inconclusive; the error is held by the rank test alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from blockmark.runs.metrics import metric_of, split_address

from .errors import CompareError

COST = 0.03
# Of single steps, which have no floor to fall to. p99.9 and the largest step stand on so
# few samples that no margin makes them tell anything.
QUANTILES = {"p50": 0.05, "p90": 0.10, "p99": 0.25}
# Stored rounds were not interleaved with today's: over ten minutes a machine moves by more
# than its rounds differ. With this factor and 30 rounds a side, 134 of 2,072 suites of
# identical programs still had a false verdict, all of them in one two-mode cell.
STORED_FACTOR = 1.67


@dataclass(frozen=True, slots=True)
class Margin:
    """The change that matters, as a share of one, and where the number comes from."""

    share: float
    origin: str

    def raised_to(self, floor: float) -> Margin:
        """The wider of this and the noise that identical programs showed, a share of one.

        Raises ValueError for a floor that is negative or not finite.
        """
        if not math.isfinite(floor) or floor < 0:
            raise ValueError(f"{floor} is no noise floor")
        if floor <= self.share:
            return self
        return Margin(floor, f"noise floor of a self-test, above {self.share:.3g}")

    def stored(self) -> Margin:
        """The margin against rounds that were measured at another time."""
        return Margin(self.share * STORED_FACTOR, f"{self.origin}, x{STORED_FACTOR} as stored")


@dataclass(frozen=True, slots=True)
class OwnMargin:
    """A margin that a user chose for the cells whose names fit a pattern with `*` and `?`."""

    pattern: str
    share: float

    @classmethod
    def parse(cls, text: str) -> OwnMargin:
        """`PATTERN=SHARE`, the share as `0.05` or `5%`; without a pattern for every cell.

        Raises CompareError.
        """
        pattern, _, number = text.rpartition("=")
        try:
            share = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
        except ValueError:
            share = math.nan
        if not 0 < share <= 10:
            raise CompareError(
                f"--margin {text} must be a share such as 0.05 or 5%, or PATTERN=SHARE such as "
                '"* mine step_ns=5%"'
            )
        return cls(pattern.strip() or "*", share)

    def fits(self, cell: str) -> bool:
        """Whether it is a margin of the cell of this name."""
        words = re.escape(self.pattern).replace(r"\*", ".*").replace(r"\?", ".")
        return re.fullmatch(words, cell) is not None


def margin_of_cell(cell: str, address: str, own: Sequence[OwnMargin] = ()) -> Margin:
    """The margin of a gated metric in a cell: the last of the `own` ones that fits its name.

    Raises ValueError if the metric is not gated.
    """
    usual = margin_for(address)
    if usual is None:
        raise ValueError(f"{address} is not gated")
    for each in reversed(own):
        if each.fits(cell):
            return Margin(each.share, "--margin")
    return usual


def refuse_unused(own: Sequence[OwnMargin], cells: Sequence[str]) -> None:
    """Raise CompareError for a margin that no cell has: it is misspelt."""
    for each in own:
        if not any(map(each.fits, cells)):
            known = f"; there is {cells[0]}" if cells else ""
            raise CompareError(f"--margin {each.pattern}: no cell has such a name{known}")


def margin_for(address: str) -> Margin | None:
    """The margin of a metric or one of its quantiles; None if it is not gated by the clock.

    Costs in blocks have 3 %; single steps 5 % at p50, 10 % at p90, 25 % at p99. Exact
    counts and bytes have none, since any difference is one (another rule); neither have
    shares and rates of paced loops, largest values, and what is derived from other
    metrics, which would be judged twice. Raises ValueError if there is no such metric.
    """
    row = metric_of(address)
    if row is None:
        raise ValueError(f"{address}: no such metric; see `blockmark list metrics`")
    if row.source == "derived" or row.direction is None or row.model == "rate":
        return None
    if row.kind == "cost":
        return Margin(COST, "least block")
    if row.kind == "distribution":
        quantile = split_address(address)[1] or "p50"
        share = QUANTILES.get(quantile)
        return None if share is None else Margin(share, f"{quantile} of single steps")
    return None
