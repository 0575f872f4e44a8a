"""Verification of many implementations, each in a process of its own."""

from __future__ import annotations

import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..jobs import Job
from ..machine import memory_limit, usable_cores
from ..plan import Pair, make_plan
from ..programs import Prepared, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from blockmark.workload.scenario import Scenario

EXHAUSTIVE_PROGRAMS = 10_000
# More random programs than this are the work of several processes, one behind the other,
# so that the limit of time for one process finds a hang and not a large number.
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of one implementation in one cell."""

    pair: Pair
    answer: dict[str, Any]

    @property
    def status(self) -> str:
        """`ok`, `wrong`, `failed`, `timeout` or `unavailable`."""
        return str(self.answer["status"])

    @property
    def line(self) -> str:
        """The result in one line."""
        where = f"{self.pair.subject.name}  block_size {self.pair.cell['block_size']}"
        if self.status == "ok":
            done = f"{self.answer['operations']:,} operations in {self.answer['steps']:,} steps"
            return f"ok       {where}  {done}{self._rate}"
        return f"{self.status:8} {where}: {self.answer['reason']}"

    @property
    def _rate(self) -> str:
        programs, seconds = self.answer.get("programs", 0), self.answer.get("seconds", 0.0)
        if programs <= _CHUNK:
            return ""
        return f"; {programs:,} random programs, {programs / seconds:.0f} a second"

    @property
    def shown_by(self) -> list[str]:
        """The shortest list of calls that shows a wrong answer, a line each; or nothing."""
        return list(self.answer.get("shown_by", ()))


def verify_job(
    pair: Pair, prepared: Prepared, *, random_programs: int, operations: int, seed: int
) -> dict[str, Any]:
    """The request to a worker that proves one pair."""
    programs = prepared.jobs[pair.cell.key]
    return {
        "kind": "verify",
        "impl": pair.subject.target,
        "call_style": pair.call_style,
        "params": pair.cell.values,
        "config": asdict(pair.cell.pool_config),
        "programs": [programs["load"]],
        "pool_programs": [
            entry["path"]
            for entries in programs["models"].values()
            for entry in entries
            if entry["pool_only"]
        ],
        "operations": operations,
        "random_programs": random_programs,
        "seed": seed,
        "memory_limit": memory_limit(),
    }


def verify_all(
    scenario: Scenario,
    targets: list[str],
    *,
    random_programs: int,
    seed: int | None,
    timeout_s: float,
    operations: int = 120_000,
) -> Iterator[Verification]:
    """Verify implementations (every built-in one if none is named) in a scenario's cells.

    Controls are left out. Random programs run once per implementation. Results come in
    the order of the implementations, as many processes at once as there are processors;
    `timeout_s` is for one process, which has 500 random programs at most. A wrong answer
    is shrunk. Raises ConfigError and TargetError.
    """
    from blockmark_impls.registry import builtin_names

    named = targets or builtin_names()
    plan = make_plan([scenario], named, command="blockmark verify", seed=seed, timeout_s=timeout_s)
    first = plan.cells[0]
    pairs = [
        pair
        for pair in plan.pairs()
        # What can't be loaded is said once, not in every cell.
        if pair.subject.kind != "control" and not (pair.subject.broken and pair.cell != first)
    ]
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        prepared = prepare(plan.cells, Path(folder))

        def prove(pair: Pair) -> dict[str, Any]:
            if pair.subject.broken:
                return {"status": "failed", "reason": pair.subject.broken}
            if reason := pair.unavailable or prepared.refused.get(pair.cell.key):
                return {"status": "unavailable", "reason": reason}
            count = random_programs if pair.cell == first else 0
            job = verify_job(
                pair, prepared, random_programs=count, operations=operations, seed=plan.seed
            )
            return _in_chunks({**job, "shrink": True}, timeout_s, stop)

        pool = ThreadPoolExecutor(usable_cores())
        try:
            answers = [pool.submit(prove, pair) for pair in pairs]
            for pair, answer in zip(pairs, answers, strict=True):
                yield Verification(pair, answer.result())
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _in_chunks(job: dict[str, Any], timeout_s: float, stop: threading.Event) -> dict[str, Any]:
    """The answer to a job, its random programs a process for each chunk; the first that is
    not `ok` ends it.
    """
    count = job["random_programs"]
    total = {"status": "ok", "operations": 0, "steps": 0, "programs": count}
    start = time.monotonic()
    for first in range(0, max(1, count), _CHUNK):
        chunk = {**job, "first_program": first, "random_programs": min(_CHUNK, count - first)}
        if first:
            chunk["programs"] = []  # the load was proved with the first
        answer = Job(chunk, timeout_s, stop).result()
        if answer["status"] != "ok":
            return answer
        total["operations"] += answer["operations"]
        total["steps"] += answer["steps"]
    return {**total, "seconds": time.monotonic() - start}
