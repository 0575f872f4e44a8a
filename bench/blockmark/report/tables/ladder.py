"""The ladder: an engine's own code on top, and below it what is left when one thing is dropped.

Ratios here cross profiles on purpose, and each rung says what it no longer does. They are
no headline: those are formed within one profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from blockmark.report.facts.floors import joint_mark, mark_notes
from blockmark.report.facts.growth import TAKE_GIVE, Quantity, amount
from blockmark.report.facts.numbers import Scale, scale_for, times
from blockmark.report.tables.along import quantity_mark
from blockmark.report.tables.build import measured
from blockmark.report.tables.model import Column, Entry, Group, Row, Table
from blockmark.runs.model import CallStyle, MetricValue, Run, Setting
from blockmark.verdict.headline import without_call_style


@dataclass(frozen=True, slots=True)
class Rung:
    """An implementation in a call style, and what is gone since the rung above."""

    impl: str
    style: CallStyle
    words: str


_POOL = (
    Rung("vllm-pool/py", "per-op", "nothing: the engine's pool"),
    Rung("list-duties/py", "per-op", "block objects, for the same duties in lists and dicts"),
    Rung("flat-stack/cpp", "per-op", "ref counts, prefix cache, Python inside a call"),
    Rung("flat-stack/cpp", "per-step", "a call from Python for each hand-out"),
    Rung("flat-stack/cpp", "native", "Python"),
)
_POOL_CACHING = (Rung("vllm-pool-caching/py", "per-op", _POOL[0].words), *_POOL[1:])
_REBUILD = (
    Rung("vllm-table/py", "per-op", "nothing: every row rebuilt from its list"),
    Rung("vector/py", "per-op", "tensors, every row written from its list"),
    Rung("flat-stack/cpp", "per-op", "lists and Python inside the call, every row copied"),
    Rung("flat-stack/cpp", "native", "the call from Python"),
)
_INCREMENTAL = (
    Rung("vllm-table/py[rows=incremental]", "per-op", "nothing: new entries only, then a commit"),
    Rung("flat-stack/cpp", "per-op", "kept rows, every row copied from a flat table"),
    Rung("flat-stack/cpp", "native", "the call from Python"),
)


_POOLS: tuple[tuple[str, tuple[Rung, ...]], ...] = (
    ("caching off", _POOL),
    ("caching on", _POOL_CACHING),
)
_PACKS: tuple[tuple[str, tuple[Rung, ...]], ...] = (
    ("full rebuild", _REBUILD),
    ("one step's new entries", _INCREMENTAL),
)


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a rung costs, and the mark of a cost that is not above its floor."""

    value: MetricValue
    mark: str


_Costs = tuple[_Cost | None, ...]


@dataclass(frozen=True, slots=True)
class _Ladder:
    """The rungs of one ladder, and their costs in each setting that has the top one."""

    title: str
    rungs: tuple[Rung, ...]
    quantity: Quantity
    costs: tuple[tuple[Setting, _Costs], ...]


def ladder_tables(run: Run) -> list[Table]:
    """The ladders whose top rung the run measured, with what each rung says."""
    return [_whole(ladder) for ladder in _ladders(run)]


def short_ladder_tables(run: Run) -> list[Table]:
    """The same for a screen: costs and factors; what is dropped stands in the notes."""
    return [_short(ladder) for ladder in _ladders(run)]


def _ladders(run: Run) -> list[_Ladder]:
    found = []
    for title, rungs in _POOLS:
        for pool in dict.fromkeys(str(s.params.get("pool", "")) for s in run.settings):
            settings = _shown([s for s in run.settings if str(s.params.get("pool", "")) == pool])
            found.append(_ladder(run, settings, rungs, TAKE_GIVE, f"{title}, {pool} pool"))
    for title, rungs in _PACKS:
        found.append(_ladder(run, run.settings, rungs, _PACK_STEP, title))
    return [ladder for ladder in found if ladder.costs]


def _shown(settings: Sequence[Setting]) -> Sequence[Setting]:
    some = [setting for setting in settings if setting.params.get("batch") in _BATCHES]
    return some or settings


def engines_of(run: Run) -> str:
    """The engines of a run with their releases, and Python's."""
    names = dict.fromkeys(info.engine for info in run.implementations if info.engine)
    python = run.machine.get("python")
    return ", ".join([*names, *([f"Python {python}"] if python else [])])


def _ladder(
    run: Run, settings: Sequence[Setting], rungs: tuple[Rung, ...], what: Quantity, title: str
) -> _Ladder:
    costs = [
        (setting, tuple(_cost(run, setting, rung, what) for rung in rungs)) for setting in settings
    ]
    known = tuple((setting, found) for setting, found in costs if found[0] is not None)
    return _Ladder(f"{_engine(run, rungs[0])}: {title}", rungs, what, known)


def _whole(ladder: _Ladder) -> Table:
    """A column of costs for each setting, the factors to the engine and to the rung above."""
    scale = _scale(ladder)
    columns: list[Column] = []
    for setting, _ in ladder.costs:
        columns += [Column(f"{_name(ladder, setting)}, {scale.label}"), _FACTOR, Column("step")]
    columns.append(Column("dropped", "word"))
    rows = []
    for at, rung in enumerate(ladder.rungs):
        entries: list[Entry] = []
        for _, found in ladder.costs:
            entries += [
                _entry(found, at, scale.factor),
                _ratio(found[0], found[at] if at else None),
                _ratio(_above(found, at), found[at]),
            ]
        rows.append(Row(f"{rung.impl}, {_STYLES[rung.style]}", (*entries, Entry(rung.words))))
    note = f"Costs are of {_WHAT[ladder.quantity]}. {_NOTE}"
    return _table(ladder, columns, rows, note)


def _short(ladder: _Ladder) -> Table:
    scale = _scale(ladder)
    columns: list[Column] = []
    for setting, _ in ladder.costs:
        columns += [Column(f"{_name(ladder, setting)}, {scale.label}"), Column("factor")]
    rows = []
    for at, rung in enumerate(ladder.rungs):
        entries = []
        for _, found in ladder.costs:
            entries += [
                replace(_entry(found, at, scale.factor), interval=""),
                _ratio(found[0], found[at] if at else None),
            ]
        rows.append(Row(f"{rung.impl}, {rung.style}", tuple(entries)))
    drops = "; ".join(f"({at}) {rung.words}" for at, rung in enumerate(ladder.rungs[1:], 2))
    note = (
        f"A ladder's costs are of {_WHAT[ladder.quantity]}. Its factors are to the engine, across "
        f"unlike work; gone from line to line: {drops}."
    )
    return _table(ladder, columns, rows, note)


def _table(ladder: _Ladder, columns: list[Column], rows: list[Row], note: str) -> Table:
    marks = mark_notes(entry.mark for row in rows for entry in row.entries)
    return Table(ladder.title, tuple(columns), (Group("", tuple(rows)),), (note, *marks))


def _scale(ladder: _Ladder) -> Scale:
    costs = [cost.value.value for _, found in ladder.costs for cost in found if cost is not None]
    return scale_for(costs, "ns")


def _name(ladder: _Ladder, setting: Setting) -> str:
    """What a column is of; where tables are packed the batch of pools plays no part."""
    if ladder.quantity is not TAKE_GIVE or "batch" not in setting.params:
        return "all rows"
    return f"n = {setting.params['batch']}"


_PACK_STEP = Quantity(("pack_step_ns",))
_WHAT = {
    TAKE_GIVE: "a block taken and given back; n blocks are taken in a call, and a step is "
    "thousands of blocks, more than an engine takes in one, so that calling once per step is at "
    "its best here",
    _PACK_STEP: "all rows written",
}
# Of many batches these are shown: a call for each block, and a call for many.
_BATCHES = (1, 64)

_NOTE = (
    "A rung does less work than the one above and says what is gone, so no factor here compares "
    "equal work. Under 'of the engine' stands the engine's cost divided by this one, under 'step' "
    "that of the rung above."
)
_FACTOR = Column("of the engine")
_STYLES: dict[CallStyle, str] = {
    "native": "native loop",
    "per-op": "called per operation",
    "per-step": "called per step",
}


def _entry(found: _Costs, at: int, factor: float) -> Entry:
    cost = found[at]
    return Entry(missing=True) if cost is None else measured(cost.value, factor, mark=cost.mark)


def _above(found: _Costs, at: int) -> _Cost | None:
    """The cost of the next rung above that has one."""
    return next((cost for cost in reversed(found[:at]) if cost is not None), None)


def _ratio(above: _Cost | None, cost: _Cost | None) -> Entry:
    if above is None or cost is None or above.value.value is None or not cost.value.value:
        return Entry()
    factor = above.value.value / cost.value.value
    return Entry(times(factor), mark=joint_mark(above.mark, cost.mark))


def _cost(run: Run, setting: Setting, rung: Rung, what: Quantity) -> _Cost | None:
    """What a rung costs there; None where that was not measured."""
    for cell in run.cells_of(setting.key):
        if without_call_style(cell.impl) == rung.impl and cell.call_style == rung.style:
            cost = amount(setting, cell, what)
            if cost is None or not cost.value:
                return None
            return _Cost(cost, quantity_mark(run, setting, cell, what))
    return None


def _engine(run: Run, top: Rung) -> str:
    info = run.implementation_by_name.get(top.impl)
    return info.engine if info is not None and info.engine else top.impl
