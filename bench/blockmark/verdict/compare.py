"""Comparisons: implementations within one run, and the same cells in two runs.

What comes out is data, for a report to print. Ratios have intervals; none is a
verdict, which takes a margin and both sides measured side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from blockmark.runs.floors import Standing, standing
from blockmark.runs.metrics import split_address
from blockmark.runs.model import Cell, CellKey, MetricValue, Run, SettingKey
from blockmark.verdict.errors import NothingInCommon, UnknownName
from blockmark.verdict.machine import Difference, Flag, differences
from blockmark.verdict.overlap import explain_no_overlap
from blockmark.verdict.pairs import (
    Reading,
    checked_metrics,
    comparable_metrics,
    is_exact,
    measured,
    nearest,
    ratio_of,
    reading_of,
)
from blockmark.verdict.stats import Ratio

# What others are set against if nothing is named: the structure that the first
# question is about, in the fastest tier that was measured.
_DEFAULT_REFERENCES = ("flat-stack/cpp", "flat-stack/numpy", "flat-stack/py")


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A cell, or one metric of it (`metric` is None for the whole), with the reason."""

    cell: CellKey
    metric: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class ImplementationRatio:
    """One implementation against the reference, in one setting and metric.

    `ratio` is implementation / reference. `reading` is None for controls, which are
    floors and no rivals, and with too few rounds. `same_profile` is False
    where the two do not include the same work, `same_call_style` where they were
    not called the same way: such a ratio is not the structure's alone. `floor` is how the
    one of the two stands to its floor that stands lower; None where that is not known.
    """

    setting: SettingKey
    metric: str
    impl: str
    value: MetricValue
    reference_value: MetricValue
    ratio: Ratio
    reading: Reading | None
    control: bool
    same_profile: bool
    same_call_style: bool
    floor: Standing | None = None


@dataclass(frozen=True, slots=True)
class ImplementationComparison:
    """Implementations within one run, in the order of settings, metrics, implementations."""

    run: Run
    reference: str
    metrics: tuple[str, ...]
    rows: tuple[ImplementationRatio, ...]
    not_compared: tuple[NotCompared, ...]


@dataclass(frozen=True, slots=True)
class CellChange:
    """One metric of one cell in two runs.

    `ratio` is now / before; None if the two are `incomparable`, with the reason.
    `reading` is None for controls and for all that is timed: at two times the same program
    differs by more than its rounds do, and the more rounds there are the surer it looks like
    a change. Exact counts read as they are.
    """

    cell: CellKey
    metric: str
    before: MetricValue
    now: MetricValue
    ratio: Ratio | None
    reading: Reading | None
    control: bool
    incomparable: str | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The cells of two runs, in the order of the later one.

    `only_before` and `only_now` are cells that one run does not have at all;
    `differences` what else sets the runs apart, such as the machine.
    """

    before: Run
    now: Run
    metrics: tuple[str, ...]
    rows: tuple[CellChange, ...]
    only_before: tuple[CellKey, ...]
    only_now: tuple[CellKey, ...]
    not_compared: tuple[NotCompared, ...]
    differences: tuple[Difference, ...]

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What has to be said before any ratio, each once."""
        return tuple(dict.fromkeys(difference.flag for difference in self.differences))


def compare_implementations(
    run: Run, *, reference: str | None = None, metrics: Sequence[str] | None = None
) -> ImplementationComparison:
    """Every implementation of a run against one of them, which may be a control.

    Raises UnknownName for a reference or a metric that the run does not have,
    NothingInCommon if there is no ratio.
    """
    chosen = _reference(run, reference)
    named = checked_metrics(metrics, [run]) if metrics is not None else comparable_metrics([run])
    rows: list[ImplementationRatio] = []
    left: list[NotCompared] = []
    for setting in run.setting_by_key:
        base = run.cell_by_key.get(CellKey(setting, chosen))
        if base is None or not base.ok:
            reason = "not in this setting" if base is None else f"{base.status}: {base.reason}"
            left.append(NotCompared(CellKey(setting, chosen), None, reason))
            continue
        others = [cell for cell in run.cells_of(setting) if cell.impl != chosen]
        left += [
            NotCompared(cell.key, None, f"{cell.status}: {cell.reason}")
            for cell in others
            if not cell.ok
        ]
        for metric in named:
            for cell in others:
                name, _ = split_address(metric)
                # A control, or a structure that lacks an operation, serves only some.
                if not cell.ok or name not in cell.metrics or name not in base.metrics:
                    continue
                value, other = measured(cell, metric), measured(base, metric)
                if isinstance(value, str) or isinstance(other, str):
                    reason = value if isinstance(value, str) else f"{chosen}: {other}"
                    left.append(NotCompared(cell.key, metric, reason))
                elif value.source != other.source:
                    reason = f"{value.source} against {other.source}"
                    left.append(NotCompared(cell.key, metric, reason))
                else:
                    rows.append(_implementation_ratio(run, metric, cell, base, value, other))
    if not rows:
        raise NothingInCommon(f"nothing in run {run.run_id} can be set against {chosen}")
    return ImplementationComparison(run, chosen, named, tuple(rows), tuple(left))


def compare_runs(before: Run, now: Run, *, metrics: Sequence[str] | None = None) -> RunComparison:
    """The cells that two runs share, the later one against the earlier one.

    Raises UnknownName for a metric that neither run has, NothingInCommon if no cell is in
    both, or none that is was measured in both.
    """
    runs = [before, now]
    named = checked_metrics(metrics, runs) if metrics is not None else comparable_metrics(runs)
    common = [key for key in now.cell_by_key if key in before.cell_by_key]
    if not common:
        raise NothingInCommon(explain_no_overlap(before, now))
    apart = differences(before, now)
    rows: list[CellChange] = []
    left: list[NotCompared] = []
    for key in common:
        old, new = before.cell_by_key[key], now.cell_by_key[key]
        if not (old.ok and new.ok):
            left.append(NotCompared(key, None, _statuses(old, new)))
            continue
        incomparable = why_incomparable(before, now, old, new)
        for metric in named:
            name, _ = split_address(metric)
            if name not in old.metrics and name not in new.metrics:
                continue
            first, second = measured(old, metric), measured(new, metric)
            if isinstance(first, str) or isinstance(second, str):
                reasons = [
                    f"{side}: {value}"
                    for side, value in (("before", first), ("now", second))
                    if isinstance(value, str)
                ]
                left.append(NotCompared(key, metric, "; ".join(reasons)))
                continue
            reason = incomparable
            if reason is None and first.source != second.source:
                reason = f"source {first.source} before, {second.source} now"
            if reason is None and first.source.startswith("callgrind"):
                reason = _other_simulation(before, now)
            rows.append(_cell_change(key, metric, new, first, second, reason))
    if not rows:
        reason = left[0].reason if left else "they have no metric in common"
        raise NothingInCommon(
            f"runs {before.run_id} and {now.run_id} have cells in common ({len(common)}), but "
            f"nothing that both measured ({reason})"
        )
    return RunComparison(
        before,
        now,
        named,
        tuple(rows),
        only_before=tuple(key for key in before.cell_by_key if key not in now.cell_by_key),
        only_now=tuple(key for key in now.cell_by_key if key not in before.cell_by_key),
        not_compared=tuple(left),
        differences=apart,
    )


def _reference(run: Run, named: str | None) -> str:
    present = [info.name for info in run.implementations]
    if named is not None:
        if named not in present:
            hint = nearest(named, present)
            raise UnknownName(f"no implementation {named!r} in run {run.run_id}{hint}")
        return named
    usable = [cell.impl for cell in run.cells if cell.ok and cell.kind != "control"]
    for name in (*_DEFAULT_REFERENCES, *usable):
        if name in usable:
            return name
    raise NothingInCommon(f"run {run.run_id} measured no implementation")


def _implementation_ratio(
    run: Run,
    metric: str,
    cell: Cell,
    base: Cell,
    value: MetricValue,
    other: MetricValue,
) -> ImplementationRatio:
    ratio = ratio_of(metric, value, other)
    control = "control" in (cell.kind, base.kind)
    infos = run.implementation_by_name
    return ImplementationRatio(
        setting=cell.key.setting,
        metric=metric,
        impl=cell.impl,
        value=value,
        reference_value=other,
        ratio=ratio,
        reading=None if control else reading_of(metric, value, other, ratio),
        control=control,
        same_profile=infos[cell.impl].profile == infos[base.impl].profile,
        same_call_style=cell.call_style == base.call_style,
        floor=_lower(run, metric, cell, base),
    )


def _lower(run: Run, metric: str, *cells: Cell) -> Standing | None:
    found = {
        standing(cell, metric, run.cells_of(cell.key.setting), run.implementation_by_name)
        for cell in cells
    }
    order: tuple[Standing, ...] = ("below", "in its noise", "above")
    return next((one for one in order if one in found), None)


def _cell_change(
    key: CellKey,
    metric: str,
    cell: Cell,
    before: MetricValue,
    now: MetricValue,
    incomparable: str | None,
) -> CellChange:
    control = cell.kind == "control"
    ratio = None if incomparable else ratio_of(metric, now, before)
    reading = None
    if ratio is not None and not is_exact(metric):
        # What an interval of rounds says holds for the time in which they were taken.
        ratio = replace(ratio, low=None, high=None, level=None)
    elif ratio is not None and not control:
        reading = reading_of(metric, now, before, ratio)
    return CellChange(key, metric, before, now, ratio, reading, control, incomparable)


def _statuses(before: Cell, now: Cell) -> str:
    return "; ".join(
        f"{side}: {cell.status}: {cell.reason}"
        for side, cell in (("before", before), ("now", now))
        if not cell.ok
    )


def _other_simulation(before: Run, now: Run) -> str | None:
    """Why two simulated counts are not of the same caches; None if they are."""
    for name in ("i1", "d1", "ll", "valgrind"):
        old, new = before.counters.get(name), now.counters.get(name)
        if old != new:
            return f"other simulation: {name} was {old}, is {new}"
    return None


def why_incomparable(before: Run, now: Run, old: Cell, new: Cell) -> str | None:
    """Why two cells of the same name did not do the same work; None if they did."""
    digests = [
        run.setting_by_key[cell.key.setting].program_digest
        for run, cell in ((before, old), (now, new))
    ]
    if digests[0] != digests[1]:
        return f"other program: digest {digests[0]} before, {digests[1]} now"
    if old.call_style != new.call_style:
        return f"called {old.call_style} before, {new.call_style} now"
    versions = [run.build.get("replay_version") for run in (before, now)]
    if None not in versions and versions[0] != versions[1]:
        return f"other replay: version {versions[0]} before, {versions[1]} now"
    return None
