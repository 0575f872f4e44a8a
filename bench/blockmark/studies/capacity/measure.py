"""Capacity: what a memory budget holds, by the way in which it is divided.

A simulation of bookkeeping, exact and the same every time: nothing is timed.
"""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from blockmark.measure.process.reading import Reading, Readings
from blockmark.workload.errors import ConfigError

from .load import budget_of, capacity_requests
from .simulation import Counts, Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from blockmark.measure.study import StudyTask
    from blockmark.workload.scenario import Cell
    from blockmark_impls.capacity.contract import MemoryPolicy, Request
    from blockmark_impls.registry import Implementation

KIND = "policy"
REPEATS = False
ENTRY_BYTES = 4  # of a block table: int32, what kernels read

# The proof: small memories, so that they are full all the time.
_PROOFS, _PROOF_REQUESTS = 20, 40


def prepare(cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The requests in a file, and the budget. Raises ConfigError."""
    budget = budget_of(cell)
    requests, facts = capacity_requests(cell)
    smallest = min(requests, key=lambda each: each.prompt + each.output)
    if smallest.prompt + smallest.output > budget.tokens:
        raise ConfigError(
            f"the memory for KV entries holds {budget.tokens:,} tokens of {cell['model_shape']}, "
            f"less than the smallest request ({smallest.prompt + smallest.output:,} tokens); raise "
            f"kv_memory"
        )
    folder.mkdir(parents=True)
    path = folder / "requests.json"
    rows = [[each.arrival, each.prompt, each.output, each.pieces] for each in requests]
    text = json.dumps(rows)
    path.write_text(text)
    count = len(requests)
    facts |= {
        "program_digest": hashlib.sha256(text.encode()).hexdigest()[:16],
        "kv_bytes": budget.kv_bytes,
        "kv_tokens": budget.tokens,
        "bytes_per_token": budget.bytes_per_token,
        "weight_bytes": budget.weight_bytes,
        "requests": count,
        "prompt_tokens_mean": sum(each.prompt for each in requests) / count,
        "output_tokens_mean": sum(each.output for each in requests) / count,
        "longest_request": max(each.prompt + each.output for each in requests),
    }
    return {"requests": str(path), "tokens": budget.tokens}, facts


def extra_time_s(params: Mapping[str, Any]) -> float:
    """Blocks of one token and a million requests take their time."""
    return 600.0


def prove(impl: Implementation, task: StudyTask) -> dict[str, Any]:
    """Small made-up loads, in which every step is checked: nothing lost, nothing held twice."""
    requests = steps = 0
    for number in range(_PROOFS):
        rng = random.Random(f"{task.seed}/{number}")
        tokens = rng.randint(40, 400)
        max_len = rng.randint(10, tokens)
        policy = _Checked(_make(impl, tokens, max_len, rng.randint(1, 40)))
        load = _small_load(rng)
        try:
            Simulation(policy, load, saturated=rng.random() < 0.5).run()
        except _Fault as fault:
            return {"status": "wrong", "reason": f"load {number} on {tokens} tokens: {fault}"}
        requests += len(load)
        steps += policy.steps
    return {"status": "ok", "operations": requests, "steps": steps}


def measure(impl: Implementation, task: StudyTask) -> Readings:
    """The cell's own load."""
    params, tokens = task.params, task.prepared["tokens"]
    policy = _make(impl, tokens, params["max_len"], params["max_new_tokens"])
    load = _load(Path(task.prepared["requests"]))
    counts = Simulation(policy, load, params["arrivals"] == "saturated").run()
    return metrics(counts, tokens, len(load))


def metrics(counts: Counts, tokens: int, requests: int) -> Readings:
    """The counts as shares of the memory and means over the steps that count."""
    served = requests - counts.not_served
    found: dict[str, float] = {"requests_not_served": counts.not_served}
    if served:
        found |= {
            "preemptions_per_1000_requests": 1000 * counts.preempted / served,
            "recomputed_tokens_share": counts.recomputed / counts.computed,
            "steps_to_finish": counts.all_steps,
        }
    if not counts.steps:
        why = "no request waited" if served else "no request fits"
        reason = Reading.missing(f"{why}, so there is no step to count")
        return {name: Reading(value) for name, value in found.items()} | dict.fromkeys(
            _OVER_TIME, reason
        )
    whole = tokens * counts.steps
    found |= {
        "memory_utilisation": counts.live / whole,
        "reserved_share": counts.reserved / whole,
        "internal_waste_share": counts.internal / whole,
        "external_waste_share": counts.external / whole,
        "free_share": counts.free / whole,
        "logical_tokens_share": counts.logical / whole,
        "blocked_steps_share": counts.blocked / counts.steps,
        "concurrent_requests_mean": counts.running / counts.steps,
        "concurrent_requests_peak": counts.running_peak,
    }
    if counts.unshared:  # a policy with blocks
        found |= {
            "block_table_bytes_mean": ENTRY_BYTES * counts.entries / counts.steps,
            "block_table_bytes_peak": ENTRY_BYTES * counts.entries_peak,
            "shared_saving_share": counts.saved / counts.unshared,
        }
    return {name: Reading(value) for name, value in found.items()}


_OVER_TIME = (
    "memory_utilisation",
    "reserved_share",
    "internal_waste_share",
    "external_waste_share",
    "free_share",
    "concurrent_requests_mean",
    "concurrent_requests_peak",
)


def _make(impl: Implementation, tokens: int, max_len: int, max_new: int) -> MemoryPolicy:
    return cast("MemoryPolicy", impl.make(tokens, max_len, max_new))


def _load(path: Path) -> list[tuple[int, Request]]:
    from blockmark_impls.capacity.contract import Request, Segment

    return [
        (arrival, Request(prompt, output, tuple(Segment(*piece) for piece in pieces)))
        for arrival, prompt, output, pieces in json.loads(path.read_text())
    ]


def _small_load(rng: random.Random) -> Sequence[tuple[int, Request]]:
    from blockmark_impls.capacity.contract import Request, Segment

    load, now = [], 0
    for number in range(_PROOF_REQUESTS):
        now += rng.choice((0, 0, 1, 7))
        # Every second one has the prompt of the one before.
        if number % 2 == 0:
            shared, own = rng.choice((0, 0, 5, 16, 23)), rng.randint(1, 60)
            pieces = (Segment(f"common {shared}", shared), Segment(f"own {number}", own))
        request = Request(shared + own, rng.randint(1, 60), pieces)
        load.append((now, request))
    return load


class _Fault(Exception):  # noqa: N818 - a finding
    """What a policy did that can't be right."""


class _Checked:
    """A policy whose every answer is looked at."""

    def __init__(self, policy: MemoryPolicy) -> None:
        self._policy = policy
        self.tokens = policy.tokens
        self.steps = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def usage(self, now: int, head: Request | None) -> Any:
        """The same, if its parts make up the memory and pieces do not overlap."""
        usage = self._policy.usage(now, head)
        parts = (usage.live, usage.reserved, usage.internal, usage.external, usage.free)
        if min(parts) < 0 or sum(parts) != self.tokens:
            raise _Fault(f"step {now}: {usage} does not make up {self.tokens} tokens")
        end = 0
        for start, size in getattr(self._policy, "pieces", list)():
            if start < end or start + size > self.tokens:
                raise _Fault(f"step {now}: tokens from {start} are held twice or are none")
            end = start + size
        self.steps += 1
        return usage
