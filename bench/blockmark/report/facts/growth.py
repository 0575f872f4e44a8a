"""What is followed along the settings of a scenario: the quantities, and each implementation's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from blockmark.report.facts.order import CALL_STYLES, by_call_style
from blockmark.report.facts.setting import number
from blockmark.report.facts.sweep import Sweep
from blockmark.runs.metrics import METRICS
from blockmark.runs.model import CallStyle, Cell, MetricValue, Run, Setting


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is followed along an axis: metrics added up, for each packed row if `per_row`.

    `name` is what a sum is called; a single metric has its own label.
    """

    metrics: tuple[str, ...]
    name: str = ""
    per_row: bool = False

    @property
    def label(self) -> str:
        """What people call it."""
        label = self.name or METRICS[self.metrics[0]].label
        return f"{label}, per row" if self.per_row else label

    @property
    def unit(self) -> str:
        """The unit of its values: `ns` or `bytes`."""
        return METRICS[self.metrics[0]].unit


STEP = Quantity(("step_ns",))
STEP_EACH = Quantity(("step_per_sequence_ns",))
CHAIN = Quantity(("lookup_chain_shuffled_ns",))
BURST = Quantity(("alloc_free_burst_ns",))
MIXED = Quantity(("alloc_free_interleaved_ns",))
PACK_ROW = Quantity(("pack_ns",), per_row=True)
TAKE_GIVE = Quantity(("take_ns", "give_ns"), "pool alone: take + give")
TAKE = Quantity(("take_ns",))
GIVE = Quantity(("give_ns",))
REMOVE = Quantity(("remove_ns",))
FIND = Quantity(("find_contiguous_ns",))
COMPACT = Quantity(("compact_ns",))
TABLES = Quantity(("table_bytes",))
DRAWN = (STEP_EACH, CHAIN, TABLES, BURST, MIXED, PACK_ROW, TAKE, GIVE, REMOVE, FIND, COMPACT)
# Schemes of floors: the same work on a plain array tells more than no work at all.
_FLOORS = ("raw-array", "null")


def amount(setting: Setting, cell: Cell, quantity: Quantity) -> MetricValue | None:
    """The quantity of one cell, with its rounds; None if the cell has no such metric.

    The ends of a sum's interval are the sums of the ends, which is rather too wide.
    """
    parts = [cell.metric(name) if cell.ok else None for name in quantity.metrics]
    known = [part for part in parts if part is not None]
    divisor = packed_rows(setting) if quantity.per_row else 1.0
    if len(known) < len(parts) or not divisor:
        return None
    first = known[0]
    if len(known) == 1 and divisor == 1.0:
        return first
    missing = next((part for part in known if part.value is None), None)
    if missing is not None:
        return missing
    rounds = [part.values for part in known]
    return MetricValue(
        _sum((part.value for part in known), by=divisor),
        first.unit,
        "derived",
        low=_sum((part.low for part in known), by=divisor),
        high=_sum((part.high for part in known), by=divisor),
        rounds=first.rounds,
        values=tuple(sum(values) / divisor for values in zip(*rounds, strict=False)),
        approximate=first.approximate,
    )


def packed_rows(setting: Setting) -> float | None:
    """How many rows a pack of all rows writes: a fact of the setting, else full rows that fit."""
    told = number(setting.facts, "pack_rows")
    if told:
        return told
    names = ("concurrency", "total_blocks", "max_blocks_per_seq")
    sequences, blocks, width = (number(setting.params, name) for name in names)
    if sequences is None or blocks is None or not width:
        return None
    return min(sequences, blocks // width) or None


@dataclass(frozen=True, slots=True)
class Line:
    """One implementation along the settings; None where it has no cell of this call style."""

    impl: str
    control: bool
    cells: tuple[Cell | None, ...]

    def amounts(self, sweep: Sweep, quantity: Quantity) -> tuple[MetricValue | None, ...]:
        """The quantity in each setting."""
        return tuple(
            None if cell is None else amount(setting, cell, quantity)
            for setting, cell in zip(sweep.settings, self.cells, strict=True)
        )


def lines_of(run: Run, sweep: Sweep) -> dict[CallStyle, list[Line]]:
    """The implementations of each call style, in the order of the last step table with numbers.

    The last is where the growth has taken place.
    """
    by_setting = [
        {(cell.call_style, cell.impl): cell for cell in run.cells_of(setting.key)}
        for setting in sweep.settings
    ]
    last_first = by_setting[::-1]
    last_first.sort(key=lambda cells: not any(cell.ok for cell in cells.values()))
    lines: dict[CallStyle, dict[str, Line]] = {}
    for cells in last_first:
        for style, members in by_call_style(cells.values()):
            known = lines.setdefault(style, {})
            for cell in members:
                along = tuple(found.get((style, cell.impl)) for found in by_setting)
                known.setdefault(cell.impl, Line(cell.impl, cell.kind == "control", along))
    return {style: list(lines[style].values()) for style in CALL_STYLES if style in lines}


def floors_of(run: Run, lines: Iterable[Line]) -> list[Line]:
    """Which of these lines are the floor: the plain array, else the empty loop.

    `lines` are those with values of the quantity in question.
    """
    controls = [line for line in lines if line.control]
    for scheme in _FLOORS:
        found = [x for x in controls if run.implementation_by_name[x.impl].scheme == scheme]
        if found:
            return found
    return []


def _sum(parts: Iterable[float | None], *, by: float) -> float | None:
    numbers = list(parts)
    known = [part for part in numbers if part is not None]
    return sum(known) / by if len(known) == len(numbers) else None
