"""Two runs on disk judged by the rule of the gate: advice, as they were not interleaved.

Measured on one machine, rounds taken ten minutes apart gave a false verdict in 11 to 18 %
of the suites of identical programs, with margins wider by two thirds in 6.5 %. So nothing
here stops a build unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from blockmark.runs.metrics import METRICS
from blockmark.runs.model import Cell, CellKey, Run

from .check import CheckResult
from .compare import why_incomparable
from .errors import NothingInCommon, UnknownName
from .gate import GateCell, Rule, judge
from .judged import cell_verdict, tell_apart
from .machine import Difference, differences
from .margins import Margin, OwnMargin, margin_for, margin_of_cell, refuse_unused
from .overlap import explain_no_overlap
from .pairs import measured, nearest

# What is judged unless more is asked for: the whole step, and the pool under pressure.
GATED = ("step_ns", "alloc_free_interleaved_ns")
# Where neither is measured, as of a pool alone.
_POOL_GATED = ("take_ns", "give_ns")


def judged_of(timed: Collection[str], asked: Sequence[str]) -> tuple[str, ...]:
    """The metrics by which an implementation is judged that has those `timed`: the asked
    ones, and if it has none of them what its pool costs.
    """
    return tuple(asked if set(asked) & set(timed) else dict.fromkeys((*asked, *_POOL_GATED)))


def all_costs() -> tuple[str, ...]:
    """Every metric that the clock gates: the costs that are timed in blocks."""
    return tuple(
        name for name, row in METRICS.items() if row.kind == "cost" and margin_for(name) is not None
    )


@dataclass(frozen=True, slots=True)
class StoredOptions:
    """What is judged of two runs, and how.

    `scenarios` and `impls` are names; empty for all. With `other_machine` timings of
    another machine are judged all the same.
    """

    metrics: tuple[str, ...] = GATED
    scenarios: tuple[str, ...] = ()
    impls: tuple[str, ...] = ()
    other_machine: bool = False
    enforced: bool = False
    margins: tuple[OwnMargin, ...] = ()
    rule: Rule = field(default_factory=Rule)


def judge_runs(
    before: Run,
    now: Run,
    options: StoredOptions,
    *,
    names: tuple[str, str],
    kind: Literal["stored", "files"] = "files",
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> CheckResult:
    """Judge the cells that both runs have, as one look. `names` are those of the sides.
    `progress` is told of each cell, as runs of hundreds of rounds take a while.

    Cells of the earlier run that the later one lacks are missing. Raises NothingInCommon
    if there is no cell in both, UnknownName for an implementation that neither has.
    """
    _known(options, (before, now))
    keys = [key for key, cell in before.cell_by_key.items() if _chosen(cell, options)]
    common = [key for key in keys if key in now.cell_by_key]
    if not common:
        raise NothingInCommon(explain_no_overlap(before, now))
    apart = differences(before, now)
    labels = _labels(before)
    planned: list[tuple[GateCell, CellKey, str]] = []
    missing: list[str] = []
    wrong: list[str] = []
    added: list[str] = []
    mended: list[str] = []
    for key in keys:
        old, new = before.cell_by_key[key], now.cell_by_key.get(key)
        where = _place(key, labels)
        if new is None:
            missing.append(f"{where}: the candidate has no such cell")
            continue
        if new.status == "wrong":
            wrong.append(f"{where}: {new.reason}")
            continue
        if not old.ok and not new.ok:
            continue
        if old.status == "unavailable":
            added.append(f"{where}: {old.reason}")
            continue
        if old.status == "wrong":
            mended.append(f"{where}: the baseline is wrong: {old.reason}")
            continue
        tier = now.implementation_by_name[key.impl].tier
        reason = why_incomparable(before, now, old, new) or _unlike(apart, tier, options)
        if not old.ok:
            reason = f"the baseline {old.status}: {old.reason}"
        for metric in judged_of((old if old.ok else new).metrics, options.metrics):
            first, second = measured(old, metric), measured(new, metric)
            if not old.ok and not isinstance(second, str):
                name = f"{where} {metric}"
                cell = GateCell(name, _margin(name, metric, options).share)
                cell.after, cell.verdict, cell.reason = list(second.values), "incomparable", reason
                planned.append((cell, key, metric))
                continue
            if isinstance(first, str):
                continue
            if isinstance(second, str):
                missing.append(f"{where} {metric}: {second}")
                continue
            name = f"{where} {metric}"
            cell = GateCell(name, _margin(name, metric, options).share)
            cell.before, cell.after = list(first.values), list(second.values)
            if reason:
                cell.verdict, cell.reason = "incomparable", reason
            planned.append((cell, key, metric))
    refuse_unused(options.margins, [cell.name for cell, _, _ in planned])
    rule = options.rule
    rounds = max((min(len(c.before), len(c.after)) for c, _, _ in planned), default=1)
    one_look = Rule(alpha=rule.alpha, beta=rule.beta, looks=(max(1, rounds),), leaps=())
    judge([cell for cell, _, _ in planned], one_look, last=True)
    cells = []
    for done, (cell, key, metric) in enumerate(planned, start=1):
        at = key.setting.scenario, labels[key], key.impl
        margin = _margin(cell.name, metric, options)
        told = cell_verdict(cell, at, metric, margin, rule=one_look, planned=len(planned))
        cells.append(told)
        progress(done, len(planned), f"judged {cell.name}")
    added += [
        _place(key, _labels(now))
        for key, cell in now.cell_by_key.items()
        if key not in before.cell_by_key and _chosen(cell, options)
    ]
    return CheckResult(
        kind=kind,
        baseline=names[0],
        candidate=names[1],
        cells=tuple(cells),
        missing=tuple(missing),
        added=tuple(added),
        mended=tuple(mended),
        wrong=tuple(wrong),
        notes=tuple(f"{d.flag}: {d.fact} was {d.before}, is {d.now}" for d in apart),
        enforced=options.enforced,
        facts={
            "alpha": rule.alpha,
            "beta": rule.beta,
            "looks": list(one_look.looks),
            "seed": now.seed,
            "runs": [before.run_id, now.run_id],
        },
    )


def _margin(name: str, metric: str, options: StoredOptions) -> Margin:
    """A chosen margin as it is; the usual one is wider, as stored rounds are farther apart."""
    margin = margin_of_cell(name, metric, options.margins)
    return margin if any(own.fits(name) for own in options.margins) else margin.stored()


def _chosen(cell: Cell, options: StoredOptions) -> bool:
    return (
        cell.kind != "control"
        and (not options.scenarios or cell.scenario in options.scenarios)
        and (not options.impls or cell.impl in options.impls)
    )


def _known(options: StoredOptions, runs: Collection[Run]) -> None:
    scenarios = {info.name for run in runs for info in run.scenarios}
    impls = {info.name for run in runs for info in run.implementations}
    for what, named, known in (
        ("scenario", options.scenarios, scenarios),
        ("implementation", options.impls, impls),
    ):
        for name in named:
            if name not in known:
                raise UnknownName(f"no {what} {name!r} in the runs{nearest(name, known)}")


def _unlike(apart: Sequence[Difference], tier: str, options: StoredOptions) -> str:
    """Why a cell of that tier says nothing of the code; empty if it does."""
    for one in apart:
        told = f"{one.flag}: {one.fact} was {one.before}, is {one.now}"
        if one.flag == "other machine" and not options.other_machine:
            return f"{told}; --allow-other-machine compares all the same"
        if one.flag == "other interpreter" or (one.flag == "other build" and tier == "cpp"):
            return told
    return ""


def _labels(run: Run) -> dict[CellKey, str]:
    """For every cell what tells its setting from the others of the scenario in this run."""
    labels: dict[CellKey, str] = {}
    for info in run.scenarios:
        settings = [setting for setting in run.settings if setting.scenario == info.name]
        words = tell_apart([setting.params for setting in settings])
        by_key = dict(zip((setting.key for setting in settings), words, strict=True))
        labels |= {
            key: by_key.get(key.setting, "")
            for key in run.cell_by_key
            if key.setting.scenario == info.name
        }
    return labels


def _place(key: CellKey, labels: dict[CellKey, str]) -> str:
    setting = labels.get(key, "")
    scenario = key.setting.scenario
    return f"{scenario} ({setting}) {key.impl}" if setting else f"{scenario} {key.impl}"
