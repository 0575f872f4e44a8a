"""OpenMetrics text: its grammar held line by line, and its numbers by hand."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from blockmark.report.openmetrics import render_openmetrics
from blockmark.runs.codec import parse_run
from counter_run_factory import add_counters
from run_factory import find_cell, make_run, scalar

# The grammar of OpenMetrics 1.0 for what is written here: gauges without timestamps.
_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_VALUE = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? ({_VALUE})")
_META = re.compile(rf"# (TYPE|UNIT|HELP) ({_NAME}) ([^\n]*)")
_ESCAPED = re.compile(r"(?:[^\\\n]|\\[\\n])*")

Samples = dict[str, dict[frozenset[tuple[str, str]], float]]


def parse(text: str) -> Samples:
    """The samples by family and labels; AssertionError for what OpenMetrics forbids."""
    assert text.endswith("# EOF\n")
    samples: Samples = {}
    family, unit, seen = "", "", set[str]()
    for line in text.removesuffix("# EOF\n").split("\n")[:-1]:
        if meta := _META.fullmatch(line):
            kind, name, rest = meta.groups()
            if kind == "TYPE":
                assert name not in samples, "a family is in one piece"
                assert rest == "gauge"
                family, unit, seen = name, "", set()
                samples[family] = {}
            assert name == family
            assert not samples[family], "what describes a family stands before its samples"
            assert kind not in seen
            seen.add(kind)
            if kind == "UNIT":
                unit = rest
                assert family.endswith(f"_{unit}")
            assert kind != "HELP" or _ESCAPED.fullmatch(rest)
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample, line
        name, labels, value = sample.groups()
        assert name == family
        pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"', labels or "")
        assert len(dict(pairs)) == len(pairs), "a label is there once"
        key = frozenset(pairs)
        assert key not in samples[family], "a series is there once"
        samples[family][key] = float(value)
    assert all(samples.values())
    return samples


def of(found: Samples, family: str, **labels: str) -> float:
    """The one sample of a family that has these labels."""
    [value] = [value for pairs, value in found[family].items() if set(labels.items()) <= set(pairs)]
    return value


def test_values_are_in_base_units() -> None:
    content = make_run()
    metrics = find_cell(content, "vector/cpp")["metrics"]
    metrics["step_ns"] = scalar([1520.0] * 5)
    metrics["busy_share_estimated"] = scalar([0.00304] * 5, "share", "derived")
    metrics["achieved_rate"] = scalar([1999.5] * 5, "1/s")
    found = parse(render_openmetrics(parse_run(content)))
    here = {"impl": "vector/cpp", "block_size": "16"}
    assert of(found, "blockmark_step_seconds", source="clock", **here) == 1.52e-6
    assert of(found, "blockmark_table_bytes", source="count", **here) == 131_072
    assert of(found, "blockmark_busy_share_estimated_ratio", **here) == 0.00304
    assert of(found, "blockmark_achieved_rate_hertz", **here) == 1999.5
    assert of(found, "blockmark_heap_allocations_per_step", **here) == 0
    # Settings differ in block_size; the size of the load is a label anyway.
    assert of(found, "blockmark_step_seconds", total_blocks="65536", **here) == 1.52e-6


def test_a_distribution_has_a_sample_a_quantile_and_none_for_what_is_unavailable() -> None:
    content = make_run()
    quantiles = find_cell(content, "vector/cpp")["metrics"]["step_latency_ns"]["quantiles"]
    quantiles["p99"]["value"] = 2900.0
    quantiles["p90"] = {"value": None, "unavailable": "too few"}
    samples = parse(render_openmetrics(parse_run(content)))["blockmark_step_latency_seconds"]
    here = {("impl", "vector/cpp"), ("block_size", "16")}
    shown = {dict(pairs)["quantile"]: value for pairs, value in samples.items() if here <= pairs}
    assert set(shown) == {"0.5", "0.99", "0.999", "1"}
    assert shown["0.99"] == 2.9e-6


def test_what_was_not_measured_has_no_sample_and_its_status_says_why() -> None:
    found = parse(render_openmetrics(parse_run(make_run())))
    assert of(found, "blockmark_cell_status", impl="mine", block_size="16", status="wrong") == 1
    steps = [dict(pairs)["impl"] for pairs in found["blockmark_step_seconds"]]
    assert "mine" not in steps
    assert "prefix-tree" not in steps
    # Proofs of conditions are no measurements to watch.
    assert "blockmark_pool_run_length_blocks" not in found


def test_the_run_is_described() -> None:
    found = parse(render_openmetrics(parse_run(make_run(quick=True))))
    # 2026-11-29T12:00:00Z, by another calendar: 20,786 days after the epoch, and a half.
    assert found["blockmark_run_created_seconds"] == {frozenset(): 20_786.5 * 86_400}
    assert found["blockmark_run_quick"] == {frozenset(): 1}
    assert of(found, "blockmark_run_info", run_id="0001", cpu_model="AMD EPYC (Zen 3)") == 1


def test_counters_name_their_source() -> None:
    found = parse(render_openmetrics(parse_run(add_counters(make_run()))))
    misses = found["blockmark_lookup_ordered_l1d_misses_per_op"]
    assert {dict(pairs)["source"] for pairs in misses} == {"callgrind", "callgrind-net"}
    assert "blockmark_step_l1d_miss_rate_ratio" in found


@pytest.mark.parametrize("name", ['a"b\\c\n{d="e"} 1', "内存池\r", "\ud800", "# EOF"])
def test_hostile_names_and_params_stay_inside_their_quotes(name: str) -> None:
    content: dict[str, Any] = make_run(impls=("vector/cpp", "mine"))
    content["implementations"][0]["name"] = name
    for cell in content["cells"]:
        cell["impl"] = name if cell["impl"] == "vector/cpp" else cell["impl"]
    for part in (*content["settings"], *content["cells"]):
        block = part["params"]["block_size"]
        part["params"] |= {name: {"x": [block]}, "source": block, "impl": name, "0": block}
    found = parse(render_openmetrics(parse_run(content)))
    assert len(found["blockmark_step_seconds"]) == 2
    labels = dict(next(iter(found["blockmark_step_seconds"])))
    assert labels["source"] == "clock"
    assert labels["param_source"] in ("16", "1")


def test_numbers_are_not_rounded() -> None:
    content = make_run()
    find_cell(content, "vector/cpp")["metrics"]["step_ns"] = scalar([math.pi * 1000] * 5)
    found = parse(render_openmetrics(parse_run(content)))
    value = of(found, "blockmark_step_seconds", impl="vector/cpp", block_size="16")
    assert value == math.pi * 1000 / 1e9
