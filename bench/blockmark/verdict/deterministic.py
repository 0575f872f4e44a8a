"""The gate on counts: instructions, simulated misses and heap allocations, no statistics.

Counts of the same binary on the same operations repeat to the last digit, and any other
change of a program moves them by what it does to the heap. In 20 heaps that differed in their
holes and in where they began, equal code took up to 4.3 % more instructions in the one than in
the other (a hash map's nodes: malloc merged free chunks once more or less) and missed up to
6.3 % more often. So both sides are counted in several heaps, and a count has changed where all
of one side's lie beyond all of the other's by the margin. Drawn from those 20, a check of 24
counts had 0.82 false regressions with one heap a side, 0.022 with three, 0.0008 with five. The
margins are also for what moves a heap that is not aged, such as paths of another length: up to
0.14 % of instructions and 1.3 % of misses.

What counts don't see: code layout, the TLB, prefetching, locks, and how long an instruction
takes. So they stand beside the gate on time, not in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from blockmark.runs.counts import ALLOCATIONS, CellCounts, CostCounts, SideCounts

from .check import CellVerdict
from .gate import Verdict

# Shares of one.
INSTRUCTIONS_MARGIN = 0.005
MISSES_MARGIN = 0.03
# A few lines more are a shifted address, whatever share of a small number they are.
MISSES_LEAST = 100
INSTRUCTIONS = "instructions_per_op"
# Of loads and stores together; `l1d_misses_per_op` of the table of metrics is of loads alone.
MISSES = "l1d_read_write_misses_per_op"

Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """Verdicts on counts, and the cells that only one side has."""

    cells: tuple[CellVerdict, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]


def instructions_verdict(old: Sequence[float], new: Sequence[float]) -> Verdict:
    """Of instructions an operation, in each heap: `regressed` if all are above +0.5 %."""
    return _beyond(old, new, INSTRUCTIONS_MARGIN)


def misses_verdict(old: Sequence[float], new: Sequence[float], units: float) -> Verdict:
    """Of misses an operation, in each heap, over `units` operations.

    `regressed` if all are above +3 % and +100 in all.
    """
    apart = max(min(new) - max(old), min(old) - max(new))
    return _beyond(old, new, MISSES_MARGIN) if apart * units > MISSES_LEAST else "unchanged"


def allocations_verdict(old: float, new: float) -> Verdict:
    """Of heap allocations a step: any change."""
    return "regressed" if new > old else "improved" if new < old else "unchanged"


def _beyond(old: Sequence[float], new: Sequence[float], margin: float) -> Verdict:
    if min(new) > max(old) * (1.0 + margin):
        return "regressed"
    return "improved" if max(new) * (1.0 + margin) < min(old) else "unchanged"


def judge_counts(
    before: SideCounts, after: SideCounts, planned: Collection[Place] | None = None
) -> Judged:
    """Judge each count that both sides have, of the `planned` cells (None: of all).

    Sides that were built or counted in another way are incomparable as a whole, a cell
    whose operations differ is alone.
    """
    why = _differ(before, after)
    old = _cells(before, planned)
    new = _cells(after, planned)
    cells: list[CellVerdict] = []
    missing: list[str] = []
    added: list[str] = []
    for place in [*old, *(place for place in new if place not in old)]:
        for one in _of_cell(place, old.get(place), new.get(place), why):
            if isinstance(one, CellVerdict):
                cells.append(one)
            else:
                (missing if one[0] else added).append(one[1])
    return Judged(tuple(cells), tuple(missing), tuple(added))


def _cells(side: SideCounts, planned: Collection[Place] | None) -> dict[Place, CellCounts]:
    return {cell.place: cell for cell in side.cells if planned is None or cell.place in planned}


def _differ(before: SideCounts, after: SideCounts) -> str:
    """Why no count of the one side can be held against the other; empty if they can."""
    facts = (
        ("replay version", before.replay_version, after.replay_version),
        ("contract version", before.contract_version, after.contract_version),
        ("architecture", before.key.architecture, after.key.architecture),
        ("compiler", before.key.compiler, after.key.compiler),
        ("C library", before.key.libc, after.key.libc),
        ("Python", before.key.python, after.key.python),
        ("valgrind", before.key.valgrind, after.key.valgrind),
        ("compiler's flags", before.flags, after.flags),
        ("simulated caches", before.caches, after.caches),
    )
    for name, old, new in facts:
        if old != new:
            return f"the {name} differ{'' if name.endswith('s') else 's'}: {old}, now {new}"
    return ""


def _of_cell(
    place: Place, old: CellCounts | None, new: CellCounts | None, why: str
) -> Iterator[CellVerdict | tuple[bool, str]]:
    """Verdicts; or (whether the candidate lacks it, a line) for what one side alone has."""
    absent = "it is not there"
    old_counts = {**old.costs, ALLOCATIONS: old.allocations} if old else {}
    new_counts = {**new.costs, ALLOCATIONS: new.allocations} if new else {}
    for metric in dict.fromkeys([*old_counts, *new_counts]):
        before, after = old_counts.get(metric, absent), new_counts.get(metric, absent)
        name = CellVerdict(*place, metric, "", "unchanged").name
        if isinstance(before, str) or isinstance(after, str):
            if not isinstance(before, str):
                yield True, f"{name}: {after}"
            elif not isinstance(after, str):
                yield False, name
            continue
        assert old is not None
        assert new is not None
        load = "step_ns" if metric == ALLOCATIONS else metric
        reason = why
        if not reason and old.loads.get(load) != new.loads.get(load):
            reason = "the operations differ: scenario, seed or workload was changed"
        yield from _verdicts(place, metric, before, after, reason)


def _verdicts(
    place: Place, metric: str, old: CostCounts | float, new: CostCounts | float, why: str
) -> Iterator[CellVerdict]:
    if not isinstance(old, CostCounts) or not isinstance(new, CostCounts):
        assert not isinstance(old, CostCounts)
        assert not isinstance(new, CostCounts)
        verdict = allocations_verdict(old, new)
        yield _cell(place, ALLOCATIONS, (old,), (new,), verdict, 0.0, "any increase", why)
        return
    operation = metric.removesuffix("_ns")
    each = _per_op(old.instructions, old.units), _per_op(new.instructions, new.units)
    verdict = instructions_verdict(*each)
    margin = INSTRUCTIONS_MARGIN
    yield _cell(place, f"{operation}_{INSTRUCTIONS}", *each, verdict, margin, "", why)
    each = _per_op(old.l1d_misses, old.units), _per_op(new.l1d_misses, new.units)
    verdict = misses_verdict(*each, new.units)
    origin = f"and more than {MISSES_LEAST} in all"
    yield _cell(place, f"{operation}_{MISSES}", *each, verdict, MISSES_MARGIN, origin, why)


def _per_op(totals: Sequence[int], units: float) -> tuple[float, ...]:
    return tuple(total / units for total in totals)


def _cell(
    place: Place,
    metric: str,
    before: tuple[float, ...],
    after: tuple[float, ...],
    verdict: Verdict,
    margin: float,
    margin_of: str,
    why: str,
) -> CellVerdict:
    old, new = median(before), median(after)
    if why:
        verdict = "incomparable"
    elif _beyond(before, after, margin) != _beyond((old,), (new,), margin):
        why = f"another heap moves it as far: {_range(before)} before, {_range(after)} now"
    return CellVerdict(
        *place,
        metric,
        "count",
        verdict,
        before=before,
        after=after,
        old=old,
        new=new,
        ratio=new / old if old else None,
        margin=margin,
        margin_of=margin_of,
        reason=why,
    )


def _range(counts: Sequence[float]) -> str:
    return f"{min(counts):,.6g} to {max(counts):,.6g}"
