"""Keys of the study of capacity: a memory budget, and how requests come."""

from __future__ import annotations

from blockmark.workload.keys.key import Key
from blockmark.workload.keys.study_keys import StudyKeys

_ONLY = ("capacity",)

# fmt: off
KEYS = StudyKeys(
    (
        Key("kv_memory",         "auto",      "memory for KV entries, such as 45GiB; auto: what gpu_memory x gpu_share leaves beside weights and activation_memory", text=True, workloads=_ONLY),
        # What an A100 of 80 GB shows as its memory.
        Key("gpu_memory",        "79.15GiB",  "memory of the accelerator", text=True, workloads=_ONLY),
        Key("gpu_share",         0.9,         "share of it that the engine takes", low=0.01, high=1.0, fraction=True, workloads=_ONLY),
        Key("activation_memory", "2GiB",      "memory for activations", text=True, workloads=_ONLY),
        Key("max_len",           2048,        "tokens of the longest request that the engine takes, where it reserves that much", "tokens", 1, 1 << 31, workloads=_ONLY),
        Key("max_new_tokens",    1024,        "tokens that a request may generate, where the engine reserves for it", "tokens", 1, 1 << 31, workloads=_ONLY),
        Key("arrivals",          "saturated", "all requests wait from the start, or come as in the trace or at arrival_rate", choices=("saturated", "timed"), workloads=_ONLY),
        Key("step_ms",           30.0,        "time of a step, by which arrivals are put into steps", "ms", 1e-3, 1e6, fraction=True, workloads=_ONLY),
    ),
    shared=(
        "model_shape", "prompt_tokens", "output_tokens", "requests", "arrival_rate",
        "arrival_cv", "parallel_samples", "shared_prefix_tokens", "shared_prefix_fraction",
        "trace", "trace_format", "trace_speedup", "trace_limit", "trace_window", "seed",
    ),
)
# fmt: on
