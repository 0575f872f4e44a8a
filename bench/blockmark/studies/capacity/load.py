"""The requests of a cell of the study of capacity, and the memory that they share out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.workload.distributions import draw
from blockmark.workload.errors import ConfigError
from blockmark.workload.memory_size import memory_size
from blockmark.workload.model_shape import model_shape
from blockmark.workload.requests import gaps

if TYPE_CHECKING:
    from blockmark.workload.scenario import Cell


@dataclass(frozen=True, slots=True)
class CapacityRequest:
    """`arrival`: the step in which it comes. `pieces`: (key, tokens) from the start of the
    prompt; equal keys mean the same tokens up to the end of the piece.
    """

    prompt: int
    output: int
    arrival: int = 0
    pieces: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """Memory for KV entries: bytes, and how many whole tokens of the model that is."""

    kv_bytes: int
    bytes_per_token: int
    weight_bytes: int = 0  # 0: the memory was given as such

    @property
    def tokens(self) -> int:
        """Whole tokens."""
        return self.kv_bytes // self.bytes_per_token


def budget_of(cell: Cell) -> Budget:
    """The memory of a cell. Raises ConfigError where nothing is left of it."""
    shape = model_shape(cell["model_shape"])
    if cell["kv_memory"] != "auto":
        return _checked(
            Budget(memory_size("kv_memory", cell["kv_memory"]), shape.bytes_per_token), cell
        )
    if not shape.weight_bytes:
        raise ConfigError(
            f'kv_memory = "auto" needs the size of the weights, which model_shape = '
            f'"{cell["model_shape"]}" does not tell; set kv_memory, such as kv_memory=45GiB'
        )
    gpu = memory_size("gpu_memory", cell["gpu_memory"]) * cell["gpu_share"]
    rest = (
        int(gpu) - shape.weight_bytes - memory_size("activation_memory", cell["activation_memory"])
    )
    if rest <= 0:
        raise ConfigError(
            f"{cell['gpu_share']:g} of gpu_memory = {cell['gpu_memory']} does not hold the weights "
            f"of {cell['model_shape']} ({shape.weight_bytes / 2**30:.2f} GiB) and "
            f"activation_memory = {cell['activation_memory']}; raise gpu_memory or name a "
            f"smaller model_shape"
        )
    return _checked(Budget(rest, shape.bytes_per_token, shape.weight_bytes), cell)


def _checked(budget: Budget, cell: Cell) -> Budget:
    if budget.tokens < 1:
        raise ConfigError(
            f"the memory for KV entries ({budget.kv_bytes:,} bytes) is below one token of "
            f"{cell['model_shape']} ({budget.bytes_per_token:,} bytes); raise kv_memory"
        )
    return budget


def capacity_requests(cell: Cell) -> tuple[list[CapacityRequest], dict[str, Any]]:
    """Requests in order of arrival, and facts about a trace. Raises ConfigError."""
    facts: dict[str, Any] = {}
    singles = _of_trace(cell, facts) if cell["trace"] else _made_up(cell)
    return [each for one in singles for each in _samples(one, cell["parallel_samples"])], facts


def _made_up(cell: Cell) -> list[CapacityRequest]:
    import numpy as np

    values = cell.values
    for name in ("prompt_tokens", "output_tokens"):
        if name not in values:
            raise ConfigError(f"{cell.scenario}: {name} is missing; set it, or name a trace")
    rng = np.random.default_rng([cell["seed"], 30])
    count = cell["requests"]
    prompts = draw(cell["prompt_tokens"], count, rng)
    outputs = draw(cell["output_tokens"], count, rng)
    shared = rng.random(count) < cell["shared_prefix_fraction"]
    seconds = np.cumsum(gaps(cell["arrival_rate"], cell["arrival_cv"], count, rng))
    system = cell["shared_prefix_tokens"]
    requests = []
    for number in range(count):
        prefix = system if shared[number] else 0
        pieces: tuple[tuple[str, int], ...] = ()
        if prefix:
            pieces = (("system", prefix),)
        requests.append(
            CapacityRequest(
                int(prompts[number]) + prefix,
                int(outputs[number]),
                _step(cell, float(seconds[number] - seconds[0])),
                (*pieces, (f"prompt {number}", int(prompts[number]))),
            )
        )
    return requests


def _of_trace(cell: Cell, facts: dict[str, Any]) -> list[CapacityRequest]:
    from blockmark.workload.traces import open_trace, time_window
    from blockmark.workload.traces.hashes import chained

    trace = open_trace(
        Path(cell["trace"]),
        format=None if cell["trace_format"] == "auto" else cell["trace_format"],
        limit=cell["trace_limit"] or None,
        window=time_window("trace_window", cell["trace_window"]),
        speedup=cell["trace_speedup"],
    )
    requests = []
    for number, row in enumerate(trace):
        if cell["arrivals"] == "timed" and row.arrival_s is None:
            raise ConfigError(f"{cell['trace']}: has no arrival times; set arrivals = saturated")
        pieces = [(str(link), row.hash_block) for link in chained(row.hash_ids)]
        known = min(row.prompt_tokens, len(pieces) * row.hash_block)
        pieces = pieces[: known // row.hash_block] if row.hash_block else []
        rest = row.prompt_tokens - sum(tokens for _, tokens in pieces)
        if rest:
            pieces.append((f"prompt {number}", rest))
        arrival = 0 if row.arrival_s is None else _step(cell, row.arrival_s)
        requests.append(
            CapacityRequest(row.prompt_tokens, row.output_tokens, arrival, tuple(pieces))
        )
    facts["trace"] = {
        "file": Path(cell["trace"]).name,
        "format": trace.format,
        "requests": len(requests),
        "skipped": dict(trace.skipped),
        "hashes": bool(trace.hash_block),
    }
    return requests


def _step(cell: Cell, seconds: float) -> int:
    return 0 if cell["arrivals"] == "saturated" else int(seconds * 1000 / cell["step_ms"])


def _samples(request: CapacityRequest, count: int) -> list[CapacityRequest]:
    """Each sample is a sequence of its own with the same prompt."""
    return [request] * count
