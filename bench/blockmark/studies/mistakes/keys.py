"""Keys of the study of known mistakes."""

from __future__ import annotations

from blockmark.workload.keys.key import Key
from blockmark.workload.keys.study_keys import StudyKeys

_OWN = ("mistakes",)

# fmt: off
KEYS = StudyKeys(
    (
        Key("payload_bytes",    0,      "bytes that a copy of a block moves on the CPU, really copied", "bytes", 0, 1 << 28, workloads=_OWN),
        Key("sharers",          1,      "continuations of each prompt, whose last block they share", "sequences", 1, 64, workloads=_OWN),
        Key("context_tokens",   1024,   "tokens that a GPU step reads for each sequence; an input of the model", "tokens", 1, 1 << 31, workloads=_OWN),
        Key("weight_gigabytes", 26.03,  "weights that a GPU step reads, in 10^9 bytes; an input of the model", "GB", 1e-3, 1e6, fraction=True, workloads=_OWN),
        Key("gpu_bandwidth",    1940.0, "what the GPU reads and writes in a second, in 10^9 bytes; an input of the model", "GB/s", 1e-3, 1e6, fraction=True, workloads=_OWN),
        Key("calls_per_copy",   0,      "copies on the GPU that are started for one block; 0: all of a step in one kernel", "calls", 0, 1 << 20, workloads=_OWN),
    ),
    shared=(
        "total_blocks", "block_size", "max_blocks_per_seq", "concurrency", "occupancy",
        "model_shape", "copy_call_ns", "copy_bandwidth", "seed",
    ),
)
# fmt: on
