"""What is read from a run file, what is refused, and that the schema says the same."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from collections.abc import Callable
from importlib import resources
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmark.runs.codec import dump_run, parse_run
from blockmark.runs.errors import RunFileError
from blockmark.runs.model import CellKey, Run, SettingKey, canonical
from run_factory import find_cell, make_run

Content = dict[str, Any]
Spoil = Callable[[Content], None]


@pytest.fixture(scope="module")
def schema() -> Any:
    text = (resources.files("blockmark.runs") / "run.schema.json").read_text("utf-8")
    content = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(content)
    return jsonschema.Draft202012Validator(content)


def metric(content: Content, name: str = "step_ns") -> Content:
    found: Content = find_cell(content, "flat-stack/cpp")["metrics"][name]
    return found


def spoil_metric(key: str, value: Any, name: str = "step_ns") -> Spoil:
    return lambda content: metric(content, name).update({key: value})


def spoil_cell(key: str, value: Any) -> Spoil:
    return lambda content: find_cell(content, "flat-stack/cpp").update({key: value})


def drop(*way: Any) -> Spoil:
    def spoil(content: Any) -> None:
        for step in way[:-1]:
            content = content[step]
        del content[way[-1]]

    return spoil


def put(value: Any, *way: Any) -> Spoil:
    def spoil(content: Any) -> None:
        for step in way[:-1]:
            content = content[step]
        content[way[-1]] = value

    return spoil


def make_unavailable_without_reason(content: Content) -> None:
    metric(content).clear()
    metric(content).update({"value": None, "unit": "ns", "source": "clock"})


# What is wrong, and the key that the error names. The schema sees these too.
BROKEN: dict[str, tuple[Spoil, str]] = {
    "foreign schema": (put("pyperf", "schema"), "not a blockmark.run"),
    "no schema": (drop("schema"), "not a blockmark.run"),
    "newer version": (put(2, "schema_version"), "schema_version"),
    "version as text": (put("1", "schema_version"), "schema_version"),
    "version true": (put(True, "schema_version"), "schema_version"),
    "no version": (drop("schema_version"), "schema_version"),
    "no cells": (drop("cells"), "cells"),
    "cells as object": (put({}, "cells"), "cells"),
    "a cell is text": (put("x", "cells", 3), "cells[3]"),
    "no rounds": (drop("rounds"), "rounds"),
    "zero rounds": (put(0, "rounds"), "rounds"),
    "negative seed": (put(-1, "seed"), "seed"),
    "seed with a fraction": (put(1.5, "seed"), "seed"),
    "absurd seed": (put(10**40, "seed"), "seed"),
    "quick as number": (put(1, "quick"), "quick"),
    "complete as null": (put(None, "complete"), "complete"),
    "time without zone": (put("2026-11-29T12:00:00", "created"), "created"),
    "duration negative": (put(-1.0, "duration_s"), "duration_s"),
    "machine as list": (put([], "machine"), "machine"),
    "nested fact": (put({"a": 1}, "machine", "cpu_model"), "machine.cpu_model"),
    "build as null": (put(None, "build"), "build"),
    "counters as list": (put([], "counters"), "counters"),
    "counters as null": (put(None, "counters"), "counters"),
    "nested counter fact": (put({"d1": {"size": 1}}, "counters"), "counters.d1"),
    "unknown kind": (put("rival", "implementations", 0, "kind"), "implementations[0].kind"),
    "implementation without a name": (
        put("", "implementations", 0, "name"),
        "implementations[0].name",
    ),
    "no scheme": (drop("implementations", 1, "scheme"), "implementations[1].scheme"),
    "scenario without prose": (drop("scenarios", 0, "analysis"), "scenarios[0].analysis"),
    "setting without facts": (drop("settings", 1, "facts"), "settings[1].facts"),
    "unknown status": (spoil_cell("status", "fine"), "status"),
    "unknown call style": (spoil_cell("call_style", "per-day"), "call_style"),
    "params as list": (spoil_cell("params", [16]), "params"),
    "not ok without reason": (spoil_cell("status", "failed"), "reason"),
    "empty reason": (
        lambda content: find_cell(content, "mine").update(reason=""),
        "reason",
    ),
    "wrong answer with times": (
        lambda content: find_cell(content, "flat-stack/cpp").update(status="wrong", reason="x"),
        "metrics",
    ),
    "verified as number": (spoil_cell("verified", 7), "verified"),
    "verified without steps": (spoil_cell("verified", {"operations": 5}), "verified.steps"),
    "metric name with blanks": (
        lambda content: find_cell(content, "flat-stack/cpp")["metrics"].update({"a b": {}}),
        "a b",
    ),
    "value as text": (spoil_metric("value", "1.21"), "metrics.step_ns.value"),
    "value true": (spoil_metric("value", True), "metrics.step_ns.value"),
    "negative value": (spoil_metric("value", -1.0), "metrics.step_ns.value"),
    "null without reason": (make_unavailable_without_reason, "metrics.step_ns.value"),
    "value and reason": (spoil_metric("unavailable", "no"), "metrics.step_ns.unavailable"),
    "negative round": (spoil_metric("values", [1.0, -1.0]), "metrics.step_ns.values[1]"),
    "no values": (lambda content: metric(content).pop("values"), "metrics.step_ns.values"),
    "empty values": (
        lambda content: metric(content).update(values=[], rounds=0),
        "metrics.step_ns.rounds",
    ),
    "no unit": (lambda content: metric(content).pop("unit"), "metrics.step_ns.unit"),
    "no source": (lambda content: metric(content).pop("source"), "metrics.step_ns.source"),
    "approximate missing": (
        lambda content: metric(content).pop("approximate"),
        "metrics.step_ns.approximate",
    ),
    "no quantiles": (
        lambda content: metric(content, "step_latency_ns").pop("quantiles"),
        "step_latency_ns.quantiles",
    ),
    "unknown quantile": (
        lambda content: metric(content, "step_latency_ns")["quantiles"].update(p75={}),
        "quantiles.p75",
    ),
    "quantile without values": (
        lambda content: metric(content, "step_latency_ns")["quantiles"]["p90"].pop("values"),
        "quantiles.p90.values",
    ),
    "count of nothing": (
        lambda content: metric(content, "step_latency_ns")["histograms"][0]["counts"].append(
            [7000, 0]
        ),
        "histograms[0].counts",
    ),
    "bucket beyond the last": (
        lambda content: metric(content, "step_latency_ns")["histograms"][1]["counts"].append(
            [7296, 5]
        ),
        "histograms[1].counts",
    ),
    "bucket of three": (
        lambda content: metric(content, "step_latency_ns")["histograms"][0].update(
            counts=[[1, 2, 3]]
        ),
        "histograms[0].counts[0]",
    ),
}

# A schema cannot see these: they are about two places at once.
INCONSISTENT: dict[str, tuple[Spoil, str]] = {
    "p99 below p50": (
        lambda content: metric(content, "step_latency_ns")["quantiles"]["p99"].update(value=1.0),
        "step_latency_ns.quantiles.p99",
    ),
    "unit of another metric": (spoil_metric("unit", "ms"), "metrics.step_ns.unit"),
    "interval upside down": (
        lambda content: metric(content).update(low=2.0, high=1.0),
        "metrics.step_ns.low",
    ),
    "half an interval": (spoil_metric("high", None), "metrics.step_ns.low"),
    "rounds miscounted": (spoil_metric("rounds", 4), "metrics.step_ns.rounds"),
    "samples miscounted": (
        lambda content: metric(content, "step_latency_ns")["histograms"][0].update(samples=3),
        "histograms[0].samples",
    ),
    "maximum elsewhere": (
        lambda content: metric(content, "step_latency_ns")["histograms"][0].update(max=1),
        "histograms[0].max",
    ),
    "buckets out of order": (
        lambda content: metric(content, "step_latency_ns")["histograms"][0]["counts"].reverse(),
        "histograms[0].counts[1]",
    ),
    "unlisted implementation": (spoil_cell("impl", "stranger"), ".impl"),
    "unlisted setting": (spoil_cell("params", {"block_size": 4}), ".params"),
    "unlisted scenario": (put("beam", "settings", 0, "scenario"), "settings[0].scenario"),
    "the same cell twice": (lambda c: c["cells"].append(c["cells"][0]), "is there twice"),
    "the same implementation twice": (
        lambda c: c["implementations"].append(c["implementations"][0]),
        "is there twice",
    ),
    "the same setting twice": (lambda c: c["settings"].append(c["settings"][0]), "is there twice"),
    "no date": (put("someday+00:00", "created"), "created"),
}


@pytest.fixture(scope="module")
def content() -> Content:
    return make_run()


def spoiled(content: Content, spoil: Spoil) -> Content:
    copied = copy.deepcopy(content)
    spoil(copied)
    return copied


def test_a_run_survives_the_way_into_memory_and_back(content: Content) -> None:
    assert dump_run(parse_run(content)) == content


@pytest.mark.parametrize(
    "changes",
    [
        {"rounds": 1},
        {"rounds": 12},
        {"impls": ("null/cpp",)},
        {"cells": [], "settings": []},
        {"complete": False, "quick": True},
        {"build": {"native": False, "reason": "it was not built"}},
        {"created": "2026-11-29T12:00:00Z"},
        {"counters": {"asked": "auto", "source": "callgrind", "valgrind": "3.19.0"}},
    ],
)
def test_what_is_written_fits_the_schema(changes: dict[str, Any], schema: Any) -> None:
    content = make_run(**changes)
    assert list(schema.iter_errors(content)) == []
    assert dump_run(parse_run(content)) == content


def test_keys_of_a_later_version_are_ignored(content: Content, schema: Any) -> None:
    later = spoiled(content, put("x", "later"))
    metric(later)["later"] = [1]
    find_cell(later, "flat-stack/cpp")["metrics"]["of_later"] = metric(later) | {"unit": "W"}
    assert list(schema.iter_errors(later)) == []
    run = parse_run(later)
    value = run.cell_by_key[cell_key("flat-stack/cpp")].metric("of_later")
    assert value is not None
    assert value.unit == "W"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_is_refused_by_reader_and_schema(
    name: str, content: Content, schema: Any
) -> None:
    spoil, key = BROKEN[name]
    broken = spoiled(content, spoil)
    with pytest.raises(RunFileError) as caught:
        parse_run(broken, "results/0007/run.json")
    message = str(caught.value)
    assert message.startswith("results/0007/run.json: ")
    assert key in message
    assert "; " in message
    assert "\n" not in message
    assert not schema.is_valid(broken)


@pytest.mark.parametrize("name", INCONSISTENT)
def test_an_inconsistent_run_is_refused(name: str, content: Content) -> None:
    spoil, key = INCONSISTENT[name]
    with pytest.raises(RunFileError) as caught:
        parse_run(spoiled(content, spoil))
    assert key in str(caught.value)


def test_a_newer_version_asks_for_an_update(content: Content) -> None:
    with pytest.raises(RunFileError) as caught:
        parse_run(content | {"schema_version": 3}, "run.json")
    assert str(caught.value) == (
        "run.json: schema_version: written by a newer blockmark (version 3, this one reads 1); "
        "update blockmark"
    )
    assert caught.value.key == "schema_version"


def test_a_bad_value_from_the_file_cannot_break_the_line(content: Content) -> None:
    with pytest.raises(RunFileError) as caught:
        parse_run(spoiled(content, spoil_cell("status", "x\n\x1b[31m" * 50)))
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
small = make_run(impls=("flat-stack/cpp",), rounds=2)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in children:
        found.append((*way, key))
        if isinstance(item, dict | list) and key != "counts":
            found += places(item, (*way, key))
    return found


@settings(deadline=None)
@given(st.sampled_from(places(small)), json_values)
def test_any_value_at_any_place_is_a_run_or_a_clear_error(way: tuple[Any, ...], value: Any) -> None:
    changed = spoiled(small, put(value, *way))
    with contextlib.suppress(RunFileError):
        run = parse_run(changed)
        assert isinstance(run, Run)
        assert len(run.cells) == len(run.cell_by_key)


def cell_key(impl: str, block_size: int = 16) -> CellKey:
    params = {"block_size": block_size, "total_blocks": 65_536, "concurrency": 256}
    return CellKey.of("decode", params, impl)


def test_a_cell_is_found_by_its_key_however_the_params_are_written(content: Content) -> None:
    run = parse_run(content)
    cell = run.cell_by_key[
        CellKey.of(
            "decode", {"concurrency": 256.0, "total_blocks": 65536, "block_size": 16}, "vector/py"
        )
    ]
    assert cell.impl == "vector/py"
    assert cell.params["block_size"] == 16
    assert cell.verified is not None
    assert cell.verified.operations == 51_204
    assert cell.key.digest == cell_key("vector/py").digest
    assert cell.key.digest != cell_key("vector/cpp").digest
    assert [one.impl for one in run.cells_of(cell.key.setting)] == [
        info.name for info in run.implementations
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": {1}}, object()])
def test_params_that_are_not_plain_json_have_no_key(value: object) -> None:
    with pytest.raises(ValueError, match=r"JSON|Out of range"):
        SettingKey.of("decode", {"x": value})


def test_equal_settings_are_equal_text_and_others_are_not() -> None:
    assert canonical({"b": 2.0, "a": [1, {"c": 0.5}]}) == '{"a":[1,{"c":0.5}],"b":2}'
    assert canonical({"a": True}) != canonical({"a": 1})
    assert canonical({"a": "1"}) != canonical({"a": 1})


def test_axes_are_the_params_that_tell_settings_apart(content: Content) -> None:
    run = parse_run(content)
    assert run.axes("decode") == ("block_size",)
    assert run.axes("beam") == ()
    assert run.settings[0].program_digest == "d0016"
    only_one = parse_run(make_run(impls=("vector/py",), settings=content["settings"][:1], cells=[]))
    assert only_one.axes("decode") == ()
    extra = copy.deepcopy(content)
    for place in [extra["settings"][1], *extra["cells"]]:
        if place["params"]["block_size"] == 1:
            place["params"]["heap"] = "aged"
    assert parse_run(extra).axes("decode") == ("block_size", "heap")


def test_a_metric_is_read_by_its_address(content: Content) -> None:
    cell = parse_run(content).cell_by_key[cell_key("flat-stack/cpp")]
    p99 = cell.metric("step_latency_ns.p99")
    assert p99 is not None
    expected = metric(content, "step_latency_ns")["quantiles"]["p99"]
    assert (p99.value, list(p99.values)) == (expected["value"], expected["values"])
    assert (p99.unit, p99.source, p99.approximate) == ("ns", "clock", True)
    assert cell.metric("of_later") is None
    with pytest.raises(ValueError, match="no quantile"):
        cell.metric("step_latency_ns.p12")


def test_a_quantile_that_was_not_taken_has_a_reason(content: Content) -> None:
    run = parse_run(content)
    python = run.cell_by_key[cell_key("vector/py")].metric("step_latency_ns.p99.9")
    assert python is not None
    assert python.value is None
    assert python.unavailable == "needs 10000 samples a round, had 2000"
    scalar = run.cell_by_key[cell_key("flat-stack/cpp")].metrics["step_ns"].quantile("p50")
    assert scalar.unavailable == "no p50 was taken"
