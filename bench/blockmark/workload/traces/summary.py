"""What a trace holds, in numbers, before one spends time on it.

Memory: counts of distinct lengths (1.8 MB for a trace of 1.4 million rows; see
`Distribution` for the bound), and for traces with hash ids about 100 bytes for each
distinct id, since the cache that is counted against has no bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from blockmark.workload.errors import ConfigError

from .hashes import chained, split_or_merge
from .quantiles import Distribution

if TYPE_CHECKING:
    from .request import Request
    from .trace import Trace

RESERVATIONS = (4096, 8192, 32768)


def summarise(trace: Trace, block_size: int) -> dict[str, Any]:
    """Read a trace through; plain numbers for JSON, with None for what it has not.

    `arrivals`: duration, rate and CV of the gaps. `prompt_tokens`, `output_tokens`,
    `blocks_per_request` (of prompt and output): mean and quantiles. `last_block_waste`:
    share of the tokens of all blocks that is never filled. `reservations`: the same
    where each request gets so many tokens in one piece, among the requests that `fit`.
    `sharing`: see `Sharing.summary`. `stopped`: why reading ended early, if it did; what was
    read until then is counted. Raises ConfigError if nothing was read, and where the
    trace's hash ids do not go with the block size.
    """
    trace.check_block_size(block_size)
    lengths = _Lengths(block_size)
    gaps = _Gaps()
    sharing = Sharing(trace.hash_block, block_size) if trace.hash_block else None
    stopped = None
    try:
        for request in trace:
            lengths.add(request)
            if request.arrival_s is not None:
                gaps.add(request.arrival_s)
            if sharing is not None:
                sharing.add(request)
    except ConfigError as error:
        if not trace.requests:
            raise
        stopped = str(error)
    return {
        "file": trace.path,
        "format": trace.format,
        "title": trace.form.title,
        "block_size": block_size,
        "limit": trace.limit,
        "window": _window(trace),
        "speedup": trace.speedup,
        "rows": trace.rows,
        "requests": trace.requests,
        "skipped": dict(trace.skipped),
        "out_of_order": trace.out_of_order,
        "furthest_back_s": trace.furthest_back_s,
        "equal_stamps": trace.equal_stamps,
        "repeated_ids": trace.repeated_ids,
        "odd_id_counts": trace.odd_id_counts,
        "ignored_columns": list(trace.ignored),
        "oddities": trace.oddities(),
        "arrivals": gaps.summary() if trace.has_arrivals else None,
        **lengths.summary(),
        "sharing": None if sharing is None else sharing.summary(),
        "stopped": stopped,
    }


def _window(trace: Trace) -> list[float | None] | None:
    if trace.window is None:
        return None
    start, end = trace.window
    return [start, None if math.isinf(end) else end]


class _Lengths:
    """Tokens and blocks of requests."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._prompts = Distribution()
        self._outputs = Distribution()
        self._blocks = Distribution()
        self._fitting = {size: [0, 0] for size in RESERVATIONS}  # requests, their tokens

    def add(self, request: Request) -> None:
        tokens = request.prompt_tokens + request.output_tokens
        self._prompts.add(request.prompt_tokens)
        self._outputs.add(request.output_tokens)
        self._blocks.add(-(-tokens // self._block_size))
        for size, fitting in self._fitting.items():
            if tokens <= size:
                fitting[0] += 1
                fitting[1] += tokens

    def summary(self) -> dict[str, Any]:
        tokens = self._prompts.total + self._outputs.total
        return {
            "prompt_tokens": self._prompts.summary(),
            "output_tokens": self._outputs.summary(),
            "blocks_per_request": self._blocks.summary(),
            "quantiles_exact": self._prompts.exact and self._outputs.exact and self._blocks.exact,
            "last_block_waste": 1 - tokens / (self._blocks.total * self._block_size),
            "reservations": [
                {
                    "tokens": size,
                    "fit": requests,
                    "waste": 1 - used / (size * requests) if requests else None,
                }
                for size, (requests, used) in self._fitting.items()
            ],
        }


class _Gaps:
    """Rate, and how unevenly requests come (Welford's mean and variance of the gaps)."""

    def __init__(self) -> None:
        self._first = self._last = 0.0
        self._count = -1
        self._mean = self._squares = 0.0

    def add(self, arrival_s: float) -> None:
        self._count += 1
        if self._count == 0:
            self._first = self._last = arrival_s
            return
        gap, self._last = arrival_s - self._last, arrival_s
        step = gap - self._mean
        self._mean += step / self._count
        self._squares += step * (gap - self._mean)

    def summary(self) -> dict[str, float | None]:
        """Of n requests: `rate_per_s` is n - 1 gaps over the time between first and last."""
        spread = math.sqrt(max(0.0, self._squares) / max(1, self._count))
        duration = self._last - self._first
        return {
            "duration_s": duration,
            "rate_per_s": self._count / duration if duration > 0 else None,
            "gap_cv": spread / self._mean if self._mean > 0 else None,
        }


class Sharing:
    """Hits of a prefix cache that forgets nothing, requests taken one after another."""

    def __init__(self, hash_block: int, block_size: int) -> None:
        self._split, self._merged = split_or_merge(hash_block, block_size)
        self._hash_block = hash_block
        self._block_size = block_size
        # Chained id -> blocks of it that were filled. Those of a shorter prompt are the
        # first of a longer one's, so their number says which are known.
        self._filled: dict[int, int] = {}
        self._merged_seen: set[int] = set()
        self._ids = self._id_hits = 0
        self._blocks = self._block_hits = self._all_blocks = self._short = 0

    def add(self, request: Request) -> None:
        """One request: look up the blocks of its prompt, then keep them."""
        chain = chained(request.hash_ids)
        full = request.prompt_tokens // self._block_size
        self._blocks += full
        self._short += not full
        self._all_blocks += (request.prompt_tokens + request.output_tokens) // self._block_size
        self._ids += len(chain)
        filled, split = self._filled, self._split
        for position, link in enumerate(chain):
            own = min(split, max(0, full - position * split)) if self._merged == 1 else 0
            known = filled.get(link)
            if known is not None:
                self._id_hits += 1
                self._block_hits += min(known, own)
            if known is None or own > known:
                filled[link] = own
        if self._merged > 1:
            blocks = chain[self._merged - 1 :: self._merged][:full]
            self._block_hits += sum(block in self._merged_seen for block in blocks)
            self._merged_seen.update(blocks)

    def summary(self) -> dict[str, int | float | None]:
        """Hits by the trace's own ids (`id_*`, the unfilled last ones too) and by block.

        `block_share` is of the full blocks of prompts; `block_share_with_output` of
        the full blocks of prompts and outputs, which are never known before.
        `short_prompts` fill no block, so they can't hit.
        """
        return {
            "hash_block": self._hash_block,
            "id_references": self._ids,
            "id_hits": self._id_hits,
            "id_share": _share(self._id_hits, self._ids),
            "distinct_ids": len(self._filled),
            "block_references": self._blocks,
            "block_hits": self._block_hits,
            "block_share": _share(self._block_hits, self._blocks),
            "short_prompts": self._short,
            "blocks_with_output": self._all_blocks,
            "block_share_with_output": _share(self._block_hits, self._all_blocks),
        }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
