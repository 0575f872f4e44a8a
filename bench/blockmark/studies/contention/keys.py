"""Keys of the study of contention: who shares the pool, and how busy each is."""

from __future__ import annotations

from blockmark.workload.keys.key import Key
from blockmark.workload.keys.study_keys import StudyKeys

_OWN = ("contention",)

# fmt: off
KEYS = StudyKeys(
    rows=(
        Key("threads",         2,    "threads that run at once", "", 1, 1 << 20, workloads=_OWN),
        Key("coroutines",      0,    "coroutines of one event loop; 0 = threads instead", "", 0, 1 << 20, workloads=_OWN),
        Key("think_ns",        0,    "time that a thread is busy with something else while it holds its blocks", "ns", 0, 100_000_000, workloads=_OWN),
        Key("request_rate",    0.0,  "requests that arrive in a second, over all threads; 0 = as fast as they can", "1/s", 0, 1e8, fraction=True, workloads=_OWN),
        Key("stretch_seconds", 0.15, "length of the stretch that has all disturbances in it", "s", 0.01, 600, fraction=True, workloads=_OWN),
    ),
    shared=("total_blocks", "block_size", "batch", "seed"),
)
# fmt: on
