"""The ladder: an engine's own code on top, and below it what is left when one thing is dropped.

Ratios here cross profiles on purpose, and each rung says what it no longer does. They are
no headline: those are formed within one profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockmark.report.numbers import scale_for, significant, times
from blockmark.report.order import value_of
from blockmark.report.table import Column, Entry, Group, Row, Table
from blockmark.runs.model import CallStyle, Cell, Run, Setting
from blockmark.verdict.headline import without_call_style


@dataclass(frozen=True, slots=True)
class Rung:
    """An implementation in a call style, and what is gone since the rung above."""

    impl: str
    style: CallStyle
    words: str


_POOL = (
    Rung("vllm-pool/py", "per-op", "nothing: the engine's pool"),
    Rung("list-duties/py", "per-op", "block objects; the same duties in lists and dicts"),
    Rung("flat-stack/cpp", "per-op", "ref counts, prefix cache, Python inside a call"),
    Rung("flat-stack/cpp", "per-step", "a call from Python for each hand-out"),
    Rung("flat-stack/cpp", "native", "Python"),
)
_POOL_CACHING = (Rung("vllm-pool-caching/py", "per-op", _POOL[0].words), *_POOL[1:])
_REBUILD = (
    Rung("vllm-table/py", "per-op", "nothing: every row rebuilt from its list"),
    Rung("vector/py", "per-op", "tensors; every row written from its list"),
    Rung("flat-stack/cpp", "per-op", "lists and Python inside the call; every row copied"),
    Rung("flat-stack/cpp", "native", "the call from Python"),
)
_INCREMENTAL = (
    Rung("vllm-table/py[rows=incremental]", "per-op", "nothing: new entries only, then a commit"),
    Rung("flat-stack/cpp", "per-op", "kept rows; every row copied from a flat table"),
    Rung("flat-stack/cpp", "native", "the call from Python"),
)


_Ladder = tuple[str, tuple[Rung, ...]]


def ladder_tables(run: Run) -> list[Table]:
    """The ladders whose top rung the run measured, each with what it says."""
    tables = []
    pools: tuple[_Ladder, ...] = (("caching off", _POOL), ("caching on", _POOL_CACHING))
    packs: tuple[_Ladder, ...] = (
        ("full rebuild", _REBUILD),
        ("one step's new entries", _INCREMENTAL),
    )
    for title, rungs in pools:
        for pool in dict.fromkeys(str(s.params.get("pool", "")) for s in run.settings):
            settings = _shown([s for s in run.settings if str(s.params.get("pool", "")) == pool])
            table = _table(run, settings, rungs, ("take_ns", "give_ns"), f"{title}, {pool} pool")
            tables += [table] if table else []
    for title, rungs in packs:
        table = _table(run, run.settings, rungs, ("pack_step_ns",), title)
        tables += [table] if table else []
    return tables


def _shown(settings: Sequence[Setting]) -> Sequence[Setting]:
    some = [setting for setting in settings if setting.params.get("batch") in _BATCHES]
    return some or settings


def engines_of(run: Run) -> str:
    """The engines of a run with their releases, and Python's."""
    names = dict.fromkeys(info.engine for info in run.implementations if info.engine)
    python = run.machine.get("python")
    return ", ".join([*names, *([f"Python {python}"] if python else [])])


def _table(
    run: Run,
    settings: Sequence[Setting],
    rungs: Sequence[Rung],
    metrics: tuple[str, ...],
    title: str,
) -> Table | None:
    """One ladder: a column of costs for each setting, and the factor to the rung above."""
    costs = [
        (setting, [_cost(run.cells_of(setting.key), rung, metrics) for rung in rungs])
        for setting in settings
    ]
    costs = [(setting, found) for setting, found in costs if found[0] is not None]
    if not costs:
        return None
    scale = scale_for((cost for _, found in costs for cost in found), "ns")
    columns: list[Column] = []
    for setting, _ in costs:
        name = f"n = {setting.params['batch']}" if "batch" in setting.params else "all rows"
        columns += [Column(f"{name}, {scale.label}"), Column("of the engine"), Column("step")]
    columns.append(Column("dropped", "word"))
    rows = []
    for at, rung in enumerate(rungs):
        entries: list[Entry] = []
        for _, found in costs:
            entries += _entries(found, at, scale.factor)
        rows.append(Row(f"{rung.impl}, {_STYLES[rung.style]}", (*entries, Entry(rung.words))))
    what = _OF_BLOCKS if "take_ns" in metrics else "all rows written"
    return Table(
        f"{_engine(run, rungs[0])}: {title}",
        tuple(columns),
        (Group("", tuple(rows)),),
        (f"Costs are of {what}. {_NOTE}",),
    )


_OF_BLOCKS = (
    "a block taken and given back; n blocks are taken in a call, and a step is some 4,096 blocks, "
    "more than an engine takes in one, so that calling once per step is at its best here"
)
# Of many batches these are shown: a call for each block, and a call for many.
_BATCHES = (1, 64)

_NOTE = (
    "A rung does less work than the one above and says what is gone, so no factor here compares "
    "equal work. `of the engine`: the engine's cost divided by this one; `step`: the cost of the "
    "rung above divided by this one."
)
_STYLES: dict[CallStyle, str] = {
    "native": "native loop",
    "per-op": "called per operation",
    "per-step": "called per step",
}


def _entries(found: Sequence[float | None], at: int, factor: float) -> list[Entry]:
    cost, top = found[at], found[0]
    if cost is None or not cost or top is None:
        return [Entry(missing=True), Entry(), Entry()]
    above = next((c for c in reversed(found[:at]) if c is not None), None)
    ratios = [Entry(), Entry()]
    if above is not None:
        ratios = [Entry(times(top / cost)), Entry(times(above / cost))]
    return [Entry(significant(cost * factor)), *ratios]


def _cost(cells: Sequence[Cell], rung: Rung, metrics: tuple[str, ...]) -> float | None:
    """The sum of the metrics, in ns; None where one of them was not measured."""
    for cell in cells:
        if without_call_style(cell.impl) == rung.impl and cell.call_style == rung.style:
            found = [value_of(cell, metric) for metric in metrics]
            return None if None in found else sum(value for value in found if value is not None)
    return None


def _engine(run: Run, top: Rung) -> str:
    info = run.implementation_by_name.get(top.impl)
    return info.engine if info is not None and info.engine else top.impl
