"""The gate on counts from end to end: count one side or two, judge, or store.

Against another side both are counted here, in turn. Against stored counts only those of
this machine's compiler, libraries and simulator are taken; where there are none the gate is
skipped with a word, since a build must not fail for what its machine lacks.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from blockmark.measure.probes.callgrind import find_valgrind
from blockmark.measure.run.programs import prepare
from blockmark.measure.sides.exact_counts import HEAPS, Counted, Work, count_key, count_side
from blockmark.measure.sides.side import Described, Side, describe_side
from blockmark.runs.counts import SideCounts, find_counts, store_counts
from blockmark.verdict.check import CheckResult
from blockmark.verdict.deterministic import (
    INSTRUCTIONS_MARGIN,
    MISSES_LEAST,
    MISSES_MARGIN,
    judge_counts,
)
from blockmark.workload.errors import ConfigError

from .check_identity import refuse_shared_code
from .check_plan import Asked, Card, make_card

Progress = Callable[[int, int, str], None]

# Where a repository keeps its stored counts.
STORED = Path("results/baseline")
_STORE = "`blockmark check --deterministic --store-counts DIR` stores them"
_NO_COUNTS = "no instructions and misses of "


def count_and_judge(
    asked: Asked,
    baseline: Side | Path,
    candidate: Side,
    *,
    timeout_s: float = 60.0,
    require_sim: bool = False,
    allow_missing: bool = False,
    progress: Progress = lambda done, total, text: None,
) -> CheckResult:
    """Judge the candidate's counts against another side's, or against a folder of stored ones.

    Of `asked.metrics` the operations are counted, and heap allocations always. With
    `require_sim`, whatever keeps counts from being judged is a failure (exit 3), else a
    note. An interrupt gives a result that says so. Raises ConfigError for what can't be
    asked of the candidate, RunFileError for damaged stored counts.
    """
    started = time.monotonic()
    name = baseline.name if isinstance(baseline, Side) else f"counts in {baseline}"
    result = CheckResult("deterministic", name, candidate.name, ())
    try:
        with _Counting.begin(asked, candidate, timeout_s, progress) as counting:
            if isinstance(baseline, Side):
                result = counting.against_side(result, baseline)
            else:
                result = counting.against_stored(result, baseline)
    except KeyboardInterrupt:
        result = replace(result, interrupted=True, notes=("interrupted: no count was judged",))
    if require_sim:
        result = _insist(result)
    if allow_missing:
        allowed = (f"missing in the candidate, as allowed: {line}" for line in result.missing)
        result = replace(result, missing=(), notes=(*result.notes, *allowed))
    return replace(result, duration_s=time.monotonic() - started)


def count_and_store(
    asked: Asked,
    candidate: Side,
    folder: Path = STORED,
    *,
    timeout_s: float = 60.0,
    progress: Progress = lambda done, total, text: None,
) -> Path:
    """Count the candidate and store it in `folder` under its key; the file's path.

    Raises ConfigError where a cell is wrong, broken or can't be counted, since what is stored
    is compared for a long time; StoreError.
    """
    if isinstance(valgrind := find_valgrind(), str):
        raise ConfigError(f"nothing can be counted here: {valgrind}")
    with _Counting.begin(asked, candidate, timeout_s, progress) as counting:
        counted = counting.candidate_alone()
    bad = [*counted.wrong, *counted.failures]
    if bad or not counted.counts.cells:
        why = bad[0] if bad else "no cell could be tried"
        raise ConfigError(f"nothing is stored, since not all could be counted: {why}")
    return store_counts(counted.counts, folder)


@dataclass(slots=True)
class _Counting:
    """What both forms share: programs on the disk, and what the candidate says of itself."""

    asked: Asked
    candidate: Side
    timeout_s: float
    progress: Progress
    folder: Path
    told: Described

    @classmethod
    @contextmanager
    def begin(
        cls, asked: Asked, candidate: Side, timeout_s: float, progress: Progress
    ) -> Iterator[_Counting]:
        """Raises ConfigError for a candidate that can't be asked."""
        # A name of one length each time: programs are found by it, and it is on the heap.
        with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
            told = describe_side(candidate, asked.every_target, asked.every_cell[0], timeout_s)
            if told.broken:
                raise ConfigError(f"the candidate can't be counted: {told.broken}")
            yield cls(asked, candidate, timeout_s, progress, Path(folder), told)

    def candidate_alone(self) -> Counted:
        """The candidate's counts."""
        return self._count(self.told, [(self.candidate, self.told)], same=True)[1][-1]

    def against_stored(self, nothing: CheckResult, folder: Path) -> CheckResult:
        """Skipped where nothing can be simulated or nothing is stored for it."""
        valgrind = find_valgrind()
        if isinstance(valgrind, str):
            return _skip(nothing, f"counts were not judged: {valgrind}")
        before = find_counts(folder, count_key(self.told.package, valgrind))
        if isinstance(before, str):
            return _skip(nothing, f"counts were not judged: {before}; {_STORE}")
        card, (after,) = self._count(self.told, [(self.candidate, self.told)], same=True)
        return self._result(nothing, card, before, after)

    def against_side(self, nothing: CheckResult, baseline: Side) -> CheckResult:
        """Both counted now, the baseline first."""
        targets, first = self.asked.every_target, self.asked.every_cell[0]
        told = describe_side(baseline, targets, first, self.timeout_s)
        if told.broken:
            return replace(nothing, failures=(f"baseline: {told.broken}",))
        refuse_shared_code(baseline, told.loaded)
        sides = [(baseline, told), (self.candidate, self.told)]
        card, (before, after) = self._count(told, sides, same=False)
        result = self._result(nothing, card, before.counts, after)
        # What mends a wrong baseline has no count to be held against.
        mended = tuple(f"the baseline is wrong: {line}" for line in before.wrong)
        broken = (f"baseline: {line}" for line in before.failures)
        return replace(result, mended=mended, failures=(*broken, *result.failures))

    def _count(
        self, before: Described, sides: Sequence[tuple[Side, Described]], *, same: bool
    ) -> tuple[Card, list[Counted]]:
        prepared = prepare(self.asked.every_cell, self.folder)
        card = make_card(self.asked, prepared, before, self.told, same=same)
        total, done = 2 * len(card.contests) * len(sides), 0

        def advance(text: str) -> None:
            nonlocal done
            done += 1
            self.progress(done, total, text)

        counted = []
        for side, told in sides:
            work = [
                Work(
                    contest.where,
                    contest.after if side is self.candidate else contest.before,
                    frozenset(contest.gates),
                )
                for contest in card.contests
            ]
            counted.append(
                count_side(
                    work,
                    prepared,
                    side=side,
                    package=told.package,
                    seed=self.asked.seed,
                    timeout_s=self.timeout_s,
                    advance=advance,
                )
            )
        return card, counted

    def _result(
        self, nothing: CheckResult, card: Card, before: SideCounts, after: Counted
    ) -> CheckResult:
        apart = {contest.where: contest.incomparable for contest in card.contests}
        counted = {contest.where: frozenset(contest.gates) for contest in card.contests}
        judged = judge_counts(_of(before, counted, self.asked.metrics), after.counts, apart)
        key = after.counts.key
        return replace(
            nothing,
            cells=tuple(
                replace(cell, verdict="incomparable", reason=why)
                if (why := apart[cell.scenario, cell.setting, cell.impl])
                else cell
                for cell in judged.cells
            ),
            missing=(*card.missing, *judged.missing),
            added=(*card.added, *judged.added),
            wrong=tuple(after.wrong),
            failures=tuple(after.failures),
            notes=(*card.notes, *_gaps(after.counts)),
            facts={
                "seed": self.asked.seed,
                "source": "callgrind" if key.valgrind else "allocations alone",
                "key": asdict(key),
                "caches": after.counts.caches,
                "heaps": HEAPS,
                "instructions_margin": INSTRUCTIONS_MARGIN,
                "misses_margin": MISSES_MARGIN,
                "misses_least": MISSES_LEAST,
            },
        )


def _of(
    side: SideCounts,
    counted: Mapping[tuple[str, str, str], frozenset[str]],
    metrics: Sequence[str],
) -> SideCounts:
    """The side with the asked costs alone: stored may be more than is counted now.

    `counted` are those of each cell, `metrics` those of a cell that is not counted now.
    """
    cells = []
    for cell in side.cells:
        wanted = counted.get((cell.scenario, cell.setting, cell.impl), frozenset(metrics))
        costs = {name: found for name, found in cell.costs.items() if name in wanted}
        cells.append(replace(cell, costs=costs))
    return replace(side, cells=tuple(cells))


def _gaps(counts: SideCounts) -> tuple[str, ...]:
    """One line for each reason why instructions and misses of a cell are not known."""
    reasons: dict[str, list[str]] = {}
    for cell in counts.cells:
        for found in cell.costs.values():
            if isinstance(found, str) and cell.impl not in reasons.setdefault(found, []):
                reasons[found].append(cell.impl)
    return tuple(f"{_NO_COUNTS}{', '.join(impls)}: {why}" for why, impls in reasons.items())


def _skip(nothing: CheckResult, why: str) -> CheckResult:
    return replace(nothing, notes=(why,), skipped=True)


def _insist(result: CheckResult) -> CheckResult:
    """What was let through as a note is a failure."""
    if result.skipped:
        return replace(result, skipped=False, failures=(*result.failures, *result.notes), notes=())
    gaps = tuple(note for note in result.notes if note.startswith(_NO_COUNTS))
    notes = tuple(note for note in result.notes if note not in gaps)
    return replace(result, failures=(*result.failures, *gaps), notes=notes)
