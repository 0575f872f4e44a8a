"""From the journal of finished measurements to the run that everybody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark.runs.metrics import METRICS
from blockmark.runs.metrics.counters import operation_of
from blockmark.runs.model import (
    Cell as RunCell,
)
from blockmark.runs.model import (
    HistogramData,
    ImplementationInfo,
    MetricValue,
    Run,
    ScenarioInfo,
    Setting,
    Verified,
)
from blockmark.runs.shares import derive_shares
from blockmark.runs.summary import summarise, summarise_distribution, unavailable

from ..process.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..subject import Subject
    from .plan import Pair, Plan
    from .runner import Journal


def assemble_run(
    plan: Plan,
    journal: Journal,
    facts: Mapping[str, Mapping[str, Any]],
    *,
    run_id: str,
    created: str,
    duration_s: float,
    version: str,
    machine_after: Mapping[str, Any],
) -> Run:
    """The Run as far as it has come; `complete` if nothing is missing."""
    cells = [_cell(journal, pair) for pair in plan.pairs()]
    return Run(
        blockmark_version=version,
        run_id=run_id,
        created=created,
        duration_s=round(duration_s, 2),
        command=plan.command,
        complete=_complete(plan, journal),
        quick=plan.quick,
        seed=plan.seed,
        rounds=plan.rounds,
        machine={**plan.machine, **machine_after},
        build=plan.build,
        scenarios=tuple(ScenarioInfo(**scenario) for scenario in plan.scenarios),
        implementations=tuple(_info(subject) for subject in plan.subjects),
        settings=tuple(
            Setting(cell.scenario, cell.values, facts.get(cell.key, {})) for cell in plan.cells
        ),
        cells=tuple(cells),
        counters=plan.counters.run_facts(),
        uid=plan.uid,
        name=plan.name,
        tags=plan.tags,
        checkout=plan.checkout,
    )


def _complete(plan: Plan, journal: Journal) -> bool:
    for pair in plan.pairs():
        if pair.key not in journal.verified:
            return False
        rounds = len(journal.rounds.get(pair.key, {}))
        if journal.out_of_the_race(pair.key):
            continue
        if rounds < pair.rounds(plan.rounds):
            return False
        simulated = plan.counters.source == "callgrind" and not pair.cell.study
        if simulated and pair.key not in journal.counters:
            return False
    return True


def _info(subject: Subject) -> ImplementationInfo:
    return ImplementationInfo(
        name=subject.name,
        scheme=subject.scheme,
        tier=subject.tier,
        kind=subject.kind,  # type: ignore[arg-type]
        summary=subject.summary,
        profile=subject.profile,
        id_type=subject.id_type,
        reuse_order=subject.reuse_order,
        engine=subject.engine,
        origin=subject.origin,
    )


def _cell(journal: Journal, pair: Pair) -> RunCell:
    cell, subject = pair.cell, pair.subject
    proof = journal.verified.get(pair.key)
    rounds = [record for _, record in sorted(journal.rounds.get(pair.key, {}).items())]
    broken = next((r for r in [proof, *rounds] if r and r["status"] != "ok"), None)
    status, reason = "ok", ""
    metrics: dict[str, MetricValue] = {}
    if broken is not None:
        status, reason = broken["status"], broken["reason"]
    elif not rounds:
        status, reason = "unavailable", "the run was interrupted before its first round"
    else:
        metrics = _metrics(rounds)
        if cell.study is None:
            metrics |= derive_shares(
                metrics, float(cell["step_rate"]), concurrency=cell["concurrency"]
            )
        if counted := journal.counters.get(pair.key):
            metrics |= _counters(counted, metrics)
        metrics = {name: metrics[name] for name in METRICS if name in metrics}
    verified = None
    if proof and proof["status"] == "ok" and proof.get("operations"):
        verified = Verified(proof["operations"], proof["steps"])
    return RunCell(
        scenario=cell.scenario,
        params=cell.values,
        impl=subject.name,
        kind=subject.kind,  # type: ignore[arg-type]
        call_style=pair.call_style,  # type: ignore[arg-type]
        status=status,  # type: ignore[arg-type]
        reason=reason,
        verified=verified,
        metrics=metrics,
    )


def _metrics(rounds: list[dict[str, Any]]) -> dict[str, MetricValue]:
    """Each metric over the rounds; unavailable if it was so in any of them."""
    found: dict[str, MetricValue] = {}
    for name in dict.fromkeys(name for record in rounds for name in record["metrics"]):
        entries = [
            Reading.from_json(record["metrics"][name])
            for record in rounds
            if name in record["metrics"]
        ]
        reason = next((e.unavailable for e in entries if e.unavailable), None)
        source = next((e.source for e in entries if e.source), None)
        if reason is not None:
            found[name] = unavailable(name, reason, source=source)
        elif entries[0].histogram:
            times = [_histogram(e.histogram) for e in entries if e.histogram]
            found[name] = summarise_distribution(name, times)
        else:
            means = [entry.mean for entry in entries if entry.mean is not None]
            values = [entry.value for entry in entries if entry.value is not None]
            found[name] = summarise(name, values, means=means, source=source)
    return found


def _counters(record: dict[str, Any], measured: dict[str, MetricValue]) -> dict[str, MetricValue]:
    """What a simulation counted; where it failed, the reason for every operation once."""
    if record["status"] == "ok":
        return _metrics([record])
    names = (f"{operation_of(name)}_l1d_misses_per_op" for name in measured)
    return {
        name: unavailable(name, record["reason"], source="callgrind")
        for name in names
        if name in METRICS
    }


def _histogram(raw: Mapping[str, Any]) -> HistogramData:
    counts = tuple((index, count) for index, count in raw["counts"])
    return HistogramData(counts, raw["max"], raw["samples"])
