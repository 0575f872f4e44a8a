"""A run to and from the object that `run.json` holds.

Reading trusts nothing: what comes out is complete, typed and consistent, or
RunFileError says where it is not. Keys that this version does not know are
ignored, so that additions do not need a new schema version; `run.schema.json`
says the same for other programs.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, get_args

from blockmark.runs.errors import quote
from blockmark.runs.histogram import LARGEST_INDEX, PERMILLE, bucket_index
from blockmark.runs.metrics import METRICS, QUANTILES
from blockmark.runs.model import (
    SCHEMA,
    SCHEMA_VERSION,
    CallStyle,
    Cell,
    CellKey,
    CellKind,
    HistogramData,
    ImplementationInfo,
    MetricValue,
    Quantile,
    Run,
    ScenarioInfo,
    Setting,
    SettingKey,
    Status,
    Verified,
)
from blockmark.runs.reading import MOST_LETTERS, MOST_PROSE, JsonObject

_KINDS: tuple[CellKind, ...] = get_args(CellKind)
_CALL_STYLES: tuple[CallStyle, ...] = ("native", "per-op", "per-step")
_STATUSES: tuple[Status, ...] = ("ok", "wrong", "failed", "timeout", "unavailable")
_METRIC_NAME = re.compile(r"[a-z][a-z0-9_]*")


def parse_run(content: Mapping[str, Any], path: str | Path = "run.json") -> Run:
    """The run in an object; `path` is what errors call it. Raises RunFileError.

    The numbers in `content` must be finite, as `reading.read_json_object` and the
    writer make sure.
    """
    top = JsonObject(Path(path), "", content)
    check_schema(top, SCHEMA, SCHEMA_VERSION)
    created = top.text("created")
    try:
        zone = datetime.datetime.fromisoformat(created).tzinfo
    except ValueError:
        zone = None
    if zone is None:
        top.fail("created", f"{created!r} is not a time with a zone")
    run = Run(
        blockmark_version=top.text("blockmark_version", empty=False),
        run_id=top.text("run_id", empty=False),
        created=created,
        duration_s=top.number("duration_s"),
        command=top.text("command", most=MOST_PROSE),
        complete=top.flag("complete"),
        quick=top.flag("quick"),
        seed=top.integer("seed"),
        rounds=top.integer("rounds", least=1),
        machine=top.facts("machine"),
        build=top.facts("build"),
        scenarios=tuple(_scenario(item) for item in top.children("scenarios")),
        implementations=tuple(_implementation(item) for item in top.children("implementations")),
        settings=tuple(_setting(item) for item in top.children("settings")),
        cells=tuple(_cell(item) for item in top.children("cells")),
        counters=top.facts("counters") if "counters" in top.content else {},
        uid=top.text("uid") if "uid" in top else "",
        name=top.text("name") if "name" in top else "",
        tags=top.texts("tags") if "tags" in top else (),
        checkout=top.facts("checkout") if "checkout" in top else {},
    )
    _check_references(top, run)
    return run


def check_schema(top: JsonObject, schema: str, version: int) -> None:
    """Raise RunFileError unless the object says that it is of this schema and version."""
    if "schema" not in top.content or top.content["schema"] != schema:
        found = top.content.get("schema")
        other = f"its schema is {found!r}" if isinstance(found, str) else "it has no schema key"
        top.fail(None, f"not a {schema} file ({other})", "name a run folder such as results/0001")
    found_version = top.integer("schema_version", least=1)
    if found_version > version:
        top.fail(
            "schema_version",
            f"written by a newer blockmark (version {found_version}, this one reads {version})",
            "update blockmark",
        )


def _scenario(item: JsonObject) -> ScenarioInfo:
    return ScenarioInfo(
        name=item.text("name", empty=False),
        title=item.text("title"),
        analysis=item.text("analysis", most=MOST_PROSE),
        digest=item.text("digest"),
    )


def _implementation(item: JsonObject) -> ImplementationInfo:
    return ImplementationInfo(
        name=item.text("name", empty=False),
        scheme=item.text("scheme"),
        tier=item.text("tier"),
        kind=item.choice("kind", _KINDS),
        summary=item.text("summary"),
        profile=item.text("profile"),
        id_type=item.text("id_type"),
        reuse_order=item.text("reuse_order"),
        engine=item.text("engine") if "engine" in item else "",
        origin=item.facts("origin") if "origin" in item else {},
    )


def _setting(item: JsonObject) -> Setting:
    return Setting(
        scenario=item.text("scenario", empty=False),
        params=item.child("params").content,
        facts=item.child("facts").content,
    )


def _cell(item: JsonObject) -> Cell:
    status = item.choice("status", _STATUSES)
    verified = None
    if "verified" in item:
        proof = item.child("verified")
        verified = Verified(proof.integer("operations"), proof.integer("steps"))
    metrics = {}
    for name, value in item.members("metrics"):
        if _METRIC_NAME.fullmatch(name) is None:
            value.fail(None, "not the name of a metric")
        metrics[name] = _metric(name, value)
    if status == "wrong" and metrics:
        item.fail("metrics", "a wrong answer is never timed, so it has no metrics")
    return Cell(
        scenario=item.text("scenario", empty=False),
        params=item.child("params").content,
        impl=item.text("impl", empty=False),
        kind=item.choice("kind", _KINDS),
        call_style=item.choice("call_style", _CALL_STYLES),
        status=status,
        reason="" if status == "ok" else item.text("reason", empty=False),
        verified=verified,
        metrics=metrics,
    )


def _metric(name: str, item: JsonObject) -> MetricValue:
    unit = item.text("unit", empty=False)
    row = METRICS.get(name)
    if row is not None and unit != row.unit:
        item.fail("unit", f"{unit!r} is not the unit of {name}, which is {row.unit}")
    is_distribution = row is not None and row.kind == "distribution"
    quantiles = None
    if "quantiles" in item or (is_distribution and "value" in item):
        quantiles = {}
        for label, entry in item.members("quantiles"):
            if label not in QUANTILES:
                entry.fail(None, f"no such quantile; there are {', '.join(QUANTILES)}")
            quantiles[label] = _estimate(entry)
        _check_ascending(item, quantiles)
    histograms: tuple[HistogramData, ...] = ()
    if "histograms" in item:
        histograms = tuple(_histogram(entry) for entry in item.children("histograms"))
    known = _estimate(item)
    return MetricValue(
        known.value,
        unit,
        item.text("source", empty=False),
        low=known.low,
        high=known.high,
        rounds=known.rounds,
        values=known.values,
        approximate=known.value is not None and item.flag("approximate"),
        mean=item.optional_number("mean"),
        unavailable=known.unavailable,
        quantiles=quantiles,
        histograms=histograms,
    )


def _check_ascending(item: JsonObject, quantiles: Mapping[str, Quantile]) -> None:
    """A quantile is no less than a smaller one, if both are of as many rounds.

    Not the largest sample, which is exact and may lie below the middle of its bucket.
    """
    known = [(label, quantiles[label]) for label in PERMILLE if label in quantiles]
    for (low, less), (high, more) in pairwise(known):
        if less.value is None or more.value is None or less.rounds != more.rounds:
            continue
        if more.value < less.value:
            item.fail(f"quantiles.{high}", f"{more.value} is below {low}, which is {less.value}")


def _estimate(item: JsonObject) -> Quantile:
    """What a scalar, a distribution and a quantile have in common."""
    if "unavailable" in item:
        if "value" in item:
            item.fail("unavailable", "there is a value, so it is not unavailable")
        return Quantile(None, unavailable=item.text("unavailable", empty=False))
    value = item.number("value")
    low, high = item.optional_number("low"), item.optional_number("high")
    if (low is None) != (high is None) or (low is not None and high is not None and low > high):
        item.fail("low", f"{low} to {high} is not an interval")
    values = item.numbers("values")
    rounds = item.integer("rounds", least=1)
    if rounds != len(values):
        item.fail("rounds", f"{rounds} rounds, but {len(values)} values")
    return Quantile(value, low, high, rounds, values)


def _histogram(item: JsonObject) -> HistogramData:
    counts: list[tuple[int, int]] = []
    last = -1
    for position, pair in enumerate(item.array("counts")):
        # `type` and not `isinstance`: true and false are no numbers in JSON.
        if not isinstance(pair, list) or [type(part) for part in pair] != [int, int]:
            item.fail(f"counts[{position}]", f"{quote(pair)} is not a bucket and its count")
        index, count = pair
        if not last < index <= LARGEST_INDEX or count < 1:
            item.fail(f"counts[{position}]", f"{quote(pair)} is out of order or out of range")
        counts.append((index, count))
        last = index
    largest, samples = item.integer("max"), item.integer("samples")
    if samples != sum(count for _, count in counts):
        item.fail("samples", f"{samples} is not the sum of the counts")
    if (bucket_index(largest) if counts else largest - 1) != last:
        item.fail("max", f"{largest} is not in the last bucket")
    return HistogramData(tuple(counts), largest, samples)


def _check_references(top: JsonObject, run: Run) -> None:
    """Names are unique, and each cell's names lead to an entry."""
    scenarios = _unique(top, "scenarios", [info.name for info in run.scenarios])
    impls = _unique(top, "implementations", [info.name for info in run.implementations])
    settings = _unique(top, "settings", [setting.key for setting in run.settings])
    for position, setting in enumerate(run.settings):
        if setting.scenario not in scenarios:
            top.fail(f"settings[{position}].scenario", f"{quote(setting.scenario)} is not listed")
    keys: list[CellKey] = []
    for position, cell in enumerate(run.cells):
        key = cell.key
        if cell.impl not in impls:
            top.fail(f"cells[{position}].impl", f"{quote(cell.impl)} is not listed")
        if key.setting not in settings:
            top.fail(f"cells[{position}].params", "no such setting is listed")
        keys.append(key)
    _unique(top, "cells", keys)


_Key = TypeVar("_Key", str, SettingKey, CellKey)


def _unique(top: JsonObject, name: str, keys: Sequence[_Key]) -> set[_Key]:
    seen: set[_Key] = set()
    for position, key in enumerate(keys):
        if key in seen:
            top.fail(f"{name}[{position}]", "is there twice")
        seen.add(key)
    return seen


def dump_run(run: Run) -> dict[str, Any]:
    """The object that `parse_run` reads: plain dictionaries, lists and numbers."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "blockmark_version": run.blockmark_version,
        "run_id": run.run_id,
        **({"uid": run.uid} if run.uid else {}),
        **({"name": run.name} if run.name else {}),
        **({"tags": list(run.tags)} if run.tags else {}),
        "created": run.created,
        "duration_s": run.duration_s,
        "command": run.command,
        "complete": run.complete,
        "quick": run.quick,
        "seed": run.seed,
        "rounds": run.rounds,
        "machine": dict(run.machine),
        "build": dict(run.build),
        **({"checkout": dict(run.checkout)} if run.checkout else {}),
        **({"counters": dict(run.counters)} if run.counters else {}),
        "scenarios": [dataclasses.asdict(info) for info in run.scenarios],
        "implementations": [_dump_implementation(info) for info in run.implementations],
        "settings": [dataclasses.asdict(setting) for setting in run.settings],
        "cells": [_dump_cell(cell) for cell in run.cells],
    }


def _dump_implementation(info: ImplementationInfo) -> dict[str, Any]:
    dumped = dataclasses.asdict(info)
    for name in ("engine", "origin"):
        if not dumped[name]:
            del dumped[name]
    return dumped


def _dump_cell(cell: Cell) -> dict[str, Any]:
    dumped: dict[str, Any] = {
        "scenario": cell.scenario,
        "params": dict(cell.params),
        "impl": cell.impl,
        "kind": cell.kind,
        "call_style": cell.call_style,
        "status": cell.status,
    }
    if not cell.ok:
        dumped["reason"] = cell.reason[:MOST_LETTERS]
    dumped["verified"] = None if cell.verified is None else dataclasses.asdict(cell.verified)
    dumped["metrics"] = {name: _dump_metric(value) for name, value in cell.metrics.items()}
    return dumped


def _dump_metric(value: MetricValue) -> dict[str, Any]:
    dumped = _dump_estimate(value) | {"unit": value.unit, "source": value.source}
    if value.value is not None:
        dumped["approximate"] = value.approximate
    if value.mean is not None:
        dumped["mean"] = value.mean
    if value.quantiles is not None:
        dumped["quantiles"] = {
            label: _dump_estimate(quantile) for label, quantile in value.quantiles.items()
        }
    if value.histograms:
        dumped["histograms"] = [
            {
                "counts": [list(pair) for pair in histogram.counts],
                "max": histogram.max,
                "samples": histogram.samples,
            }
            for histogram in value.histograms
        ]
    return dumped


def _dump_estimate(value: MetricValue | Quantile) -> dict[str, Any]:
    if value.value is None:
        return {"value": None, "unavailable": (value.unavailable or "")[:MOST_LETTERS]}
    return {
        "value": value.value,
        "low": value.low,
        "high": value.high,
        "rounds": value.rounds,
        "values": list(value.values),
    }
