"""Capacity: shares of a memory budget, requests at once, and what it takes to keep the books.

Means are over scheduler steps: of a saturated load those in which a request waits, else
those in which one runs. The five shares of the memory add up to one.
"""

from __future__ import annotations

from blockmark.runs.metrics.row import Direction, Metric

_STEPS = "over the steps that count"


def _share(name: str, direction: Direction | None, formula: str, meaning: str) -> Metric:
    return Metric(name, "share", "capacity", "count", direction, formula, meaning, "simulation")


def _count(name: str, direction: Direction | None, formula: str, meaning: str) -> Metric:
    return Metric(name, "count", "capacity", "count", direction, formula, meaning, "simulation")


ROWS = (
    _share(
        "memory_utilisation",
        "higher",
        f"tokens written (shared ones once) / tokens of the memory, {_STEPS}",
        "How much of the memory holds something",
    ),
    _share(
        "reserved_share",
        None,
        f"tokens held that their request will write / tokens of the memory, {_STEPS}",
        "Memory that waits for a request to grow into it",
    ),
    _share(
        "internal_waste_share",
        "lower",
        f"tokens held that nothing is written to, or not yet in a last block / tokens of the "
        f"memory, {_STEPS}",
        "Internal fragmentation",
    ),
    _share(
        "external_waste_share",
        "lower",
        f"free tokens, where they would do for the request at the head of the queue but no hole "
        f"does / tokens of the memory, {_STEPS}",
        "External fragmentation",
    ),
    _share(
        "free_share",
        None,
        f"other free tokens / tokens of the memory, {_STEPS}",
        "Memory that is free and too little for the next request, or that none asks for",
    ),
    _share(
        "logical_tokens_share",
        "higher",
        f"tokens of running requests, shared ones for each / tokens of the memory, {_STEPS}",
        "What the memory is worth to the requests; above one where much is shared",
    ),
    _share(
        "blocked_steps_share",
        "lower",
        "steps with room for the next request in all but in no hole / steps that count",
        "How often holes keep a request waiting",
    ),
    _count(
        "concurrent_requests_mean",
        "higher",
        f"running requests, mean {_STEPS}",
        "Requests served at once",
    ),
    _count(
        "concurrent_requests_peak",
        "higher",
        f"running requests, most {_STEPS}",
        "Requests served at once, at the best moment",
    ),
    _share(
        "shared_saving_share",
        "higher",
        f"blocks that running requests have in common, but for one of each / blocks without "
        f"sharing, {_STEPS}",
        "Memory saved by sharing among requests that run at once; not hits in a cache",
    ),
    _count(
        "preemptions_per_1000_requests",
        "lower",
        "1,000 x requests that had to give way / requests served",
        "How often memory was given out that was not there later",
    ),
    _share(
        "recomputed_tokens_share",
        "lower",
        "tokens computed again after giving way / tokens computed",
        "What giving way costs in work",
    ),
    _count(
        "requests_not_served",
        "lower",
        "requests that the policy can never hold",
        "Requests turned away: longer than a slot, or than the memory",
    ),
    _count(
        "steps_to_finish",
        "lower",
        "steps from the first request to the end of the last",
        "Time that the whole load takes, in steps",
    ),
    Metric(
        "block_table_bytes_mean",
        "bytes",
        "capacity",
        "bytes",
        "lower",
        f"4 bytes x entries of all block tables, mean {_STEPS}",
        "Memory of the block tables; none where requests lie in one piece",
        "simulation",
    ),
    Metric(
        "block_table_bytes_peak",
        "bytes",
        "capacity",
        "bytes",
        "lower",
        f"4 bytes x entries of all block tables, most {_STEPS}",
        "Memory of the block tables, at the worst moment",
        "simulation",
    ),
)
