"""Counters for a made run: plain dictionaries put into what `run_factory` makes, by hand.

It imports nothing of blockmark either. The loads and misses of the native lookups and of
mixed allocation are those that callgrind 3.19 counted for such structures on an aged heap;
the rest is invented but has the right shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from run_factory import scalar

SIMULATED = {
    "asked": "auto",
    "source": "callgrind",
    "why_not_pmu": "this virtual machine shows no performance counters",
    "valgrind": "3.19.0",
    "i1": "32768,8,64",
    "d1": "32768,8,64",
    "ll": "33554432,16,64",
}
COUNTED = {"asked": "auto", "source": "pmu", "perf_event_paranoid": 2}

# operation: (instructions, loads, L1D misses) of a native loop.
_HASH_MAP = {
    "lookup_ordered": (38.0, 8.01, 1.125),
    "lookup_shuffled": (52.0, 13.0, 3.552),
    "lookup_chain_ordered": (39.0, 8.02, 1.126),
    "lookup_chain_shuffled": (53.0, 13.0, 3.551),
    "alloc_free_burst": (480.0, 108.0, 2.06),
    "alloc_free_interleaved": (520.0, 108.0, 4.64),
    "can_allocate": (12.0, 3.0, 0.0),
    "append": (61.0, 14.2, 1.31),
    "step": (24_310.0, 5_640.0, 391.2),
    "pack": (412_000.0, 98_300.0, 14_210.0),
    "fork_per_block": (190.0, 41.0, 1.9),
}
_VECTOR = {
    "lookup_ordered": (5.0, 1.01, 0.0667),
    "lookup_shuffled": (9.0, 3.01, 0.917),
    "lookup_chain_ordered": (6.0, 1.02, 0.0668),
    "lookup_chain_shuffled": (10.0, 3.02, 0.917),
    "alloc_free_burst": (60.0, 8.1, 0.33),
    "alloc_free_interleaved": (95.0, 15.3, 0.32),
    "can_allocate": (9.0, 2.0, 0.0),
    "append": (18.2, 4.2, 0.052),
    "step": (6_210.0, 1_904.0, 21.4),
    "pack": (31_400.0, 9_100.0, 1_046.0),
    "fork_per_block": (8.0, 2.2, 0.13),
}
_FLAT = {
    "lookup_ordered": (4.0, 1.0, 0.0314),
    "lookup_shuffled": (7.0, 3.0, 0.756),
    "lookup_chain_ordered": (5.0, 1.01, 0.0314),
    "lookup_chain_shuffled": (8.0, 3.01, 0.756),
    "alloc_free_burst": (58.0, 8.0, 0.144),
    "alloc_free_interleaved": (62.0, 8.2, 0.098),
    "can_allocate": (8.0, 2.0, 0.0),
    "append": (14.1, 3.6, 0.0312),
    "step": (5_120.0, 1_612.0, 9.31),
    "pack": (28_800.0, 8_470.0, 1_031.0),
    "fork_per_block": (7.0, 2.1, 0.11),
}
_NULL = {
    name: (instructions / 4.0, loads / 4.0, misses / 8.0)
    for name, (instructions, loads, misses) in _FLAT.items()
    if name not in ("pack", "fork_per_block")
}
_RAW = {name: _FLAT[name] for name in ("lookup_ordered", "lookup_shuffled", "pack")}
_SCHEMES = {
    "hash-map": _HASH_MAP,
    "vector": _VECTOR,
    "flat-stack": _FLAT,
    "open-hash+lru": _VECTOR,
    "null": _NULL,
    "raw-array": _RAW,
    "mine": _VECTOR,
}
# What an interpreter does for one instruction of the compiled structure.
_INTERPRETED = 45.0


def add_counters(
    run: dict[str, Any],
    facts: dict[str, Any] = SIMULATED,
    *,
    impls: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Give the measured cells of a made run counters from `facts["source"]`; returns the run.

    `impls` limits it to these. Simulated counts of managers that Python calls are above
    the empty loop; counts of a processor differ a little from round to round.
    """
    run["counters"] = dict(facts)
    schemes = {info["name"]: info["scheme"] for info in run["implementations"]}
    for cell in run["cells"]:
        scheme = _SCHEMES.get(schemes[cell["impl"]])
        if cell["status"] != "ok" or scheme is None:
            continue
        if impls is not None and cell["impl"] not in impls:
            continue
        native = cell["call_style"] == "native"
        net = not native and cell["kind"] == "manager"
        source = "callgrind-net" if net and facts["source"] == "callgrind" else facts["source"]
        rounds = run["rounds"] if source == "pmu" else 1
        for operation, (instructions, loads, misses) in scheme.items():
            scale = 1.0 if native else _INTERPRETED
            events = _events(instructions * scale, loads * scale, misses + (scale - 1) / 100)
            cell["metrics"] |= _metrics(operation, events, source, rounds)
    return run


def set_counter(cell: dict[str, Any], metric: str, value: float, source: str) -> None:
    """Give a cell one counter of that value."""
    unit = "share" if metric.endswith("_rate") else "ratio" if metric.endswith("_ipc") else "count"
    cell["metrics"][metric] = scalar([value], unit, source)


def lose_counter(cell: dict[str, Any], metric: str, reason: str) -> None:
    """Make one counter of a cell unavailable, as the probes do: it names no source then."""
    unit = "share" if metric.endswith("_rate") else "ratio" if metric.endswith("_ipc") else "count"
    cell["metrics"][metric] = {
        "value": None,
        "unit": unit,
        "source": "counter",
        "unavailable": reason,
    }


def _events(instructions: float, loads: float, misses: float) -> dict[str, float]:
    return {
        "instructions": instructions,
        "branches": instructions / 5.0,
        "branch_misses": instructions / 2_000.0,
        "l1d_loads": loads,
        "l1d_misses": misses,
        "l1d_stores": loads / 2.0,
        "l1d_store_misses": misses / 4.0,
        "ll_loads": misses,
        "ll_misses": 0.0,
    }


def _metrics(operation: str, events: dict[str, float], source: str, rounds: int) -> dict[str, Any]:
    found = {
        f"{operation}_{name}_per_op": scalar(_spread(value, rounds), "count", source)
        for name, value in events.items()
    }
    rates = {
        "l1d_miss_rate": ("l1d_misses", "l1d_loads"),
        "ll_miss_rate": ("ll_misses", "ll_loads"),
    }
    for name, (top, bottom) in rates.items():
        if events[bottom] > 0:
            rate = events[top] / events[bottom]
            found[f"{operation}_{name}"] = scalar([rate] * rounds, "share", source)
    if source == "pmu":
        cycles = events["instructions"] / 2.5
        found[f"{operation}_cycles_per_op"] = scalar(_spread(cycles, rounds), "count", source)
        found[f"{operation}_ipc"] = scalar([2.5] * rounds, "ratio", source)
    return found


def _spread(value: float, rounds: int) -> list[float]:
    return [value * (1.0 + 0.01 * place) for place in range(rounds)]
