"""A realistic run as the plain dictionary that a run file holds, made by hand.

It imports nothing of blockmark, so that a test of the reader does not lean on
the writer. The numbers are invented but have the right shape: two settings of
one scenario, native and Python tiers, controls, and every status a cell can
have. The same arguments always give the same dictionary.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

# name: (scheme, tier, kind, profile, id type, reuse order, call style, ns of a step at block 16)
_IMPLEMENTATIONS: dict[str, tuple[str, str, str, str, str, str, str, float]] = {
    "hash-map/py": ("hash-map", "py", "manager", "R", "object", "LIFO", "per-op", 88_000.0),
    "hash-map/cpp": ("hash-map", "cpp", "manager", "R", "int32", "LIFO", "native", 17_900.0),
    "vector/py": ("vector", "py", "manager", "R", "object", "LIFO", "per-op", 61_000.0),
    "vector/cpp": ("vector", "cpp", "manager", "R", "int32", "LIFO", "native", 1_520.0),
    "flat-stack/py": ("flat-stack", "py", "manager", "R", "uint16", "LIFO", "per-op", 74_000.0),
    "flat-stack/numpy": (
        ("flat-stack", "numpy", "manager", "R", "uint16", "LIFO", "per-step", 19_500.0)
    ),
    "flat-stack/cpp": ("flat-stack", "cpp", "manager", "R", "uint16", "LIFO", "native", 1_210.0),
    "flat-stack/cpp[call_style=per-op]": (
        ("flat-stack", "cpp", "manager", "R", "uint16", "LIFO", "per-op", 29_000.0)
    ),
    "open-hash+lru/cpp": ("open-hash+lru", "cpp", "manager", "RC", "int32", "FIFO", "native", 4e3),
    "null/py": ("null", "py", "control", "-", "none", "unspecified", "per-op", 24_000.0),
    "null/cpp": ("null", "cpp", "control", "-", "none", "unspecified", "native", 310.0),
    "raw-array/cpp": ("raw-array", "cpp", "control", "-", "uint16", "LIFO", "native", 0.0),
    "mine": ("mine", "", "manager", "R", "object", "LIFO", "per-op", 70_000.0),
    "prefix-tree": ("prefix-tree", "", "manager", "RC", "object", "FIFO", "per-op", 0.0),
}

# Cost of a metric as a share of the step's, so that the schemes keep their order.
_SHARES = {
    "lookup_ordered_ns": 0.0008,
    "lookup_shuffled_ns": 0.0009,
    "lookup_chain_ordered_ns": 0.0022,
    "lookup_chain_shuffled_ns": 0.0031,
    "alloc_free_burst_ns": 0.0018,
    "alloc_free_interleaved_ns": 0.0026,
    "can_allocate_ns": 0.0004,
    "append_ns": 0.0024,
    "take_ns": 0.0009,
    "give_ns": 0.0008,
    "pack_ns": 3.3,
    "pack_changed_ns": 0.9,
    "fork_per_block_ns": 0.0012,
    "cow_per_copy_ns": 0.004,
}
_RAW_ARRAY = {
    "lookup_ordered_ns": 0.4,
    "lookup_shuffled_ns": 0.6,
    "lookup_chain_ordered_ns": 2.1,
    "lookup_chain_shuffled_ns": 3.0,
    "alloc_free_burst_ns": 1.3,
    "alloc_free_interleaved_ns": 2.2,
    "take_ns": 0.7,
    "give_ns": 0.7,
    "pack_ns": 3_100.0,
}
_NOT_OK = {
    ("mine", 16): ("wrong", "step 12, operation 3104 (APPEND): block 7 belongs to two sequences"),
    ("mine", 1): ("failed", "round 2: the process was killed by signal 11"),
    ("open-hash+lru/cpp", 1): ("timeout", "round 1: no answer within 60 s"),
    ("prefix-tree", 16): ("unavailable", "it has no `fork`, which the step model needs"),
    ("prefix-tree", 1): ("unavailable", "it has no `fork`, which the step model needs"),
}
_PERMILLE = {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999}


def make_run(
    *,
    rounds: int = 5,
    slowdown: Mapping[str, float] | None = None,
    impls: tuple[str, ...] | None = None,
    noise_seed: int = 1,
    **changes: Any,
) -> dict[str, Any]:
    """The content of a `run.json`.

    `rounds` values stand behind each metric. `slowdown` maps an implementation to
    a factor on all its times. `impls` keeps only these. `noise_seed` changes the
    round-to-round noise and nothing else. Any other name replaces the top-level
    key of that name, such as `quick=True` or `machine={...}`.
    """
    names = tuple(_IMPLEMENTATIONS) if impls is None else impls
    factors = slowdown or {}
    run: dict[str, Any] = {
        "schema": "blockmark.run",
        "schema_version": 1,
        "blockmark_version": "0.1.0",
        "run_id": "0001",
        "created": "2026-11-29T12:00:00+00:00",
        "duration_s": 48.2,
        "command": "blockmark run decode",
        "complete": True,
        "quick": False,
        "seed": 1,
        "rounds": rounds,
        "machine": {
            "cpu_model": "AMD EPYC (Zen 3)",
            "cpu_family": 25,
            "cpu_stepping": 1,
            "arch": "x86_64",
            "cores": 2,
            "l1d_bytes": 32_768,
            "l2_bytes": 524_288,
            "l3_bytes": 33_554_432,
            "memory_bytes": 8_589_934_592,
            "kernel": "6.1.102",
            "virtual": "firecracker",
            "load_before": 0.42,
            "load_after": 1.37,
            "python": "3.11.7",
            "numpy": "2.4.6",
        },
        "build": {
            "native": True,
            "compiler": "g++ 12.2.0",
            "flags": "-O3 -falign-functions=64 -falign-loops=32",
            "cxx_standard": 20,
            "build_type": "Release",
        },
        "scenarios": [
            {
                "name": "decode",
                "title": "Steady decode",
                "analysis": "Sequences grow by one token a step; finished ones are replaced.",
                "digest": "5f1d0c",
            }
        ],
        "implementations": [_implementation(name) for name in names],
        "settings": [_setting(16), _setting(1)],
        "cells": [
            _cell(name, block_size, rounds, factors.get(name, 1.0), noise_seed)
            for block_size in (16, 1)
            for name in names
        ],
    }
    run.update(copy.deepcopy(changes))
    return run


def find_cell(run: dict[str, Any], impl: str, block_size: int = 16) -> dict[str, Any]:
    """The cell of that implementation in that setting, to read or to spoil."""
    for cell in run["cells"]:
        if cell["impl"] == impl and cell["params"]["block_size"] == block_size:
            found: dict[str, Any] = cell
            return found
    raise KeyError((impl, block_size))


def scalar(values: list[float], unit: str = "ns", source: str = "clock") -> dict[str, Any]:
    """A scalar metric with these per-round values; its interval is simply their range."""
    ordered = sorted(values)
    position = 0.25 * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    value = ordered[below] + (position - below) * (ordered[above] - ordered[below])
    return {
        "value": value,
        "unit": unit,
        "low": ordered[0] if len(ordered) > 1 else None,
        "high": ordered[-1] if len(ordered) > 1 else None,
        "rounds": len(ordered),
        "source": source,
        "values": list(values),
        "approximate": len(ordered) < 11,
    }


def _params(block_size: int) -> dict[str, Any]:
    return {"block_size": block_size, "total_blocks": 65_536, "concurrency": 256}


def _implementation(name: str) -> dict[str, Any]:
    scheme, tier, kind, profile, id_type, reuse_order, _, _ = _IMPLEMENTATIONS[name]
    return {
        "name": name,
        "scheme": scheme,
        "tier": tier,
        "kind": kind,
        "summary": f"{scheme}, as invented for a test",
        "profile": profile,
        "id_type": id_type,
        "reuse_order": reuse_order,
    }


def _setting(block_size: int) -> dict[str, Any]:
    taken = 256.0 / block_size
    return {
        "scenario": "decode",
        "params": _params(block_size),
        "facts": {
            "operations_per_step": {
                "append": 256.0,
                "lookup": 256.0,
                "blocks_taken": taken,
                "allocate": 0.25,
                "free": 0.25,
            },
            "operations_per_sequence_step": 2.0,
            "occupancy_p95": 0.74,
            "period_steps": 16 if block_size == 16 else 256,
            "program_digest": f"d{block_size:04d}",
        },
    }


def _cell(
    name: str, block_size: int, rounds: int, factor: float, noise_seed: int
) -> dict[str, Any]:
    _, tier, kind, _, _, _, call_style, step_ns = _IMPLEMENTATIONS[name]
    status, reason = _NOT_OK.get((name, block_size), ("ok", ""))
    cell: dict[str, Any] = {
        "scenario": "decode",
        "params": _params(block_size),
        "impl": name,
        "kind": kind,
        "call_style": call_style,
        "status": status,
        "verified": None,
        "metrics": {},
    }
    if status != "ok":
        cell["reason"] = reason
        return cell
    if kind == "manager":
        cell["verified"] = {"operations": 51_204, "steps": 100}
    noise = random.Random(f"{name} {block_size} {noise_seed}")
    if name == "raw-array/cpp":
        cell["metrics"] = {
            metric: scalar(_around(cost * factor, rounds, noise))
            for metric, cost in _RAW_ARRAY.items()
        }
        return cell
    step_ns *= factor * (1.0 if block_size == 16 else 1.6)
    cell["metrics"] = _metrics(name, tier, step_ns, rounds, noise)
    return cell


def _metrics(
    name: str, tier: str, step_ns: float, rounds: int, noise: random.Random
) -> dict[str, Any]:
    steps = _around(step_ns, rounds, noise)
    metrics: dict[str, Any] = {
        "step_ns": scalar(steps) | {"mean": step_ns * 1.25},
        "step_per_sequence_ns": scalar([step / 256 for step in steps], source="derived"),
        "step_latency_ns": _distribution(steps, 40 if tier == "cpp" else 4),
    }
    for metric, share in _SHARES.items():
        if name.startswith("null/") and metric.startswith(("pack", "fork", "cow")):
            continue
        metrics[metric] = scalar(_around(step_ns * share, rounds, noise))
    for metric, nanoseconds in (
        ("busy_share_estimated", 5e5),
        ("share_of_1ms_step", 1e6),
        ("share_of_10ms_step", 1e7),
        ("share_of_30ms_step", 3e7),
    ):
        metrics[metric] = scalar([step / nanoseconds for step in steps], "share", "derived")
    if "pack_ns" in metrics:
        packs = metrics["pack_ns"]["values"]
        metrics["busy_share_with_pack_estimated"] = scalar(
            [(step + pack) / 5e5 for step, pack in zip(steps, packs, strict=True)],
            "share",
            "derived",
        )
    allocations = 256.0 if name.startswith("hash-map") else 0.0
    if tier == "":
        metrics["heap_allocations_per_step"] = {
            "value": None,
            "unit": "count",
            "source": "count",
            "unavailable": "the allocations of a foreign extension are not seen",
        }
    else:
        metrics["heap_allocations_per_step"] = scalar([allocations] * rounds, "count", "count")
    metrics["table_bytes"] = scalar([131_072.0] * rounds, "bytes", "count")
    metrics["pool_bytes"] = scalar([393_216.0] * rounds, "bytes", "count")
    metrics["peak_rss_bytes"] = scalar(
        [41_000_000.0 + 4_096 * noise.randrange(50) for _ in range(rounds)], "bytes", "software"
    )
    metrics["pool_run_length"] = scalar([1.4] * rounds, "blocks", "count")
    metrics["minor_faults"] = scalar(
        [float(noise.randrange(3)) for _ in range(rounds)], "count", "software"
    )
    metrics["voluntary_switches"] = scalar([1.0] * rounds, "count", "software")
    metrics["involuntary_switches"] = scalar(
        [float(noise.randrange(9)) for _ in range(rounds)], "count", "software"
    )
    metrics["cpu_share_of_wall"] = scalar(
        [0.9 + 0.1 * noise.random() for _ in range(rounds)], "share", "software"
    )
    return metrics


def _around(cost: float, rounds: int, noise: random.Random) -> list[float]:
    """Round values above a floor: noise only ever makes a least block dearer."""
    return [cost * (1.0 + 0.02 * noise.expovariate(1.0)) for _ in range(rounds)]


def _distribution(steps: list[float], weight: int) -> dict[str, Any]:
    histograms = [_histogram(step, weight) for step in steps]
    quantiles: dict[str, Any] = {}
    for label, permille in _PERMILLE.items():
        samples = histograms[0]["samples"]
        if samples * (1000 - permille) < 10_000:
            needed = 10_000 // (1000 - permille)
            quantiles[label] = {
                "value": None,
                "unavailable": f"needs {needed} samples a round, had {samples}",
            }
        else:
            entry = scalar([_quantile(histogram, permille) for histogram in histograms])
            quantiles[label] = {
                key: entry[key] for key in ("value", "low", "high", "rounds", "values")
            }
    maxima = [float(histogram["max"]) for histogram in histograms]
    quantiles["max"] = {
        "value": max(maxima),
        "low": min(maxima) if len(maxima) > 1 else None,
        "high": max(maxima) if len(maxima) > 1 else None,
        "rounds": len(maxima),
        "values": maxima,
    }
    p50 = quantiles["p50"]
    return {
        "value": p50["value"],
        "unit": "ns",
        "low": p50["low"],
        "high": p50["high"],
        "rounds": p50["rounds"],
        "source": "clock",
        "values": p50["values"],
        "approximate": p50["rounds"] < 11,
        "quantiles": quantiles,
        "histograms": histograms,
    }


@functools.cache
def _shape() -> tuple[float, ...]:
    """A long-tailed latency as multiples of its cost: 500 points, equally likely."""
    normal = NormalDist()
    return tuple(
        1.05 * 2.718281828 ** (0.22 * normal.inv_cdf((point + 0.5) / 500)) for point in range(500)
    )


def _histogram(step_ns: float, weight: int) -> dict[str, Any]:
    counts: dict[int, int] = {}
    largest = 0
    for multiple in _shape():
        value = int(step_ns * multiple)
        exponent = max(0, value.bit_length() - 8)
        index = exponent * 128 + (value >> exponent)
        counts[index] = counts.get(index, 0) + weight
        largest = max(largest, value)
    return {
        "counts": [[index, counts[index]] for index in sorted(counts)],
        "max": largest,
        "samples": 500 * weight,
    }


def _quantile(histogram: dict[str, Any], permille: int) -> float:
    seen = 0
    for index, count in histogram["counts"]:
        seen += count
        if seen * 1000 >= permille * histogram["samples"]:
            exponent = max(0, index // 128 - 1)
            least = index if exponent == 0 else (index % 128 + 128) << exponent
            return float(least + ((1 << exponent) - 1) / 2)
    raise AssertionError("a quantile beyond the samples")
