"""Runs with paced loops, of the same make as `run_factory`, with shares by plain arithmetic.

An implementation's step takes so many nanoseconds in a paced loop and packing so many
more; its busy share is that x rate, and where that is more than a core the loop is
saturated: it reaches 1e9 / step ns steps a second, and its share is 0.98.
"""

from __future__ import annotations

import copy
from typing import Any

from run_factory import _IMPLEMENTATIONS, _distribution, _implementation, make_run, scalar

RATES = (500, 2_000, 10_000, 50_000)
# name: ns of a step back to back, in a paced loop, and of packing.
COSTS: dict[str, tuple[float, float, float | None]] = {
    "hash-map/cpp": (7_900.0, 9_600.0, 126_000.0),
    "vector/cpp": (760.0, 1_450.0, 3_920.0),
    "flat-stack/cpp": (610.0, 1_070.0, 3_150.0),
    "null/cpp": (164.0, 240.0, None),
    "vector/py": (47_400.0, 52_000.0, 547_000.0),
    "flat-stack/cpp[call_style=per-step]": (3_280.0, 4_100.0, 3_940.0),
    "null/py": (14_800.0, 16_000.0, None),
}
_STYLES = {"flat-stack/cpp[call_style=per-step]": "per-step"}
_PACING_CPU = {"spin": 0.998, "hybrid": 0.073, "sleep": 0.052}


def make_rate_run(
    rates: tuple[float, ...] = RATES,
    *,
    impls: tuple[str, ...] = tuple(COSTS),
    pacing: str = "spin",
    between: str = "stream",
    second_axis: tuple[str, tuple[Any, ...]] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """A run of `step-rate` with a setting for each rate, in their order.

    A `second_axis` (name, values) makes a product. All rounds agree, so that every
    printed value is known. Other names replace top-level keys.
    """
    run = make_run(impls=())
    run["scenarios"][0] |= {"name": "step-rate", "title": "Share of a core over the step rate"}
    run["command"] = "blockmark run step-rate"
    run["implementations"] = [_info(name) for name in impls]
    run["settings"], run["cells"] = [], []
    axis, values = second_axis or ("block_size", (16,))
    for value in values:
        for rate in rates:
            params = {
                "block_size": 16,
                "total_blocks": 65_536,
                "concurrency": 256,
                "step_rate": rate,
                "pacing": pacing,
                "rate_seconds": 0.5,
                "between": between,
            } | {axis: value}
            if between == "stream":
                params["between_bytes"] = 4 * 2**20
            run["settings"].append({"scenario": "step-rate", "params": params, "facts": {}})
            run["cells"] += [_cell(name, params) for name in impls]
    run.update(copy.deepcopy(changes))
    return run


def rate_cell(run: dict[str, Any], impl: str, rate: float) -> dict[str, Any]:
    """The first cell of that implementation at that rate, to read or to spoil."""
    for cell in run["cells"]:
        if cell["impl"] == impl and cell["params"]["step_rate"] == rate:
            found: dict[str, Any] = cell
            return found
    raise KeyError((impl, rate))


def unavailable(unit: str, source: str, reason: str) -> dict[str, Any]:
    """A metric that could not be taken."""
    return {"value": None, "unit": unit, "source": source, "unavailable": reason}


def _info(name: str) -> dict[str, Any]:
    if name in _IMPLEMENTATIONS:
        return _implementation(name)
    return _implementation(name.partition("[")[0]) | {"name": name}


def _cell(name: str, params: dict[str, Any]) -> dict[str, Any]:
    base = name if name in _IMPLEMENTATIONS else name.partition("[")[0]
    kind, call_style = _IMPLEMENTATIONS[base][2], _IMPLEMENTATIONS[base][6]
    return {
        "scenario": "step-rate",
        "params": params,
        "impl": name,
        "kind": kind,
        "call_style": _STYLES.get(name, call_style),
        "status": "ok",
        "verified": {"operations": 51_204, "steps": 100} if kind == "manager" else None,
        "metrics": _metrics(name, params, python=call_style != "native" or name in _STYLES),
    }


def _metrics(name: str, params: dict[str, Any], *, python: bool) -> dict[str, Any]:
    hot, step, pack = COSTS[name]
    rate = float(params["step_rate"])
    full = 1e9 / step
    saturated = rate > full
    cpu = _PACING_CPU[params["pacing"]]
    whole = step * rate / 1e9 + (0.0 if params["pacing"] == "spin" else cpu)
    metrics = {
        "step_ns": _same(hot, "ns", "clock"),
        "busy_share_estimated": _same(hot * rate / 1e9, "share", "derived"),
        "busy_share": _same(0.98 if saturated else step * rate / 1e9, "share", "clock"),
        "noop_busy_share": _same(24.0 * rate / 1e9, "share", "clock"),
        "thread_cpu_share": _same(
            max(cpu, min(whole, 0.998)) if not saturated else 0.998, "share", "software"
        ),
        "noop_cpu_share": _same(cpu, "share", "software"),
        "psutil_cpu_share": unavailable(
            "share",
            "software",
            "psutil counts in steps of 10 ms; set rate_seconds to at least 10",
        ),
        "lateness_ns": _distribution([90.0] * 5, 4),
        "paced_latency_ns": _distribution([step + 90.0] * 5, 4),
        "missed_deadlines": _same(float(rate > full) * rate, "count", "count"),
        "achieved_rate": _same(min(rate, full), "1/s", "clock"),
        "highest_rate": _same(full, "1/s", "clock"),
    }
    if name == "flat-stack/cpp":
        metrics["busy_share_by_operations"] = _same(9.0 * 256 * rate / 1e9, "share", "derived")
    if pack is not None:
        whole = (step + pack) * rate / 1e9
        metrics["busy_share_with_pack"] = (
            _same(whole, "share", "clock")
            if whole < 1.0
            else unavailable(
                "share", "clock", f"saturated with packing: {rate / whole:,.0f} of {rate:,.0f}"
            )
        )
        if not python:
            metrics["copy_share"] = _same(min(0.5, 2_600.0 * rate / 1e9), "share", "clock")
    if params["between"] == "stream":
        metrics["streamed_bytes"] = _same(float(params["between_bytes"]), "bytes", "count")
    if python:
        metrics["gc_collections"] = _same(2.0, "count", "count")
        metrics["gc_pause_share"] = _same(0.00125, "share", "clock")
        metrics["gc_longest_pause_ns"] = _same(412_000.0, "ns", "clock")
    return metrics


def _same(value: float, unit: str, source: str) -> dict[str, Any]:
    return scalar([value] * 5, unit, source)
