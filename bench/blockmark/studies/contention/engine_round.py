"""One round of an engine in Python under coroutines or threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockmark.measure.probes.histograms import new_histogram
from blockmark.measure.process.reading import Reading, Readings

from .engine_load import (
    Load,
    Tally,
    pairs_each,
    repeat,
    run_coroutines,
    run_paced,
    run_threads,
)
from .threads import kernel_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from blockmark.measure.study import StudyTask
    from blockmark_impls.registry import Implementation

_GIL = "the interpreter runs one thread at a time, so Python's threads never run at once"
_LOOP = "coroutines of one loop take turns by nature"
_BLOCKS, _PAIRS, _LATENCIES = 7, 2_000, 11_000
_QUICK_BLOCKS, _QUICK_PAIRS, _QUICK_LATENCIES = 3, 500, 1_500


def measure_engine(impl: Implementation, task: StudyTask) -> Readings:
    """Every metric of the study that an engine in Python has."""
    params, quick = task.params, task.quick
    facts: Any = impl.facts
    load = load_of(params, shares=facts.shares)
    if rate := params["request_rate"]:
        seconds = min(params["stretch_seconds"], 0.05) if quick else params["stretch_seconds"]
        latency = new_histogram()
        tally = run_paced(_engine(impl, params), load, rate, seconds, latency)
        return {
            "take_latency_ns": Reading.spread(latency),
            "pairs_per_s": Reading(tally.pairs / tally.wall_ns * 1e9),
            "cpu_share_at_rate": Reading(tally.cpu_ns / tally.wall_ns),
            "refused_share": Reading(_refused(tally)),
        }
    by_coroutines = bool(params["coroutines"])
    run = run_coroutines if by_coroutines else run_threads
    each = pairs_each(load.workers, _QUICK_PAIRS if quick else _PAIRS)

    def one() -> Tally:
        # An asyncio.Lock belongs to the loop that it first waited in, so each has its engine.
        return run(_engine(impl, params), load, each)

    tallies = repeat(_QUICK_BLOCKS if quick else _BLOCKS, one)
    if not tallies:
        return {"refused_share": Reading(1.0)}
    cpu = [tally.cpu_ns / tally.pairs for tally in tallies]
    found: Readings = {
        "cpu_ns_per_pair": Reading(min(cpu), sum(cpu) / len(cpu)),
        "pairs_per_s": Reading(max(tally.pairs / tally.wall_ns for tally in tallies) * 1e9),
        "refused_share": Reading(sum(map(_refused, tallies)) / len(tallies)),
        "voluntary_switches_per_s": Reading(_per_s(tallies, "voluntary")),
        "involuntary_switches_per_s": Reading(_per_s(tallies, "involuntary")),
        "kernel_share": kernel_share(
            sum(tally.user_ns for tally in tallies), sum(tally.kernel_ns for tally in tallies)
        ),
        "overlap_share": Reading.missing(_LOOP if by_coroutines else _GIL),
    }
    found |= _latency(impl, params, load, quick)
    if (waited := waited_share(impl, params, load, each)) is not None:
        found["waited_share"] = Reading(waited)
    return found


def load_of(params: Mapping[str, Any], *, shares: bool) -> Load:
    """The requests of a cell: `batch` blocks each, half of them of a prompt where shared."""
    size, batch = params["block_size"], params["batch"]
    workers = params["coroutines"] or params["threads"]
    prompt = batch // 2 * size if shares else 0
    return Load(workers, batch * size, prompt, params["think_ns"])


def waited_share(
    impl: Implementation, params: Mapping[str, Any], load: Load, each: int
) -> float | None:
    """The share of acquisitions that waited; None for an engine without a lock."""
    from blockmark_impls.contention.counted_lock import CountedAsyncLock, CountedThreadLock

    facts: Any = impl.facts
    if not facts.lock_class:
        return None
    kind: Any = CountedAsyncLock if facts.lock_class == "asyncio" else CountedThreadLock
    locks: list[Any] = []

    def make() -> Any:
        locks.append(kind())
        return locks[-1]

    engine = _engine(impl, params, make)
    run = run_coroutines if params["coroutines"] else run_threads
    run(engine, load, each)
    return float(locks[-1].waited / locks[-1].acquired)


def _latency(impl: Implementation, params: Mapping[str, Any], load: Load, quick: bool) -> Readings:
    """Each allocate timed alone, in a pass of its own."""
    each = pairs_each(load.workers, _QUICK_LATENCIES if quick else _LATENCIES)
    engine = _engine(impl, params)
    if params["coroutines"]:
        latency = new_histogram()
        run_coroutines(engine, load, each, latency)
        return {"take_latency_ns": Reading.spread(latency)}
    from blockmark.runs.histogram import Histogram

    own = [new_histogram() for _ in range(load.workers)]
    run_threads(engine, load, each, own)
    merged = Histogram()
    for one in own:
        merged.merge(one.counts(), one.max_value)
    return {"take_latency_ns": Reading.spread(merged)}


def _engine(impl: Implementation, params: Mapping[str, Any], lock: Any = None) -> Any:
    return impl.make(params["total_blocks"], params["block_size"], lock)


def _refused(tally: Tally) -> float:
    return tally.refused / (tally.pairs + tally.refused)


def _per_s(tallies: list[Tally], name: str) -> float:
    return float(
        sum(getattr(tally, name) for tally in tallies)
        / sum(tally.wall_ns for tally in tallies)
        * 1e9
    )
