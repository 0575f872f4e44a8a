"""Serving: requests arrive, wait, run, are preempted and end, by the reference scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .load import Load
from .prefix_cache import PrefixCache
from .requests import MOST_OUTPUT_TOKENS, Request, arrivals, made_up_requests
from .scenario import CACHE_SLOTS
from .scheduler import Rules, Scheduler

if TYPE_CHECKING:
    from .program import Program
    from .scenario import Cell
    from .tally import Tally


def serving_load(cell: Cell) -> Load:
    """The Program and the facts of a serving load. Raises ConfigError."""
    trace: dict[str, Any] = {}
    if cell["trace_format"] != "auto" and not cell["trace"]:
        raise ConfigError(
            f'scenario "{cell.scenario}" needs a trace of format {cell["trace_format"]}: '
            f"--set trace=FILE (its text says where the data can be had)"
        )
    requests = _from_trace(cell, trace) if cell["trace"] else made_up_requests(cell)
    running = cell["concurrency"]
    cached = cell["prefix_cache"] == "on"
    cache = PrefixCache(range(running, running + CACHE_SLOTS)) if cached else None
    rules = Rules(
        slots=running,
        step_s=1.0 / cell["step_rate"],
        token_budget=cell["step_token_budget"],
        prefill_chunk=cell["prefill_chunk"],
        queue_limit=cell["queue_limit"],
        swap=cell["preemption"] == "swap",
        host_blocks=cell["host_blocks"],
    )
    if rules.token_budget < running:
        raise ConfigError(
            f"step_token_budget = {rules.token_budget:,} is below concurrency = {running:,}, so "
            f"that not every running request could have its token; raise step_token_budget"
        )
    scheduler = Scheduler(cell.pool_config, rules, cache)
    scheduler.run(requests)
    tally = scheduler.tally
    if not tally.finished:
        raise ConfigError(
            f"none of {tally.arrived:,} requests fits total_blocks = {cell['total_blocks']:,} and "
            f"max_blocks_per_seq = {cell['max_blocks_per_seq']:,}; raise them"
        )
    steps = len(tally.occupied)
    # The busiest moment in the middle half, where tables are most worth a look.
    middle = range(steps // 4, max(steps // 4 + 1, steps * 3 // 4))
    probe = max(middle, key=lambda step: tally.running[step]) + 1
    program = scheduler.builder.build(
        period=scheduler.builder.num_steps,
        units={1: float(steps)},
        width=cell["max_blocks_per_seq"],
        probe=probe,
    )
    facts = _facts(cell, program, tally)
    if trace:
        facts["trace"] = trace
        if "arrivals" in trace:
            facts["notes"] = [f"Times of arrival are {trace['arrivals']}."]
    return Load(program, facts)


def _from_trace(cell: Cell, said: dict[str, Any]) -> list[Request]:
    """The trace's requests; `said` takes what was read and what was skipped."""
    from .traces import block_hashes, open_trace, time_window

    path = Path(cell["trace"])
    named = None if cell["trace_format"] == "auto" else cell["trace_format"]
    trace = open_trace(
        path,
        format=named,
        limit=cell["trace_limit"] or None,
        window=time_window("trace_window", cell["trace_window"]),
        speedup=cell["trace_speedup"],
    )
    cached, size = cell["prefix_cache"] == "on", cell["block_size"]
    if cached:
        trace.check_block_size(size)
    requests: list[Request] = []
    generated = 0
    for number, row in enumerate(trace):
        generated += row.output_tokens
        if generated > MOST_OUTPUT_TOKENS:
            raise ConfigError(
                f"{path}: the first {number + 1:,} requests generate over {MOST_OUTPUT_TOKENS:,} "
                f"tokens, more than a program may have; set trace_limit"
            )
        chain = block_hashes(row, size) if cached and row.hash_ids else ()
        arrival = row.arrival_s or 0.0
        requests.append(Request(number, arrival, row.prompt_tokens, row.output_tokens, chain=chain))
    if not requests:
        raise ConfigError(f"{path}: no usable request; see `blockmark trace {path}`")
    said["file"] = path.name
    said["format"] = trace.format
    said["requests"] = len(requests)
    said["prompt_tokens_mean"] = sum(one.prompt_tokens for one in requests) / len(requests)
    said["output_tokens_mean"] = sum(one.output_tokens for one in requests) / len(requests)
    said["skipped"] = dict(trace.skipped)
    said["speedup"] = cell["trace_speedup"]
    said["oddities"] = trace.oddities()
    if not trace.has_arrivals:
        for request, arrival in zip(requests, arrivals(cell, len(requests)), strict=True):
            request.arrival_s = arrival
        said["arrivals"] = (
            f"made up, as the trace has none: arrival_rate = {cell['arrival_rate']:g} a second, "
            f"arrival_cv = {cell['arrival_cv']:g}"
        )
    return requests


def _facts(cell: Cell, program: Program, tally: Tally) -> dict[str, Any]:
    import numpy as np

    steps = len(tally.occupied)
    calls = program.counts_per_step()
    occupied = np.array(tally.occupied) / cell["total_blocks"]
    filled = np.array(tally.filled) / (cell["total_blocks"] * cell["block_size"])
    running = float(np.mean(tally.running)) or 1.0
    taken = tally.blocks_taken / steps
    facts: dict[str, Any] = {
        "workload": "serving",
        "operations_per_step": calls,
        # Calls of allocate, fork and free are of the prefix cache, too.
        "admitted_per_step": tally.admitted / steps,
        "ended_per_step": tally.finished / steps,
        "blocks_taken_per_step": taken,
        "operations_per_sequence_step": (sum(calls.values()) + 3 * taken) / running,
        "running_mean": running,
        "occupancy_mean": float(occupied.mean()),
        "occupancy_p95": float(np.quantile(occupied, 0.95)),
        "token_occupancy_mean": float(filled.mean()),
        "token_occupancy_p95": float(np.quantile(filled, 0.95)),
        "period_steps": program.period,
        "body_steps": program.body_steps,
        "program_digest": program.digest(),
        "prefill_chunks": tally.prefill_chunks,
        "requests": _requests(tally),
    }
    if tally.swapped_blocks:
        from .model_shape import bytes_per_token

        per_block = bytes_per_token(cell["model_shape"]) * cell["block_size"]
        facts["copy_bytes_per_step"] = tally.swapped_blocks * per_block / steps
    if cell["prefix_cache"] == "on":
        facts["cache"] = _cache(cell, tally)
    return facts


def _requests(tally: Tally) -> dict[str, Any]:
    import numpy as np

    steps, seconds = np.array(tally.waits).T
    return {
        "arrived": tally.arrived,
        "finished": tally.finished,
        "rejected": tally.rejected_queue + tally.rejected_size,
        "rejected_queue_full": tally.rejected_queue,
        "rejected_too_long": tally.rejected_size,
        "preempted_recompute": tally.preempted_recompute,
        "preempted_swap": tally.preempted_swap,
        "swapped_blocks": tally.swapped_blocks,
        "waiting_steps_p50": float(np.quantile(steps, 0.5)),
        "waiting_steps_p99": float(np.quantile(steps, 0.99)),
        "waiting_s_p50": float(np.quantile(seconds, 0.5)),
        "waiting_s_p99": float(np.quantile(seconds, 0.99)),
    }


def _cache(cell: Cell, tally: Tally) -> dict[str, Any]:
    found: dict[str, Any] = {
        "prompt_tokens": tally.prompt_tokens,
        "hit_tokens": tally.hit_tokens,
        "hit_share": tally.hit_tokens / max(1, tally.prompt_tokens),
        "blocks_shared_live": tally.blocks_shared_live,
        "blocks_revived": tally.blocks_revived,
        "readmission_hit_tokens": tally.readmission_hit_tokens,
        "evicted_blocks": tally.evicted_blocks,
    }
    prefix, size = cell["shared_prefix_tokens"], cell["block_size"]
    if 0 < prefix < size:
        found["note"] = (
            f"the shared prefix of {prefix} tokens is shorter than a block of {size}: it never hits"
        )
    return found
