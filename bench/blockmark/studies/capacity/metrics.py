"""Capacity: shares of a memory budget, requests at once, and what it takes to keep the books.

Means are over scheduler steps: of a saturated load those in which a request waits, else
those in which one runs. The five shares of the memory add up to one.
"""

from __future__ import annotations

from blockmark.runs.metrics.row import Metric

_MODEL = "capacity"
# fmt: off
ROWS = (
    #      name, label, unit, model, kind, direction, source, formula, meaning
    Metric("memory_utilisation",            "used",                "share", _MODEL, "count", "higher", "simulation", "tokens written (shared ones once) / tokens of the memory, over the steps that count", "How much of the memory holds something"),
    Metric("reserved_share",                "reserved",            "share", _MODEL, "count", None,     "simulation", "tokens held that their request will write / tokens of the memory, over the steps that count", "Memory that waits for a request to grow into it"),
    Metric("internal_waste_share",          "lost inside",         "share", _MODEL, "count", "lower",  "simulation", "tokens held that nothing is written to, or not yet in a last block / tokens of the memory, over the steps that count", "Internal fragmentation"),
    Metric("external_waste_share",          "lost in holes",       "share", _MODEL, "count", "lower",  "simulation", "free tokens, where they would do for the request at the head of the queue but no hole does / tokens of the memory, over the steps that count", "External fragmentation"),
    Metric("free_share",                    "free",                "share", _MODEL, "count", None,     "simulation", "other free tokens / tokens of the memory, over the steps that count", "Memory that is free and too little for the next request, or that none asks for"),
    Metric("logical_tokens_share",          "logical",             "share", _MODEL, "count", "higher", "simulation", "tokens of running requests, shared ones for each / tokens of the memory, over the steps that count", "What the memory is worth to the requests; above one where much is shared"),
    Metric("blocked_steps_share",           "blocked by holes",    "share", _MODEL, "count", "lower",  "simulation", "steps with room for the next request in all but in no hole / steps that count", "How often holes keep a request waiting"),
    Metric("concurrent_requests_mean",      "at once",             "count", _MODEL, "count", "higher", "simulation", "running requests, mean over the steps that count", "Requests served at once"),
    Metric("concurrent_requests_peak",      "peak",                "count", _MODEL, "count", "higher", "simulation", "running requests, most over the steps that count", "Requests served at once, at the best moment"),
    Metric("shared_saving_share",           "saved by sharing",    "share", _MODEL, "count", "higher", "simulation", "blocks that running requests have in common, but for one of each / blocks without sharing, over the steps that count", "Memory saved by sharing among requests that run at once; not hits in a cache"),
    Metric("preemptions_per_1000_requests", "preempted per 1,000", "count", _MODEL, "count", "lower",  "simulation", "1,000 x requests that had to give way / requests served", "How often memory was given out that was not there later"),
    Metric("recomputed_tokens_share",       "recomputed",          "share", _MODEL, "count", "lower",  "simulation", "tokens computed again after giving way / tokens computed", "What giving way costs in work"),
    Metric("requests_not_served",           "not served",          "count", _MODEL, "count", "lower",  "simulation", "requests that the policy can never hold", "Requests turned away: longer than a slot, or than the memory"),
    Metric("steps_to_finish",               "steps to finish",     "count", _MODEL, "count", "lower",  "simulation", "steps from the first request to the end of the last", "Time that the whole load takes, in steps"),
    Metric("block_table_bytes_mean",        "tables",              "bytes", _MODEL, "bytes", "lower",  "simulation", "4 bytes x entries of all block tables, mean over the steps that count", "Memory of the block tables; none where requests lie in one piece"),
    Metric("block_table_bytes_peak",        "tables, peak",        "bytes", _MODEL, "bytes", "lower",  "simulation", "4 bytes x entries of all block tables, most over the steps that count", "Memory of the block tables, at the worst moment"),
)
# fmt: on
