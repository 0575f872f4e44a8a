"""A run as one page of HTML that needs nothing else: no network, no library, no file beside it.

The numbers are in the page as JSON; `page.js` draws a chart and a table of the metric that the
reader chooses. Without scripts the table of the first metric is there all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from blockmark.report.facts.floors import floor_mark, mark_notes
from blockmark.report.facts.numbers import interval, scale_for, significant
from blockmark.report.facts.setting import effort, load_line, machine_line, setting_name
from blockmark.report.facts.sweep import sweeps
from blockmark.report.facts.versions import run_title, version_lines
from blockmark.report.findings.answers import answers
from blockmark.report.findings.disturbance import disturbance
from blockmark.report.plots.looks import looks
from blockmark.runs.metrics import METRICS, QUANTILES
from blockmark.runs.model import Cell, MetricValue, Run

# What is shown first, if the run has it.
_FIRST = ("step_ns", "take_ns", "throughput_per_s", "busy_share")
_MARKS = ("*", "**")
# Nothing is fetched from anywhere, whatever a name in the run says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class _Metric:
    address: str
    unit: str
    text: str


def render_page(run: Run) -> str:
    """The whole page. The same run gives the same text."""
    metrics = list(_metrics(run))
    data = _data(run, metrics)
    title = f"blockmark {', '.join(info.name for info in run.scenarios)}, run {run_title(run)}"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{_asset('page.css')}</style></head><body><main>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in _about(run)),
        *_findings(run),
        '<section id="view" hidden></section>',
        _table(data, metrics),
        f'<p class="quiet">{escape(_command(run))}</p>',
        "</main>",
        f'<script type="application/json" id="data">{_json(data)}</script>',
        f"<script>{_asset('page.js')}</script>",
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _about(run: Run) -> list[str]:
    lines = [f"{machine_line(run)}; {effort(run)}.", disturbance(run)]
    if run.quick:
        lines.insert(0, "Quick run: not for decisions.")
    lines += [f"{line}." for line in version_lines(run)]
    return [line for line in lines if line]


def _findings(run: Run) -> list[str]:
    """The sentences of each setting, as a list."""
    found = answers(run)
    items = []
    for setting in run.settings:
        where = setting_name(run, setting) or setting.scenario
        for finding in found.get(setting.key, ()):
            text = f"<b>{escape(finding.topic)}</b> ({escape(where)}): {escape(finding.text)}"
            items.append(f"<li>{text}</li>")
    return ["<ul>", *items, "</ul>"] if items else []


def _metrics(run: Run) -> Iterable[_Metric]:
    """What the cells have values of, what is shown first in front."""
    found: dict[str, _Metric] = {}
    for cell in run.cells:
        for name, value in cell.metrics.items():
            labels = [None] if value.quantiles is None else list(value.quantiles)
            for label in labels:
                address = name if label is None else f"{name}.{label}"
                row = METRICS.get(name)
                if row is None or row.kind != "proof":
                    found.setdefault(
                        address, _Metric(address, value.unit, row.meaning if row else "")
                    )
    order = {name: place for place, name in enumerate(_FIRST)}
    return sorted(found.values(), key=lambda metric: order.get(metric.address, len(order)))


def _data(run: Run, metrics: Iterable[_Metric]) -> dict[str, Any]:
    """What the script draws: settings, implementations, metrics, and the values of each cell."""
    styles = looks(run.implementations)
    places = {setting.key: place for place, setting in enumerate(run.settings)}
    numbers = {info.name: place for place, info in enumerate(run.implementations)}
    axes = {sweep.scenario: list(sweep.axes) for sweep in sweeps(run)}
    return {
        "settings": [
            {
                "scenario": setting.scenario,
                "name": setting_name(run, setting) or load_line(setting) or setting.scenario,
                "at": [setting.params.get(axis) for axis in axes.get(setting.scenario, [])],
            }
            for setting in run.settings
        ],
        "axes": axes,
        "impls": [
            {
                "name": info.name,
                "color": styles[info.name].color,
                "dash": _dash(styles[info.name].line),
                "marker": styles[info.name].marker,
                "control": info.kind == "control",
            }
            for info in run.implementations
        ],
        "metrics": [
            {"name": metric.address, "unit": metric.unit, "text": metric.text} for metric in metrics
        ],
        "marks": dict(zip(_MARKS, mark_notes(_MARKS), strict=True)),
        "cells": [
            {
                "setting": places[cell.key.setting],
                "impl": numbers[cell.impl],
                "status": cell.status,
                "reason": cell.reason,
                "values": _values(run, cell, metrics),
            }
            for cell in run.cells
        ],
    }


def _values(run: Run, cell: Cell, metrics: Iterable[_Metric]) -> dict[str, Any]:
    """Address -> [value, low, high, rounds, mark], or the reason why there is none."""
    beside = run.cells_of(cell.key.setting)
    found: dict[str, Any] = {}
    for metric in metrics:
        name, _, label = metric.address.partition(".")
        value: MetricValue | None = cell.metrics.get(name)
        if value is None:
            continue
        if label:
            value = value.quantile(label) if label in QUANTILES else value
        if value.value is None:
            found[metric.address] = value.unavailable or "unavailable"
            continue
        mark = floor_mark(cell, metric.address, beside, run.implementation_by_name)
        found[metric.address] = [value.value, value.low, value.high, value.rounds, mark]
    return found


def _table(data: Mapping[str, Any], metrics: list[_Metric]) -> str:
    """The first metric as a plain table, for a reader without scripts."""
    if not metrics:
        return "<p>Nothing was measured.</p>"
    metric = metrics[0]
    known = [cell["values"].get(metric.address) for cell in data["cells"]]
    scale = scale_for([one[0] for one in known if isinstance(one, list)], metric.unit)
    rows = []
    for cell, value in zip(data["cells"], known, strict=True):
        if isinstance(value, list):
            low, high = value[1], value[2]
            shown = significant(value[0] * scale.factor) + value[4]
            between = (
                interval(low * scale.factor, high * scale.factor, value[0] * scale.factor)
                if low is not None and high is not None
                else ""
            )
        else:
            shown, between = (value or cell["reason"] or cell["status"]), ""
        names = [data["impls"][cell["impl"]]["name"], data["settings"][cell["setting"]]["name"]]
        rows.append("".join(f"<td>{escape(text)}</td>" for text in (*names, shown, between)))
    head = f"{metric.address}, {scale.label}"
    return (
        '<table id="plain"><thead><tr><th>implementation</th><th>setting</th>'
        f"<th>{escape(head)}</th><th>interval</th></tr></thead><tbody>"
        + "".join(f"<tr>{row}</tr>" for row in rows)
        + "</tbody></table>"
    )


def _command(run: Run) -> str:
    return f"{run.command}; blockmark {run.blockmark_version}, {run.created}"


def _dash(line: object) -> str:
    """matplotlib's dashes as those of SVG."""
    return "" if line == "-" else " ".join(f"{part:g}" for part in line[1])  # type: ignore[index]


def _json(data: Mapping[str, Any]) -> str:
    """JSON that no name in it can end."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _asset(name: str) -> str:
    return (files(__package__ or __name__) / name).read_text("utf-8")
