"""A run from its plan to its last count: prove first, then time, then simulate; keep all.

The unit of replication is a fresh process. Inside a round the implementations come
in a seeded random order, so that a machine that gets slower meets them all alike.
Every finished measurement is on the disk before the next one starts.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from blockmark.interrupts import interrupts_wait
from blockmark.workload.errors import ConfigError

from ..inside.rate import extra_time_s
from ..machine import cache_sizes
from ..probes.callgrind import Geometry, find_valgrind
from ..process.jobs import Job
from ..process.side_by_side import side_by_side
from ..proof.effort import BEFORE_MEASURING, QUICK
from ..proof.verification import verify_job
from ..simulation import LEAST_TIMEOUT_S, Simulator, simulation_requests
from ..study import study_of
from .time_left import COUNTERS, ROUND, VERIFY, TimeLeft

if TYPE_CHECKING:
    from threading import Event

    from blockmark.runs.store import RunWriter

    from .plan import Pair, Plan
    from .programs import Prepared


_RECORDS = ("verify", "round", "counters")


class Progress(Protocol):
    """Told what is being done, how many of how many are done, and how long the rest takes.

    `left_s` are seconds, None where nobody knows.
    """

    def __call__(
        self, done: int, steps: int, text: str, left_s: float | None = None, /
    ) -> None: ...


@dataclass(slots=True)
class Journal:
    """What is known so far, by (cell key, implementation)."""

    verified: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    rounds: dict[tuple[str, str], dict[int, dict[str, Any]]] = field(default_factory=dict)
    counters: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    elapsed_s: float = 0.0

    def add(self, record: dict[str, Any]) -> None:
        """Take in one line of `cells.jsonl`. Raises ConfigError for one that is damaged."""
        try:
            key = (str(record["cell"]), str(record["impl"]))
            kind, said = record["kind"], (record["status"], record.get("reason", ""))
            self.elapsed_s = max(self.elapsed_s, record.get("elapsed_s", 0.0))
            if kind not in _RECORDS or not all(isinstance(text, str) for text in said):
                raise ValueError(kind)
            if kind == "verify":
                self.verified[key] = record
            elif kind == "counters":
                self.counters[key] = record
            else:
                self.rounds.setdefault(key, {})[int(record["round"])] = record
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ConfigError(
                "cells.jsonl: a line of it is damaged; remove that line, or start a new run"
            ) from None

    def out_of_the_race(self, key: tuple[str, str]) -> bool:
        """Whether a cell has no number to expect any more: not proved, or it broke."""
        proof = self.verified.get(key)
        if proof is not None and proof["status"] != "ok":
            return True
        return any(r["status"] != "ok" for r in self.rounds.get(key, {}).values())


class Runner:
    """Carries out a plan. `run()` may be interrupted at any time and gone on with."""

    def __init__(
        self, plan: Plan, prepared: Prepared, writer: RunWriter, progress: Progress
    ) -> None:
        self.plan = plan
        self._prepared = prepared
        self.writer = writer
        self.progress = progress
        self.journal = Journal()
        for record in writer.finished:
            self.journal.add(record)
        self._start = time.monotonic() - self.journal.elapsed_s
        self._steps_done = 0
        self._time_left = TimeLeft(plan)
        self._last_end = time.monotonic()
        self._simulates = plan.counters.source == "callgrind"
        self._steps = sum(pair.rounds(plan.rounds) + 1 + self._simulates for pair in plan.pairs())

    @property
    def elapsed_s(self) -> float:
        """Seconds of measuring so far, earlier sessions of the same run included."""
        return time.monotonic() - self._start

    def run(self) -> None:
        """Verify everything, measure round by round, then simulate what was measured."""
        self._verify()
        for number in range(self.plan.rounds):
            self._round(number)
        if self._simulates:
            self._simulate()

    def _verify(self) -> None:
        """Prove every pair, as many at once as there are processors: no clock runs."""
        todo: list[Pair] = []
        for pair in self.plan.pairs():
            if pair.key in self.journal.verified:
                self._skip(VERIFY, pair)
            elif reason := pair.unavailable or self._prepared.refused.get(pair.cell.key):
                self._keep("verify", pair, {"status": "unavailable", "reason": reason})
            elif pair.subject.broken:
                self._keep("verify", pair, {"status": "failed", "reason": pair.subject.broken})
            elif pair.subject.kind == "control":
                self._keep("verify", pair, {"status": "ok"})
            else:
                todo.append(pair)
        self._last_end = time.monotonic()
        with side_by_side(self._prove, todo) as answers:
            for pair in todo:
                self._tell(f"proving {pair.subject.name}")
                self._keep("verify", pair, next(answers))

    def _prove(self, pair: Pair, stop: Event) -> dict[str, Any]:
        quick = self.plan.quick
        if pair.cell.study:
            seed = self.plan.seed
            job = self._prepared.request("study-proof", pair, seed=seed, quick=quick)
        else:
            effort = QUICK if quick else BEFORE_MEASURING
            first = pair.cell == self.plan.cells[0]
            job = verify_job(pair, self._prepared, effort, first=first, seed=self.plan.seed)
        return Job(job, self.plan.timeout_s, stop).result()

    def _round(self, number: int) -> None:
        for pair in self.plan.order(number):
            done = number in self.journal.rounds.get(pair.key, {})
            if done or self.journal.out_of_the_race(pair.key):
                self._skip(ROUND, pair)
                continue
            which = f", round {number + 1} of {self.plan.rounds}" if self.plan.rounds > 1 else ""
            self._tell(f"measuring {pair.subject.name}{which}")
            self._last_end = time.monotonic()
            job = self._round_job(pair, self.plan.seed * 1000 + number)
            # A loop of a stated length is not a hang.
            timeout = self.plan.timeout_s + _extra_time_s(pair)
            answer = Job(job, timeout).result()
            self._keep("round", pair, answer, round=number)

    def _round_job(self, pair: Pair, seed: int) -> dict[str, Any]:
        request = self._prepared.request
        if pair.cell.study:
            return request("study-round", pair, seed=seed, quick=self.plan.quick)
        saved = self._prepared.programs[pair.cell.key]
        return request(
            "measure",
            pair,
            seed=seed,
            sequences=saved.sequences,
            refused=saved.refused,
            budget=asdict(self.plan.budget),
            software_counters=self.plan.counters.software,
            pmu=self.plan.counters.events,
            caches=cache_sizes(),
        )

    def _simulate(self) -> None:
        """Count in a simulation what was measured; what it costs there says nothing."""
        todo: list[Pair] = []
        simulator = self._simulator()
        for pair in self.plan.pairs():
            done = pair.key in self.journal.counters or self.journal.out_of_the_race(pair.key)
            if done or pair.cell.study:
                self._skip(COUNTERS, pair)
            elif pair.cell["cache"] != "hot":
                reason = "caches are simulated for cache = hot alone"
                self._keep("counters", pair, {"status": "unavailable", "reason": reason})
            elif isinstance(simulator, str):
                self._keep("counters", pair, {"status": "unavailable", "reason": simulator})
            else:
                todo.append(pair)
        if isinstance(simulator, str):
            return
        pairs = {(pair.subject.name, pair.cell.key): pair for pair in todo}
        requests = simulation_requests(todo, self._prepared, self.plan.seed * 1000)
        self._tell("simulating caches")
        self._last_end = time.monotonic()
        for name, cell, answer in simulator.simulate(requests):
            self._keep("counters", pairs[name, cell], answer)

    def _simulator(self) -> Simulator | str:
        """What simulates, or why a run that was to be simulated no longer can be."""
        valgrind, planned = find_valgrind(), self.plan.counters.facts["valgrind"]
        if isinstance(valgrind, str):
            return valgrind
        if valgrind.version != planned:
            return f"this run was begun with valgrind {planned}; here is {valgrind.version}"
        geometry = self.plan.counters.geometry or Geometry()
        return Simulator(valgrind, geometry, max(LEAST_TIMEOUT_S, self.plan.timeout_s))

    def _keep(self, kind: str, pair: Pair, answer: dict[str, Any], **more: Any) -> None:
        record = {
            "kind": kind,
            "cell": pair.cell.key,
            "impl": pair.subject.name,
            **more,
            "elapsed_s": round(self.elapsed_s, 3),
            **answer,
        }
        # On the disk and in the run that an interrupt publishes, or in neither.
        with interrupts_wait():
            self.writer.append(record)
            self.journal.add(record)
        now = time.monotonic()
        known = answer["status"] == "ok" and (kind != VERIFY or pair.subject.kind != "control")
        self._time_left.ended(kind, pair.key, now - self._last_end if known else None)
        self._last_end = now
        self._steps_done += 1
        self._tell("")

    def _skip(self, kind: str, pair: Pair) -> None:
        """One that is not carried out: it was before, or there is nothing to expect of it."""
        self._time_left.ended(kind, pair.key)
        self._steps_done += 1
        self._tell("")

    def _tell(self, text: str) -> None:
        self.progress(self._steps_done, self._steps, text, self._time_left.seconds())


def _extra_time_s(pair: Pair) -> float:
    params, study = pair.cell.values, pair.cell.study
    return study_of(study).extra_time_s(params) if study else extra_time_s(params)
