"""A run as OpenMetrics text, for the textfile collector of Prometheus' node exporter.

The text keeps to what both readers take: OpenMetrics 1.0, and the older Prometheus format
that the textfile collector parses, for which `# UNIT` and `# EOF` are comments. So there
are only gauges (the collector knows no `info`, and would give a summary without a sum one
of zero) and no timestamps (it refuses them): the time of the run is a gauge too.

What was not measured has no sample: a zero would be a lie.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from blockmark.runs.metrics import METRICS
from blockmark.runs.model import Cell, MetricValue, Run, canonical

PREFIX = "blockmark"
# unit of a metric -> (base unit in the name, divisor); no base unit: the name says it.
_BASE_UNITS: Mapping[str, tuple[str, float]] = {
    "ns": ("seconds", 1e9),
    "share": ("ratio", 1.0),
    "ratio": ("ratio", 1.0),
    "bytes": ("bytes", 1.0),
    "blocks": ("blocks", 1.0),
    "1/s": ("hertz", 1.0),
    "count": ("", 1.0),
}
_QUANTILES = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p99.9": "0.999", "max": "1"}
_OWN_LABELS = ("scenario", "impl", "call_style", "source", "quantile", "status", "le", "job")
# The size of the load always stands there, so that runs of different loads are different
# series even where each has a single setting.
_ALWAYS = ("total_blocks", "block_size", "concurrency")
_NO_LABEL = ("models",)


@dataclass(slots=True)
class _Family:
    """A metric family: name, unit and help, and its samples as finished lines."""

    name: str
    unit: str
    help: str
    samples: list[str] = field(default_factory=list)


def render_openmetrics(run: Run) -> str:
    """The text, with `# EOF` at its end.

    Times are in seconds, sizes in bytes, shares in ratios. The labels are scenario,
    implementation, way of calling, the size of the load, the params in which the run's
    settings differ, and the source. Metrics of which neither more nor less is better
    are left out: they prove conditions.
    """
    families: dict[str, _Family] = {}
    _about(run, families)
    axes = {info.name: run.axes(info.name) for info in run.scenarios}
    for cell in run.cells:
        labels = _labels(cell, axes.get(cell.scenario, ()))
        status = {**labels, "status": cell.status}
        text = "1 for the status that each cell of the run has"
        _add(families, f"{PREFIX}_cell_status", "", text, status, 1.0)
        for metric, value in cell.metrics.items():
            _measured(families, metric, value, labels)
    lines: list[str] = []
    for family in families.values():
        lines.append(f"# TYPE {family.name} gauge")
        if family.unit:
            lines.append(f"# UNIT {family.name} {family.unit}")
        lines.append(f"# HELP {family.name} {_escaped_help(family.help)}")
        lines += family.samples
    return "\n".join([*lines, "# EOF"]) + "\n"


def _about(run: Run, families: dict[str, _Family]) -> None:
    """Which run this is: facts in labels, and when it was."""
    facts = {
        "run_id": run.run_id,
        "version": run.blockmark_version,
        "cpu_model": _text(run.machine.get("cpu_model")),
        "compiler": _text(run.build.get("compiler")),
        "python": _text(run.machine.get("python")),
    }
    text = "Always 1; the labels say which run the other samples are of"
    _add(families, f"{PREFIX}_run_info", "", text, facts, 1.0)
    created = datetime.datetime.fromisoformat(run.created).timestamp()
    for name, told, value in (
        ("run_created", "When the run began, in Unix time", created),
        ("run_duration", "How long the run took", run.duration_s),
    ):
        _add(families, f"{PREFIX}_{name}_seconds", "seconds", told, {}, value)
    for name, told, flag in (
        ("run_complete", "Whether the run was finished", run.complete),
        ("run_quick", "Whether it was a quick run, not for decisions", run.quick),
    ):
        _add(families, f"{PREFIX}_{name}", "", told, {}, float(flag))
    _add(
        families,
        f"{PREFIX}_run_rounds",
        "",
        "Fresh processes behind each value",
        {},
        float(run.rounds),
    )


def _measured(
    families: dict[str, _Family], metric: str, value: MetricValue, labels: Mapping[str, str]
) -> None:
    row = METRICS.get(metric)
    if row is not None and row.direction is None:
        return
    base, divisor = _BASE_UNITS.get(value.unit, ("", 1.0))
    stem = metric.removesuffix("_ns").removesuffix(f"_{base}") if base else metric
    name = f"{PREFIX}_{stem}_{base}" if base else f"{PREFIX}_{stem}"
    told = row.meaning if row is not None else metric
    named = {**labels, "source": value.source}
    if value.quantiles:
        for label, quantile in value.quantiles.items():
            if quantile.value is not None:
                sample = {**named, "quantile": _QUANTILES[label]}
                _add(families, name, base, told, sample, quantile.value / divisor)
    elif value.value is not None:
        _add(families, name, base, told, named, value.value / divisor)


def _labels(cell: Cell, axes: Sequence[str]) -> dict[str, str]:
    labels = {"scenario": cell.scenario, "impl": cell.impl, "call_style": cell.call_style}
    for axis in dict.fromkeys((*_ALWAYS, *axes)):
        if axis not in _NO_LABEL and axis in cell.params:
            name = _label_name(axis)
            while name in labels:
                name += "_"
            labels[name] = _text(cell.params[axis])
    return labels


def _label_name(param: str) -> str:
    """A param as a label's name: letters, digits and underscores, and none of our own."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", param)
    if name in _OWN_LABELS or not name or name[0].isdigit() or name.startswith("__"):
        return f"param_{name}"
    return name


def _text(value: Any) -> str:
    """A param or fact as text; what has parts as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return canonical(value)
    # Equal params are equal text: 16 and 16.0 are one setting.
    return canonical({"": value})[4:-1]


def _add(
    families: dict[str, _Family],
    name: str,
    unit: str,
    told: str,
    labels: Mapping[str, str],
    value: float,
) -> None:
    family = families.setdefault(name, _Family(name, unit, told))
    # An empty label is the same as none.
    pairs = [f'{key}="{_escaped(text)}"' for key, text in labels.items() if text]
    between = f"{{{','.join(pairs)}}}" if pairs else ""
    family.samples.append(f"{name}{between} {_number(value)}")


def _number(value: float) -> str:
    # A count of 3 and not 3.0; no rounding anywhere.
    return str(int(value)) if value == math.floor(value) and abs(value) < 2**53 else repr(value)


def _escaped(text: str) -> str:
    # Surrogates can't be written as UTF-8, and a carriage return would split a line for some.
    safe = text.encode("utf-8", "replace").decode("utf-8").replace("\r", "?")
    return safe.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _escaped_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', "'")
