"""Runs of many settings and of other workloads than decode, of the same make as `run_factory`."""

from __future__ import annotations

import copy
from typing import Any

from run_factory import _IMPLEMENTATIONS, _cell, _setting, make_run, scalar

# Where a scheme's cost goes along an axis: cost = step_ns x size ** exponent.
_EXPONENTS = {"hash-map": 0.3, "vector": 0.08, "flat-stack": 0.02, "open-hash+lru": 0.12}
_TOO_LARGE = (
    "it would take about {} GiB, more than half of this machine's memory (11.8 GiB); lower "
    "total_blocks, concurrency or max_blocks_per_seq"
)


def make_swept_run(
    axis: str = "total_blocks",
    values: tuple[Any, ...] = (1024, 4096, 16_384, 65_536, 262_144, 1_048_576),
    *,
    scenario: str = "scale-pool",
    impls: tuple[str, ...] | None = None,
    rounds: int = 5,
    refused: tuple[Any, ...] = (),
    second_axis: tuple[str, tuple[Any, ...]] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """A run of one scenario with a setting for each of `values`, in their order.

    The costs of a scheme rise with a power of the value's place among them. Settings of
    `refused` values were never tried. A `second_axis` (name, values) makes a product.
    `impls` and `changes` are those of `make_run`.
    """
    names = tuple(_IMPLEMENTATIONS) if impls is None else impls
    run = make_run(rounds=rounds, impls=names)
    other, others = second_axis or ("", (None,))
    run["scenarios"][0] |= {"name": scenario, "title": f"Over {axis}"}
    run["command"] = f"blockmark run {scenario}"
    run["settings"], run["cells"] = [], []
    for place, value in enumerate(values):
        for further in others:
            setting = _setting(16)
            setting["scenario"] = scenario
            more = {axis: value} | ({other: further} if other else {})
            params = {
                "block_size": 16,
                "total_blocks": 1_048_576,
                "concurrency": 256,
                "max_blocks_per_seq": 256,
                "step_rate": 2000,
            }
            setting["params"] = params | more
            if value in refused:
                setting["facts"] = {}
            run["settings"].append(setting)
            for name in names:
                cell = _swept_cell(name, place, rounds)
                if value in refused:
                    reason = _TOO_LARGE.format(12.5 * (place + 1))
                    cell |= {"status": "unavailable", "reason": reason, "metrics": {}}
                    cell["verified"] = None
                run["cells"].append(cell | {"scenario": scenario, "params": params | more})
    run.update(copy.deepcopy(changes))
    return run


def _swept_cell(name: str, place: int, rounds: int) -> dict[str, Any]:
    scheme, tier, kind = _IMPLEMENTATIONS[name][:3]
    factor = float(4**place) ** _EXPONENTS.get(scheme, 0.0)
    cell = _cell(name, 16, rounds, factor, place)
    if cell["metrics"] and kind == "manager" and tier:
        size = 131_072.0 * (2**place if scheme == "flat-stack" else 1.5**place)
        cell["metrics"]["table_bytes"] = scalar([size] * rounds, "bytes", "count")
        cell["metrics"]["move_descriptors"] = scalar([134.0] * rounds, "count", "count")
    return cell


# Facts as each workload writes them, beside those of every load.
WORKLOAD_FACTS: dict[str, dict[str, Any]] = {
    "beam": {
        "forks_per_step": 12.5,
        "copies_per_step": 8.25,
        "copy_bytes_per_step": 8.25 * 2**21,
        "shared_blocks_share": 0.62,
        "running_mean": 256.0,
    },
    "parallel-sampling": {
        "forks_per_step": 0.75,
        "copies_per_step": 0.5,
        "copy_bytes_per_step": 2.0**20,
        "shared_blocks_share": 0.4,
    },
    "speculative": {"tokens_rejected_share": 0.375, "blocks_given_back_per_step": 3.5},
    "sliding-window": {"blocks_dropped_per_step": 16.0},
    "serving": {
        "prefill_chunks": 9_100,
        "requests": {
            "arrived": 8_819,
            "finished": 8_700,
            "rejected": 119,
            "preempted_recompute": 12,
            "preempted_swap": 0,
            "swapped_blocks": 0,
            "waiting_steps_p50": 0.0,
            "waiting_steps_p99": 34.0,
            "waiting_s_p50": 0.0,
            "waiting_s_p99": 1.13,
        },
        "cache": {
            "prompt_tokens": 18_059_000,
            "hit_tokens": 4_785_635,
            "hit_share": 0.265,
            "blocks_shared_live": 1_204,
            "blocks_revived": 30_112,
            "readmission_hit_tokens": 512,
            "evicted_blocks": 28_000,
        },
        "trace": {
            "file": "code.csv",
            "format": "azure",
            "requests": 8_819,
            "skipped": {"zero tokens": 17, "prompt too long": 3},
            "speedup": 10.0,
        },
        "scheduler_notes": ["a budget of 8,192 tokens a step was never reached"],
    },
}


def make_workload_run(
    workload: str, block_sizes: tuple[int, ...] = (16,), **facts: Any
) -> dict[str, Any]:
    """A run of another workload than decode, with a setting for each block size.

    `facts` replace those of that name; None takes one away.
    """
    names = ("hash-map/cpp", "vector/cpp", "flat-stack/cpp", "null/cpp", "vector/py")
    run = make_swept_run("block_size", block_sizes, scenario=workload, impls=names)
    for part in (*run["settings"], *run["cells"]):
        part["params"] |= {"workload": workload, "pool": "fresh", "heap": "aged", "cache": "hot"}
    for setting in run["settings"]:
        told = {"workload": workload, **copy.deepcopy(WORKLOAD_FACTS[workload]), **facts}
        setting["facts"] |= {name: value for name, value in told.items() if value is not None}
    return run
