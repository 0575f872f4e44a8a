"""The study of contention: threads or coroutines that share one pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark.measure.machine import usable_cores
from blockmark.measure.probes.overlap import check_threads
from blockmark.measure.process.reading import Readings
from blockmark.workload.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from blockmark.measure.study import StudyTask
    from blockmark.workload.scenario import Cell
    from blockmark_impls.registry import Implementation

KIND = "shared-pool"
REPEATS = True
_PROVED_BLOCKS, _PROVED_ROUNDS = 256, 20_000
_ENGINE_ROUNDS, _ENGINE_COROUTINES = 60, 8


def prepare(cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Nothing to make; the facts say whether the threads exceed the processors.

    Raises ConfigError for loads that can't be.
    """
    cores = usable_cores()
    threads, coroutines = cell["threads"], cell["coroutines"]
    where = f"scenario {cell.scenario}"
    check_threads(threads, cores)
    if cell["batch"] > cell["total_blocks"]:
        raise ConfigError(
            f"{where}: batch = {cell['batch']:,} is more than total_blocks = "
            f"{cell['total_blocks']:,}; lower batch"
        )
    if coroutines and cell["think_ns"]:
        raise ConfigError(
            f"{where}: think_ns has no effect on coroutines: a busy coroutine keeps all others "
            "waiting; leave think_ns at 0"
        )
    if coroutines > 100_000:
        raise ConfigError(
            f"{where}: coroutines = {coroutines:,}: more than make sense; set 100,000 or fewer"
        )
    facts = {"cores_usable": cores, "oversubscribed": not coroutines and threads > cores}
    if coroutines:
        from blockmark_impls.contention.dict_tables import KNOWN_FAULTS

        facts["known_faults"] = ", ".join(KNOWN_FAULTS)
    return {}, facts


def prove(impl: Implementation, task: StudyTask) -> dict[str, Any]:
    """No block handed out twice and none lost, under as many threads as are measured."""
    params = task.params
    if reason := _not_for(impl, params):
        return {"status": "unavailable", "reason": reason}
    if impl.tier == "py":
        return _prove_engine(impl, task)
    pool = impl.make(_PROVED_BLOCKS, params["threads"])
    rounds = (_PROVED_ROUNDS // 4 if task.quick else _PROVED_ROUNDS) // params["threads"]
    wrong = pool.stress(rounds, 9) or _refusal(impl)
    if wrong:
        return {"status": "wrong", "reason": wrong}
    return {"status": "ok", "operations": 2 * rounds * params["threads"], "steps": rounds}


def measure(impl: Implementation, task: StudyTask) -> Readings:
    """A round: windows and a stretch of threads, or blocks of coroutines."""
    if impl.tier == "py":
        from .engine_round import measure_engine

        return measure_engine(impl, task)
    from .threads import measure_pool

    return measure_pool(impl, task)


def extra_time_s(params: Mapping[str, Any]) -> float:
    """Stretches are of a stated length; threads without processors take turns."""
    return 4.0 * float(params["stretch_seconds"]) + 0.5 * float(params["threads"])


def _not_for(impl: Implementation, params: Mapping[str, Any]) -> str:
    """Why an implementation has no place in a cell; empty if it has one."""
    if impl.tier != "py":
        if params["coroutines"]:
            return f"{impl.name} is for threads; set coroutines = 0"
        if impl.scheme == "none" and params["threads"] > 1:
            return f"{impl.name} has no lock, so it serves one thread"
        if params["request_rate"] and params["threads"] > usable_cores():
            return (
                f"threads that serve a request rate wait by reading the clock, so each needs a "
                f"processor; set threads to {usable_cores()} or fewer"
            )
        return ""
    if params["coroutines"]:
        return ""
    facts: Any = impl.facts
    if not facts.threads:
        return f"{impl.name} is for coroutines; set coroutines to 1 or more"
    if not facts.lock_class and params["threads"] > 1:
        return f"{impl.name} has no lock, so it serves one thread"
    if params["request_rate"]:
        return f"{impl.name} is paced with coroutines alone; set coroutines to 1 or more"
    return ""


def _refusal(impl: Implementation) -> str:
    """A take of too much must be refused and change nothing."""
    from blockmark_impls.contract import OutOfBlocks

    pool = impl.make(4, 1)
    for k, fits in ((5, False), (4, True), (1, False)):
        try:
            ids = pool.take(0, k)
        except OutOfBlocks:
            if fits:
                return f"{k} blocks of 4 free ones were refused"
            continue
        if not fits:
            return f"{k} blocks were handed out where there were fewer"
        if sorted(ids) != [0, 1, 2, 3]:
            return f"the four blocks of a pool are handed out as {ids}"
    return ""


def _prove_engine(impl: Implementation, task: StudyTask) -> dict[str, Any]:
    """Right under coroutines, with exactly the faults that its class names."""
    from .engine_faults import check_engine, check_prompt, faults_of

    facts: Any = impl.facts

    def make(total_blocks: int, block_size: int) -> Any:
        return impl.make(total_blocks, block_size)

    coroutines = max(1, min(_ENGINE_COROUTINES, task.params["coroutines"] or 1))
    wrong, operations = check_engine(
        make, coroutines=coroutines, rounds=_ENGINE_ROUNDS, seed=task.seed
    )
    wrong = wrong or (check_prompt(make) if facts.shares else "")
    shown, known = faults_of(make), list(make(1, 1).known_faults)
    for name in shown:
        if name not in known and not wrong:
            wrong = f"a fault that is not among its known ones: {name}"
    for name in known:
        if name not in shown and not wrong:
            wrong = f"its known fault {name} does not show"
    if wrong:
        return {"status": "wrong", "reason": wrong}
    return {"status": "ok", "operations": operations, "steps": _ENGINE_ROUNDS}
