"""What a known mistake costs: the wrong version beside the right one in the same process.

Blocks of both go in turns, so that a machine that gets slower meets them alike. Which
operation is timed depends on the mistake: appends with the bytes that copies move, whole
steps of decode, or the packing of a step.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from blockmark.measure.process.reading import Reading, Readings
from blockmark.workload.decode import decode_load
from blockmark.workload.errors import ConfigError
from blockmark.workload.model_shape import bytes_per_token
from blockmark.workload.packing import with_packing
from blockmark.workload.scenario import Cell
from blockmark_impls.contract import PoolConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from blockmark.measure.probes.timing import Cursor
    from blockmark.measure.study import StudyTask
    from blockmark.workload.program import Program
    from blockmark_impls.mistakes.rows import MistakeFacts
    from blockmark_impls.registry import Implementation


KIND = "mistake"
REPEATS = True

_RANDOM_PROGRAMS, _OPERATIONS = 10, 6_000
# Tokens that a sequence of the load generates: enough to come and go, and quick to make;
# half a table at most.
_OUTPUT_TOKENS = 256
# Two turns of an arena of so many times the last-level cache meet no byte in it.
_ARENA_TIMES, _LEAST_ARENA, _MOST_ARENA = 4, 1 << 26, 1 << 30


def prepare(cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The decode load, and the same with packing; saved in `folder`. Raises ConfigError."""
    from blockmark.measure.machine import cache_sizes, memory_limit

    if cell["total_blocks"] > 1 << 16:
        raise ConfigError(
            f"total_blocks = {cell['total_blocks']:,} is more than the 16-bit ids of a mistake "
            "number; set it to at most 65,536"
        )
    groups = _groups(cell.values)
    if groups < 1 or cell["concurrency"] % cell["sharers"]:
        raise ConfigError(
            f"concurrency = {cell['concurrency']:,} is no multiple of sharers = "
            f"{cell['sharers']}; change one of them"
        )
    token_bytes = bytes_per_token(cell["model_shape"])
    arena = max(_LEAST_ARENA, _ARENA_TIMES * cache_sizes().get("l3", 0))
    arena = max(min(arena, _MOST_ARENA), 4 * cell["payload_bytes"])
    if cell["payload_bytes"] and arena > memory_limit() // 2:
        raise ConfigError(
            f"payload_bytes = {cell['payload_bytes']:,} needs {arena:,} bytes to copy in, more "
            "than a quarter of this machine's memory; lower it"
        )
    periods(cell.values)
    output = min(_OUTPUT_TOKENS, cell["max_blocks_per_seq"] // 2 * cell["block_size"])
    load = decode_load(Cell(cell.scenario, (*cell.params, ("output_tokens", output))))
    folder.mkdir(parents=True)
    paths = {"load": folder / "load.program", "packed": folder / "packed.program"}
    load.program.save(paths["load"])
    with_packing(load.program).save(paths["packed"])
    made = {name: str(path) for name, path in paths.items()} | {"arena_bytes": arena}
    facts = {
        "operations_per_step": load.facts["operations_per_step"],
        "occupancy_mean": load.facts["occupancy_mean"],
        "arena_bytes": arena if cell["payload_bytes"] else 0,
        "token_bytes": token_bytes,
        "appends_per_block": cell["concurrency"] * cell["block_size"] * periods(cell.values),
    }
    return made, facts


def periods(params: Mapping[str, Any]) -> int:
    """Block boundaries that each sequence crosses in a timed block of appends.

    Raises ConfigError where pool or table has no room for one.
    """
    widest = int(params["max_blocks_per_seq"])
    # Each sequence begins within its first block, and a copy may need one more.
    pool = int((params["total_blocks"] - 1) // params["concurrency"])
    room = min(widest, pool) - 1
    if room < 1:
        raise ConfigError(
            f"concurrency = {params['concurrency']:,} sequences of two blocks do not fit "
            f"total_blocks = {params['total_blocks']:,} and max_blocks_per_seq = {widest:,}"
        )
    # Where a payload makes appends long, few of them are a block.
    return min(room, 16 if params["payload_bytes"] <= 1024 else 1)


def prove(impl: Implementation, task: StudyTask) -> dict[str, Any]:
    """The mistake is wrong as it declares and in no other way; the right version is right."""
    from blockmark.measure.proof.prove import prove as prove_manager
    from blockmark_impls.registry import resolve

    done = {"status": "ok", "operations": 0, "steps": 0}
    for each in (impl, resolve(_facts(impl).right)[0]):
        request = {
            "call_style": each.call_style,
            "random_programs": _RANDOM_PROGRAMS,
            "programs": [task.prepared["load"]],
            "operations": _OPERATIONS,
            "seed": task.seed,
        }
        found = prove_manager(each, _config(task.params), request)
        if found["status"] != "ok":
            return {**found, "reason": f"{each.name}: {found['reason']}"}
        done["operations"] += found["operations"]
        done["steps"] += found["steps"]
    return done


def measure(impl: Implementation, task: StudyTask) -> Readings:
    """Both versions in turns, and what is counted exactly."""
    from blockmark_impls.registry import resolve

    right = resolve(_facts(impl).right)[0]
    match _facts(impl).work:
        case "append":
            return _appends(impl, right, task)
        case "step":
            return _steps(impl, right, task)
        case "pack":
            return _packings(impl, right, task)


def _appends(wrong: Implementation, right: Implementation, task: StudyTask) -> Readings:
    from .append_blocks import measure_appends

    params = task.params
    found = measure_appends(
        (wrong.make_manager(_config(params)), right.make_manager(_config(params))),
        params,
        periods=periods(params),
        arena_bytes=task.prepared["arena_bytes"],
        blocks=5 if task.quick else 20,
    )
    bad, good = found
    metrics = _both(bad.least_ns, good.least_ns)
    metrics["copies_per_append"] = Reading(bad.copies_per_append)
    metrics["right_copies_per_append"] = Reading(good.copies_per_append)
    if bad.most_extra is None or good.most_extra is None:
        reason = "called from Python, a copy's source is given back before anyone can look"
        metrics["peak_extra_blocks"] = Reading.missing(reason)
    else:
        metrics["peak_extra_blocks"] = Reading(bad.most_extra - good.most_extra)
    extra = params["concurrency"] * (bad.copies_per_append - good.copies_per_append)
    metrics["gpu_step_factor"] = Reading(gpu_step_factor(extra, params))
    return metrics


def gpu_step_factor(extra_copies: float, params: Mapping[str, Any]) -> float:
    """How many times a GPU's decode step takes with so many copies more in it: a model.

    1 + copies x (2 x block bytes / BW + calls x t_call) / ((W + B x context x token bytes) / BW);
    one GB/s is one byte in a ns.
    """
    token_bytes = bytes_per_token(params["model_shape"])
    block_bytes = params["block_size"] * token_bytes
    bandwidth = params["gpu_bandwidth"]
    copy_ns = 2 * block_bytes / bandwidth + params["calls_per_copy"] * params["copy_call_ns"]
    read = params["weight_gigabytes"] * 1e9
    read += params["concurrency"] * params["context_tokens"] * token_bytes
    return float(1 + extra_copies * copy_ns / (read / bandwidth))


def _steps(wrong: Implementation, right: Implementation, task: StudyTask) -> Readings:
    from blockmark.measure.inside.allocation_count import steady_allocations

    from .proof import lost_updates

    sides = _replays(wrong, right, task, "load")
    searched = getattr(sides[0][0], "search_length", None)
    metrics = _timed_in_turns(sides, 1, task)
    if searched is not None:
        metrics["searched_per_block"] = Reading(searched)
    if _facts(wrong).fault == "shared-table":
        metrics["lost_updates"] = Reading(lost_updates())
    for (_, cursor), name in zip(
        sides, ("heap_allocations_per_step", "right_heap_allocations_per_step"), strict=True
    ):
        count = steady_allocations(cursor)
        metrics[name] = Reading.of(count)
    return metrics


def _packings(wrong: Implementation, right: Implementation, task: StudyTask) -> Readings:
    from blockmark.workload.packing import modelled_transfer_ns

    params = task.params
    sides = _replays(wrong, right, task, "packed")
    manager, cursor = sides[0]
    before = manager.copies_sent
    packings = cursor.program.units[2] / cursor.program.period * cursor.program.body_steps
    cursor.run(cursor.program.body_steps)
    transfers = (manager.copies_sent - before) / packings
    metrics = _timed_in_turns(sides, 2, task)
    sent = transfers * (params["max_blocks_per_seq"] + 1) * 4
    modelled = [modelled_transfer_ns(copies, sent, params) for copies in (transfers, 1)]
    metrics["transfers_per_step"] = Reading(transfers)
    metrics["wrong_transfer_ns"] = Reading(modelled[0])
    metrics["right_transfer_ns"] = Reading(modelled[1])
    both = [metrics[name].number for name in ("wrong_ns", "right_ns")]
    whole = [ns + transfer for ns, transfer in zip(both, modelled, strict=True)]
    metrics["factor_with_transfer"] = Reading(whole[0] / whole[1])
    return metrics


def _replays(
    wrong: Implementation, right: Implementation, task: StudyTask, program: str
) -> list[tuple[Any, Cursor]]:
    from blockmark.measure.probes.timing import Cursor
    from blockmark.measure.replay import bind
    from blockmark.workload.program import Program

    load: Program = Program.load(Path(task.prepared[program]))
    made = []
    for impl in (wrong, right):
        manager = impl.make_manager(_config(task.params))
        replay = bind(manager, load, impl.call_style)
        replay.setup()
        made.append((manager, Cursor(replay, load)))
    return made


def _timed_in_turns(sides: list[tuple[Any, Cursor]], phase: int, task: StudyTask) -> Readings:
    """The least block of each side; a block is about a millisecond of whole periods."""
    from blockmark.measure.probes.timing import measure_costs, warm_up

    turns = 3 if task.quick else 10
    least = [float("inf"), float("inf")]
    for _, cursor in sides:
        warm_up(cursor, 20_000_000)
    for turn in range(turns):
        for side in (0, 1) if (turn + task.seed) % 2 else (1, 0):
            cost = measure_costs(sides[side][1], 3, 1_000_000, 1)[phase]
            least[side] = min(least[side], cost.least)
    return _both(*least)


def _both(wrong_ns: float, right_ns: float) -> Readings:
    return {
        "right_ns": Reading(right_ns),
        "wrong_ns": Reading(wrong_ns),
        "mistake_factor": Reading(wrong_ns / right_ns),
    }


def _facts(impl: Implementation) -> MistakeFacts:
    return cast("MistakeFacts", impl.facts)


def _groups(params: Mapping[str, Any]) -> int:
    return int(params["concurrency"] // params["sharers"])


def _config(params: Mapping[str, Any]) -> PoolConfig:
    return PoolConfig(
        total_blocks=params["total_blocks"],
        block_size=params["block_size"],
        max_seqs=max(2, params["concurrency"]),
        max_blocks_per_seq=params["max_blocks_per_seq"],
        id_bits=16,
    )


def extra_time_s(params: Mapping[str, Any]) -> float:
    """A search from Python over a large pool, and large payloads, take seconds."""
    return 60.0
