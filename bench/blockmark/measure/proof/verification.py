"""Verification of many implementations, each in a process of its own."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..process.jobs import Job
from ..process.side_by_side import side_by_side
from ..run.plan import Pair, make_plan
from ..run.programs import Prepared, prepare
from .kept import check_writable, keep, kept_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from blockmark.workload.scenario import Scenario

    from .effort import Effort

# More random programs than this are the work of several processes, one behind the other.
_CHUNK = 500
_NO_MORE = {"programs": [], "pool_programs": [], "rows": 0, "long_use": 0}


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
            notes = "".join(f"; {note}" for note in self.answer.get("notes", ()))
            return f"ok       {where}  {done}{self._rate}{notes}"
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
    pair: Pair, prepared: Prepared, effort: Effort, *, first: bool, seed: int
) -> dict[str, Any]:
    """The request to a worker that proves one pair; `first`: in the first cell that it is in."""
    saved = prepared.programs[pair.cell.key]
    timed = [one for some in saved.models.values() for one in some]
    return prepared.request(
        "verify",
        pair,
        seed=seed,
        programs=[saved.load],
        pool_programs=[one.path for one in timed if one.pool_only],
        **effort.request(first=first),
    )


def verify_all(
    scenario: Scenario,
    targets: list[str],
    effort: Effort,
    *,
    seed: int | None,
    timeout_s: float,
    search_s: float = 0.0,
    keep_in: Path | None = None,
) -> Iterator[Verification]:
    """Verify implementations (every built-in one if none is named) in a scenario's cells.

    Controls are left out. All but the load is proved in the first cell alone. Results come
    in the order of the implementations, as many processes at once as there are processors.
    A process is ended that goes on for `timeout_s` of CPU time without having played another
    program. A wrong answer is shrunk. What is right so far is searched for `search_s` more, in
    the first cell; `keep_in` is a folder of programs that are played as well, and that the
    search adds to. Raises ConfigError and TargetError.
    """
    files = [str(file) for file in kept_files(keep_in)] if keep_in else []
    if keep_in and search_s:
        check_writable(keep_in)
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
    with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
        prepared = prepare(plan.cells, Path(folder))

        def prove(pair: Pair, stop: Event) -> dict[str, Any]:
            if pair.subject.broken:
                return {"status": "failed", "reason": pair.subject.broken}
            if reason := pair.unavailable or prepared.refused.get(pair.cell.key):
                return {"status": "unavailable", "reason": reason}
            job = verify_job(pair, prepared, effort, first=pair.cell == first, seed=plan.seed)
            job["shrink"] = True
            answer = _in_chunks(job, timeout_s, stop)
            if answer["status"] == "ok" and pair.cell == first and (search_s or files):
                return _searched(job, answer, search_s, files, timeout_s, stop)
            return answer

        with side_by_side(prove, pairs) as answers:
            for pair, answer in zip(pairs, answers, strict=True):
                if keep_in and search_s:
                    keep(keep_in, answer.get("kept", ()))
                yield Verification(pair, answer)


def _searched(
    job: dict[str, Any],
    proved: dict[str, Any],
    search_s: float,
    files: list[str],
    timeout_s: float,
    stop: Event,
) -> dict[str, Any]:
    """What was proved, and what a search adds: in a process of its own, since a header is
    built otherwise for it.
    """
    request = {**job, **_NO_MORE, "random_programs": 0, "search_s": search_s, "kept": files}
    found = Job(request, timeout_s, stop).result()
    if found["status"] != "ok":
        return found
    return {**proved, "notes": [*proved["notes"], *found["notes"]], "kept": found.get("kept", [])}


def _in_chunks(job: dict[str, Any], timeout_s: float, stop: Event) -> dict[str, Any]:
    """The answer to a job, its random programs a process for each chunk; the first that is
    not `ok` ends it.
    """
    count = job["random_programs"]
    total = {"status": "ok", "operations": 0, "steps": 0, "programs": count}
    start = time.monotonic()
    for first in range(0, max(1, count), _CHUNK):
        chunk = {**job, "first_program": first, "random_programs": min(_CHUNK, count - first)}
        if first:
            chunk |= _NO_MORE  # it was proved with the first
        answer = Job(chunk, timeout_s, stop).result()
        if answer["status"] != "ok":
            return answer
        total["operations"] += answer["operations"]
        total["steps"] += answer["steps"]
        total.setdefault("notes", answer.get("notes", []))
    return {**total, "seconds": time.monotonic() - start}
