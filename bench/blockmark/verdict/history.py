"""A metric over runs, cell by cell, with the places where it changed.

A look back, and no gate: runs of different days differ by more than their rounds tell, as
the machine's neighbours, its temperature and its memory differ too. A change that matters is
confirmed by `blockmark check` with both sides measured now.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blockmark.runs.metrics import METRICS, metric_of, split_address
from blockmark.runs.model import CellKey, MetricValue, Run
from blockmark.verdict.change_points import MARGIN, ChangePoint, change_points, exact_changes
from blockmark.verdict.errors import NothingInCommon, UnknownName
from blockmark.verdict.machine import Difference, differences
from blockmark.verdict.pairs import checked_metrics, measured, nearest


@dataclass(frozen=True, slots=True)
class Series:
    """A metric of one cell over runs: `values` are by run, None where `reasons` say why.

    `changes` are places in `values`, ascending.
    """

    cell: CellKey
    values: tuple[MetricValue | None, ...]
    reasons: tuple[str, ...]
    changes: tuple[ChangePoint, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Runs in the order of their creation, with those left out and why.

    All runs are of the machine of the last one. `differences` are what sets each of them
    apart from the last one without keeping it out, such as another compiler.
    """

    metric: str
    runs: tuple[Run, ...]
    left_out: tuple[tuple[Run, str], ...]
    differences: tuple[tuple[Difference, ...], ...]
    series: tuple[Series, ...]
    margin: float


def make_history(
    runs: Sequence[Run],
    metric: str,
    *,
    impls: Sequence[str] = (),
    margin: float = MARGIN,
) -> History:
    """The metric of every cell of the last run over all runs that may be set beside it.

    `impls` limits it to these; without, controls are left out. Raises UnknownName for a
    metric or an implementation that no run has, NothingInCommon if no cell has a value.
    """
    checked_metrics([metric], runs)
    _check_names(runs, impls)
    ordered = sorted(runs, key=_when)
    last = ordered[-1]
    kept: list[Run] = []
    left: list[tuple[Run, str]] = []
    apart: list[tuple[Difference, ...]] = []
    for place, run in enumerate(ordered):
        found = differences(run, last)
        elsewhere = next((one for one in found if one.flag == "other machine"), None)
        if any(run == other for other in ordered[:place]):
            left.append((run, "named twice"))
        elif elsewhere is not None:
            reason = (
                f"other machine: {elsewhere.fact} is {elsewhere.before} there and "
                f"{elsewhere.now} in the last run"
            )
            left.append((run, reason))
        else:
            kept.append(run)
            apart.append(found)
    series = []
    for cell in last.cells:
        wanted = cell.impl in impls if impls else cell.kind != "control"
        if wanted:
            one = _series(kept, cell.key, metric, margin)
            if any(value is not None for value in one.values):
                series.append(one)
    if not series:
        raise NothingInCommon(f"run {last.run_id}, the last one, has no value of {metric}")
    return History(metric, tuple(kept), tuple(left), tuple(apart), tuple(series), margin)


def _series(runs: Sequence[Run], key: CellKey, metric: str, margin: float) -> Series:
    values: list[MetricValue | None] = []
    reasons: list[str] = []
    for run in runs:
        found = _value(run, runs[-1], key, metric)
        values.append(None if isinstance(found, str) else found)
        reasons.append(found if isinstance(found, str) else "")
    places = [place for place, value in enumerate(values) if value is not None]
    rounds = [value.values for value in values if value is not None]
    changes = _changes(rounds, metric, margin)
    return Series(
        key,
        tuple(values),
        tuple(reasons),
        tuple(ChangePoint(places[one.index], one.ratio, one.p) for one in changes),
    )


def _changes(
    rounds: Sequence[Sequence[float]], metric: str, margin: float
) -> tuple[ChangePoint, ...]:
    row = metric_of(metric)
    if row is not None and row.kind in ("count", "bytes"):
        return exact_changes(rounds)
    if row is not None and row.kind == "rate" and all(min(each) > 0 for each in rounds):
        # The quiet quartile of a speed is the upper one: the lower one of its reciprocal.
        turned = [[1.0 / value for value in each] for each in rounds]
        return tuple(
            ChangePoint(one.index, 1.0 / one.ratio, one.p)
            for one in change_points(turned, margin=margin)
        )
    return change_points(rounds, margin=margin)


def _value(run: Run, last: Run, key: CellKey, metric: str) -> MetricValue | str:
    """The value of a cell, or why it can't stand in the series of the last run's."""
    cell, newest = run.cell_by_key.get(key), last.cell_by_key[key]
    if cell is None:
        return "not in this run"
    value = measured(cell, metric)
    if isinstance(value, str):
        return value
    facts: Mapping[str, tuple[object, object]] = {
        "program": (_digest(run, key), _digest(last, key)),
        "call style": (cell.call_style, newest.call_style),
        "replay": (run.build.get("replay_version"), last.build.get("replay_version")),
        "source": (value.source, _source(newest.metric(metric))),
    }
    for name, (then, now) in facts.items():
        if then is not None and now is not None and then != now:
            return f"other {name}: {then}, not {now}"
    return value


def _digest(run: Run, key: CellKey) -> str | None:
    return run.setting_by_key[key.setting].program_digest


def _source(value: MetricValue | None) -> str | None:
    return None if value is None or value.value is None else value.source


def _check_names(runs: Sequence[Run], impls: Sequence[str]) -> None:
    known = {info.name for run in runs for info in run.implementations}
    for name in impls:
        if name not in known:
            raise UnknownName(f"no implementation {name!r} in the runs{nearest(name, known)}")


def _when(run: Run) -> tuple[datetime.datetime, str]:
    return datetime.datetime.fromisoformat(run.created), run.run_id


def is_better_lower(metric: str) -> bool | None:
    """Whether less of a metric is better; None where nothing is."""
    row = METRICS.get(split_address(metric)[0])
    return None if row is None or row.direction is None else row.direction == "lower"
