"""One measured process: reads a job on stdin, a line, and writes one JSON line on stdout.

It imports only what it measures with. What an implementation prints is never
taken for the answer; see answers.py. Started by `jobs.py` as
`python -P -m blockmark.measure.inside.worker`.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import TYPE_CHECKING, Any

from blockmark_impls.contract import PoolConfig
from blockmark_impls.registry import TargetError, resolve

from ..process.answers import Answers
from ..process.limits import limit_cpu_time
from ..process.task import CellTask, RoundTask
from .failures import why_failed

if TYPE_CHECKING:
    from collections.abc import Callable

# Half of any first-level cache; about 10 us a try, so that one is undisturbed.
_CONTROL_BYTES, _CONTROL_TRIES = 16_384, 200


def main() -> None:
    """Do the job named on stdin."""
    answers = Answers()
    # What is measured is told nothing of who measures.
    sys.argv[:] = ["python"]
    # One line: what is played in turns is told more later.
    job = json.loads(sys.stdin.readline())
    answers.begin_with(job["mark"])
    if limit := job.get("memory_limit"):
        # A blow-up becomes a MemoryError here, not a machine that swaps.
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if seconds := job.get("cpu_limit"):
        limit_cpu_time(seconds)

    try:
        result = run_job(job, answers.say)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:  # the implementation's: a result of its own
        result = {"status": "failed", "reason": why_failed(error)}
    answers.say(result)


def run_job(job: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The result of a job, as the run file's journal keeps it; `say` tells what comes before."""
    try:
        if job["kind"] == "describe":
            from .describe import describe

            return describe(job)
        if job["kind"] in ("corpus", "verify"):
            # Before any class is loaded, which may ask for the time.
            from ..proof import clock

            clock.install()
        if "search_s" in job:
            from blockmark_impls.coverage import build_with_coverage

            build_with_coverage()
        if job["kind"] == "corpus":
            from ..proof.corpus_job import prove_each

            return prove_each(job)
        impl = resolve(job["impl"])[0]
        if impl.unavailable:
            return {"status": "unavailable", "reason": impl.unavailable}
        if "study" in job:
            from ..study import do_study_job

            return do_study_job(impl, job)
        if job["kind"] == "verify":
            from ..proof.prove import prove

            answer = prove(impl, PoolConfig(**job["config"]), job)
            if job.get("tell_loaded"):
                # After the proof, as a class may load more when it is first used.
                from ..sides.loaded import loaded_files

                answer["loaded"] = loaded_files()
            return answer
        if job["kind"] == "allocations":
            from .allocation_count import count_allocations

            return count_allocations(impl, CellTask.of(job))
        if job["kind"] == "profile":
            from ..profiling.profiled import profile

            return profile(impl, job)
        if job["kind"] == "turns":
            from ..sides.player import play

            if reason := play(impl, RoundTask.of(job), sys.stdin, say):
                return {"status": "wrong", "reason": reason}
            return {"status": "ok", "control_ns": first_level_ns()}
        from .round import measure_round

        return measure_round(impl, RoundTask.of(job))
    except TargetError as error:
        # Asked by name: the package of an older revision, as a side of a check, has none.
        return {"status": getattr(error, "status", "unavailable"), "reason": str(error)}


def first_level_ns() -> float | None:
    """A dependent load from the first-level cache, in ns: the clock's speed, and no more.

    It is the same on both sides of a check unless the clock or the machine changed. None
    without the C++ core.
    """
    try:
        from blockmark_impls import _native
    except ImportError:
        return None
    return float(min(_native.probe_latency_ns(_CONTROL_BYTES) for _ in range(_CONTROL_TRIES)))


if __name__ == "__main__":
    main()
