"""Exact counts of one side: proved first, then simulated, its allocations counted beside.

A second time would say the same of the same heap. But every change of the program, and of its
paths, leaves other holes in it, so a cell whose heap is aged is counted in several, each aged
in another order: the code is the same, so what its counts differ by is noise.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from blockmark.runs.counts import CellCounts, CostCounts, CountKey, SideCounts

from ..probes.callgrind import Geometry, Valgrind, find_valgrind
from ..process.side_by_side import side_by_side
from ..process.task import Timed, timed_for
from ..proof.effort import BEFORE_MEASURING
from ..proof.verification import verify_job
from ..simulation import LEAST_TIMEOUT_S, Simulator, simulation_requests

if TYPE_CHECKING:
    from threading import Event

    from ..run.plan import Pair
    from ..run.programs import Prepared
    from .side import Side

    Advance = Callable[[str], None]

HEAPS = 5
NATIVE_ALONE = "an interpreter's instructions are not the structure's: only allocations are counted"


@dataclass(slots=True)
class Counted:
    """What came of a side. `wrong` and `failures` are lines that name the cell."""

    counts: SideCounts
    wrong: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def count_key(package: dict[str, Any], valgrind: Valgrind | str) -> CountKey:
    """What counts that are taken here depend on; `package` as a side describes itself."""
    return CountKey(
        architecture=platform.machine(),
        compiler=str(package["core"].get("compiler", "")),
        libc=" ".join(platform.libc_ver()).strip(),
        python=f"python {package['python']}",
        valgrind="" if isinstance(valgrind, str) else f"valgrind {valgrind.version}",
    )


@dataclass(frozen=True, slots=True)
class Work:
    """A pair to be counted. `place` is scenario, setting and implementation, as reports call
    them; of what is timed only the named `costs` are counted.
    """

    place: tuple[str, str, str]
    pair: Pair
    costs: frozenset[str]


def count_side(
    work: Sequence[Work],
    prepared: Prepared,
    *,
    side: Side,
    package: dict[str, Any],
    seed: int,
    timeout_s: float,
    advance: Advance = lambda text: None,
) -> Counted:
    """Prove and count everything that the work names, in processes of the side.

    `package` is what the side says of itself; `timeout_s` is of one process. Calls `advance`
    up to twice a pair. A pair that is wrong or broken has reasons for counts.
    """
    return _Counting(work, prepared, side, package, seed, timeout_s, advance).count()


class _Counting:
    """One side's pairs on their way through proof, count of allocations and simulation."""

    def __init__(
        self,
        work: Sequence[Work],
        prepared: Prepared,
        side: Side,
        package: dict[str, Any],
        seed: int,
        timeout_s: float,
        advance: Advance,
    ) -> None:
        self._work = work
        self._prepared = prepared
        self._side = side
        self._package = package
        self._seed = seed
        self._timeout_s = timeout_s
        self._advance = advance
        self._valgrind = find_valgrind()
        self._geometry = Geometry()
        self._programs = {
            each.pair.key: _only(prepared.programs[each.pair.cell.key].models, each.costs)
            for each in work
        }
        self._wrong: list[str] = []
        self._failures: list[str] = []
        # By pair: why it has no counts; what it has, by cost; its allocations; what has come in.
        self._out: dict[tuple[str, str], str] = {}
        self._totals: dict[tuple[str, str], dict[str, CostCounts | str]] = {}
        self._answers: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._allocations: dict[tuple[str, str], float | str] = {}

    def count(self) -> Counted:
        """Everything, once."""
        self._prove()
        self._simulate([each for each in self._work if each.pair.key not in self._out])
        core = self._package["core"]
        return Counted(
            SideCounts(
                key=count_key(self._package, self._valgrind),
                flags=str(core.get("flags", "")),
                replay_version=int(core.get("replay_version", 0)),
                contract_version=int(self._package["contract_version"]),
                caches=", ".join(f"{k} {v}" for k, v in _shapes(self._geometry).items()),
                cells=tuple(self._cell(each) for each in self._work),
            ),
            self._wrong,
            self._failures,
        )

    def _prove(self) -> None:
        """Prove each pair, and count its allocations if it is right."""
        with side_by_side(self._one, self._work) as answers:
            for each, found in zip(self._work, answers, strict=True):
                if found["status"] == "ok":
                    self._allocations[each.pair.key] = found["allocations"]
                else:
                    self._give_up(each, found["status"], found["reason"])
                self._advance(f"checked {each.pair.subject.name}")

    def _one(self, work: Work, stop: Event) -> dict[str, Any]:
        pair = work.pair
        proof = verify_job(
            pair,
            self._prepared,
            BEFORE_MEASURING,
            first=pair.cell == self._work[0].pair.cell,
            seed=self._seed,
        )
        found = self._side.job(proof, self._timeout_s, stop).result()
        if found["status"] != "ok":
            return found
        job = self._prepared.request("allocations", pair, seed=self._seed * 1000)
        return self._side.job(job, self._timeout_s, stop).result()

    def _simulate(self, work: list[Work]) -> None:
        todo = []
        for each in work:
            if reason := self._not_simulated(each.pair):
                costs = _costs_of(self._programs[each.pair.key])
                self._totals[each.pair.key] = dict.fromkeys(costs, reason)
                self._advance("")
            else:
                todo.append(each)
        if isinstance(self._valgrind, str):
            return
        timeout = max(LEAST_TIMEOUT_S, self._timeout_s)
        simulator = Simulator(self._valgrind, self._geometry, timeout, self._side)
        requests = []
        for heap in range(HEAPS):
            pairs = [each.pair for each in todo if heap < _heaps(each.pair)]
            requests += simulation_requests(pairs, self._prepared, self._seed * 1000 + heap)
        for request in requests:
            for job in request["cells"]:
                programs = self._programs[job["cell"], request["name"]]
                job |= {"programs": programs, "net": False}
                if job["params"]["heap"] == "aged":
                    job["moved_by"] = job["seed"]
        by_key = {each.pair.key: each for each in todo}
        for name, cell, answer in simulator.simulate(requests):
            each, answers = by_key[cell, name], self._answers.setdefault((cell, name), [])
            answers.append(answer)
            if len(answers) == _heaps(each.pair):
                self._gather(each, answers)
                self._advance(f"simulated {name}")

    def _gather(self, each: Work, answers: list[dict[str, Any]]) -> None:
        """The answers of every heap; one that is none speaks for all."""
        for answer in answers:
            if answer["status"] != "ok":
                self._give_up(each, answer["status"], answer["reason"])
                return
        self._totals[each.pair.key] = {
            cost: found if isinstance(found, str) else _counts([a["totals"][cost] for a in answers])
            for cost, found in answers[0]["totals"].items()
        }

    def _not_simulated(self, pair: Pair) -> str:
        if isinstance(self._valgrind, str):
            return self._valgrind
        if pair.call_style != "native":
            return NATIVE_ALONE
        if pair.cell["cache"] != "hot":
            return "caches are simulated for cache = hot alone"
        return ""

    def _give_up(self, each: Work, status: str, reason: str) -> None:
        self._out[each.pair.key] = reason
        scenario, setting, impl = each.place
        line = f"{scenario}{f' ({setting})' if setting else ''} {impl}: {reason}"
        if status == "wrong":
            self._wrong.append(line)
        elif status != "unavailable":
            self._failures.append(line)

    def _cell(self, each: Work) -> CellCounts:
        key = each.pair.key
        programs = self._programs[key]
        if (out := self._out.get(key)) is not None:
            costs: dict[str, CostCounts | str] = dict.fromkeys(_costs_of(programs), out)
            allocations: float | str = out
        else:
            costs, allocations = self._totals[key], self._allocations[key]
        loads = _loads(each.pair.cell.key, programs)
        return CellCounts(*each.place, loads, costs, allocations)


def _only(models: Timed, costs: Collection[str]) -> Timed:
    """The programs that have one of the costs, with these alone."""
    kept = timed_for({model: some for model, some in models.items() if model != "rate"}, costs)
    return {
        model: [
            replace(one, metrics={p: name for p, name in one.metrics.items() if name in costs})
            for one in some
        ]
        for model, some in kept.items()
    }


def _costs_of(programs: Timed) -> list[str]:
    return [name for some in programs.values() for one in some for name in one.names]


def _loads(cell: str, programs: Timed) -> dict[str, str]:
    """Cost -> a digest of its operations and of the cell, which has the conditions."""
    found: dict[str, str] = {}
    for some in programs.values():
        for one in some:
            load = f"{cell} {one.load().digest()}"
            digest = hashlib.sha256(load.encode()).hexdigest()[:16]
            found |= dict.fromkeys(one.names, digest)
    return found


def _heaps(pair: Pair) -> int:
    """In how many heaps a pair is counted: a fresh one is the same each time."""
    return HEAPS if pair.cell["heap"] == "aged" else 1


def _counts(found: list[dict[str, float]]) -> CostCounts:
    """Of the totals in each heap."""
    misses = (one["l1d_misses"] + one["l1d_store_misses"] for one in found)
    return CostCounts(
        units=found[0]["units"],
        instructions=tuple(sorted(int(one["instructions"]) for one in found)),
        l1d_misses=tuple(sorted(int(one) for one in misses)),
    )


def _shapes(geometry: Geometry) -> dict[str, str]:
    return {name: str(getattr(geometry, name)) for name in ("i1", "d1", "ll")}
