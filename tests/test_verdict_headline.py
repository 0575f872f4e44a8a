"""What a run says in two sentences."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.runs.codec import parse_run
from blockmark.verdict.headline import Headline, headlines, without_call_style
from run_factory import find_cell, make_run, scalar


def with_steps(content: dict[str, Any], **steps: float) -> dict[str, Any]:
    """The same run with these step costs in the first setting, five equal rounds each."""
    for impl, cost in steps.items():
        name = impl.replace("__", "/").replace("_", "-")
        find_cell(content, name)["metrics"]["step_ns"] = scalar([cost] * 5)
    return content


def first(content: dict[str, Any]) -> Headline:
    return headlines(parse_run(content))[0]


def test_structures_are_ranked_in_the_native_loop_within_one_profile() -> None:
    content = with_steps(
        make_run(), flat_stack__cpp=1000.0, vector__cpp=1250.0, hash_map__cpp=15000.0
    )
    structure = first(content).structure
    assert structure is not None
    assert (structure.call_style, structure.profile) == ("native", "R")
    # Neither controls, nor another profile, nor what Python calls.
    ranked = [(standing.impl, standing.ratio.value) for standing in structure.standings]
    assert ranked == [("flat-stack/cpp", 1.0), ("vector/cpp", 1.25), ("hash-map/cpp", 15.0)]
    assert structure.standings[0].ratio.low == structure.standings[0].ratio.high == 1.0


def test_the_cheapest_comes_first_whichever_it_is() -> None:
    content = with_steps(make_run(), flat_stack__cpp=1000.0, vector__cpp=800.0)
    structure = first(content).structure
    assert structure is not None
    assert [standing.impl for standing in structure.standings][:2] == [
        "vector/cpp",
        "flat-stack/cpp",
    ]
    assert structure.standings[1].ratio.value == 1.25


def test_crossing_is_the_same_implementation_called_from_python() -> None:
    content = make_run()
    name = "flat-stack/cpp[call_style=per-op]"
    find_cell(content, "flat-stack/cpp")["metrics"]["step_ns"] = scalar([1000.0] * 5)
    find_cell(content, name)["metrics"]["step_ns"] = scalar([24000.0] * 5)
    (crossing,) = first(content).crossings
    assert (crossing.native, crossing.called) == ("flat-stack/cpp", name)
    assert crossing.call_style == "per-op"
    assert crossing.ratio.value == 24.0


def test_there_is_one_headline_a_setting_in_the_order_of_the_run() -> None:
    run = parse_run(make_run())
    assert [headline.setting for headline in headlines(run)] == list(run.setting_by_key)


def test_without_a_native_core_the_python_tier_is_ranked() -> None:
    impls = ("hash-map/py", "vector/py", "flat-stack/py", "null/py", "flat-stack/numpy")
    headline = first(make_run(impls=impls))
    assert headline.structure is not None
    assert headline.structure.call_style == "per-op"
    assert [standing.impl for standing in headline.structure.standings] == [
        "vector/py",
        "flat-stack/py",
        "hash-map/py",
    ]
    assert headline.crossings == ()


@pytest.mark.parametrize("impls", [("flat-stack/cpp", "null/cpp"), ("mine",), ("null/cpp",)])
def test_one_manager_is_no_ranking(impls: tuple[str, ...]) -> None:
    assert first(make_run(impls=impls)).structure is None


def test_a_wrong_implementation_is_not_ranked() -> None:
    content = make_run()
    find_cell(content, "flat-stack/cpp").update(status="wrong", reason="x", metrics={})
    headline = first(content)
    assert headline.structure is not None
    assert [standing.impl for standing in headline.structure.standings] == [
        "vector/cpp",
        "hash-map/cpp",
    ]
    assert headline.crossings == ()


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("flat-stack/cpp", "flat-stack/cpp"),
        ("flat-stack/cpp[call_style=per-op]", "flat-stack/cpp"),
        ("flat-stack/cpp[call_style=per-op,row_pad=32]", "flat-stack/cpp[row_pad=32]"),
        ("flat-stack/cpp[row_pad=32]", "flat-stack/cpp[row_pad=32]"),
        ("odd]name[", "odd]name["),
    ],
)
def test_the_call_style_is_taken_out_of_a_name(name: str, bare: str) -> None:
    assert without_call_style(name) == bare
