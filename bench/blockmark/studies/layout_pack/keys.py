"""Keys of the study of forms of a packed batch, and of the model of their transfer."""

from __future__ import annotations

from blockmark.workload.keys.key import Key
from blockmark.workload.keys.study_keys import StudyKeys

_OWN = ("layout-pack",)

# fmt: off
KEYS = StudyKeys(
    (
        Key("row_blocks",     64,     "blocks of a row on average; rows have half to one and a half of it", "blocks", 1, 1 << 16, workloads=_OWN),
        Key("dirty_share",    0.0625, "share of the rows that changed since the last step", low=0.0, high=1.0, fraction=True, workloads=_OWN),
        Key("copy_call_ns",   6000.0, "what starting one copy to the device takes; an input of the model", "ns", 0.0, 1e9, fraction=True, workloads=_OWN),
        Key("copy_bandwidth", 25.0,   "bytes that a copy to the device moves in a ns (GB/s); an input of the model", "GB/s", 1e-3, 1e6, fraction=True, workloads=_OWN),
    ),
    shared=("concurrency", "max_blocks_per_seq", "seed"),
)
# fmt: on
