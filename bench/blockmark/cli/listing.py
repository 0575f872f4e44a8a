"""`blockmark list`: what there is to run and to read."""

from __future__ import annotations

from typing import Annotated

import typer

_WHAT = ("impls", "scenarios", "metrics", "keys")


def command(
    what: Annotated[str, typer.Argument(metavar="|".join(_WHAT))],
) -> int:
    """List implementations, scenarios, metrics or keys."""
    if what not in _WHAT:
        raise typer.BadParameter(f"list {what}: must be one of {', '.join(_WHAT)}")
    for line in {"impls": _impls, "scenarios": _scenarios, "metrics": _metrics, "keys": _keys}[
        what
    ]():
        typer.echo(line)
    return 0


def _impls() -> list[str]:
    from blockmark_impls.registry import (
        builtin_names,
        more_names,
        pair_names,
        plugin_names,
        resolve,
    )

    lines = []
    for name in [*builtin_names(), *pair_names(), *plugin_names(), *more_names()]:
        impl = resolve(name)[0]
        missing = f"  [unavailable: {impl.unavailable}]" if impl.unavailable else ""
        # What is no manager says what it is, since it runs in scenarios of its own alone.
        kind = "" if impl.kind in ("manager", "control") else f"{impl.kind.replace('-', ' ')}: "
        lines.append(f"{name:22}  {kind}{impl.summary}{missing}")
    return lines


def _scenarios() -> list[str]:
    from blockmark.workload.builtin import builtin_names, find_scenario

    return [f"{name:20}  {find_scenario(name).title}" for name in builtin_names()]


def _metrics() -> list[str]:
    from blockmark.report.counter_source import operations, parts_of
    from blockmark.runs.metrics import METRICS
    from blockmark.runs.metrics.counters import COUNTERS

    rows = [
        (metric.name, metric.unit, metric.model, metric.formula)
        for metric in METRICS.values()
        if parts_of(metric.name) is None
    ]
    # Each operation has each counter: a line for all of their names would be a wall.
    rows += [
        (
            f"OPERATION_{counter.name}",
            counter.unit,
            "counters",
            f"{counter.top} / {counter.bottom or 'what OPERATION_ns is divided by'}",
        )
        for counter in COUNTERS
    ]
    lines = [f"{name:33} {unit:6} {model:12} {formula}" for name, unit, model, formula in rows]
    return [*lines, f"OPERATION is one of {', '.join(operations())}"]


def _keys() -> list[str]:
    from blockmark.workload.keys import KEYS

    lines = []
    for key in KEYS.values():
        if key.choices:
            values = " ".join(str(choice) for choice in key.choices)
        elif key.text:
            values = "text"
        else:
            values = f"{key.low:,.10g} to {key.high:,.10g} {key.unit}".rstrip()
        if key.spread:
            values += ", or a distribution such as lognormal:median=512,p99=4096"
        default = "chosen from the load" if key.default is None else _shown(key.default) or "none"
        names = (*key.workloads, *(f"models = {model}" for model in key.models))
        readers = f" [{', '.join(names)}]" if names else ""
        lines.append(f"{key.name:22} {key.meaning}; {values} [default: {default}]{readers}")
    return lines


def _shown(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
