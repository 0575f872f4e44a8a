"""No allocation in a steady step: what is asserted of which cells."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.runs.codec import parse_run
from blockmark.verdict.allocations import is_named, judge_allocations, unmatched
from run_factory import find_cell, make_run, scalar

METRIC = "heap_allocations_per_step"


def run_with(values: dict[str, list[float]], **changes: Any) -> Any:
    content = make_run(impls=tuple(values), rounds=3, **changes)
    for impl, counted in values.items():
        for block_size in (16, 1):
            cell = find_cell(content, impl, block_size)
            cell["metrics"][METRIC] = scalar(counted, "count", "count")
    return content


@pytest.mark.parametrize(
    ("impl", "pattern", "meant"),
    [
        ("flat-stack/cpp", "flat-stack/cpp", True),
        ("flat-stack/cpp", "flat-*", True),
        ("flat-stack/cpp", "*/cpp", True),
        ("flat-stack/cpp", "flat-stack", False),
        ("flat-stack/cpp", "FLAT-*", False),
        ("flat-stack/cpp[row_pad=32]", "flat-stack/cpp", True),
        ("flat-stack/cpp[row_pad=32]", "flat-stack/cpp[row_pad=32]", True),
        ("flat-stack/cpp[row_pad=32]", "*row_pad=32?", True),
        ("flat-stack/cpp", "flat-stack/cpp[row_pad=32]", False),
        ("flat-stack/cpp", "", False),
    ],
)
def test_whom_a_pattern_means(impl: str, pattern: str, meant: bool) -> None:
    assert is_named(impl, pattern) is meant
    assert unmatched([pattern], ["vector/py", impl]) == (() if meant else (pattern,))


def test_zero_in_every_round_holds() -> None:
    run = parse_run(run_with({"flat-stack/cpp": [0, 0, 0], "vector/cpp": [0.25, 0.25, 0.25]}))
    found = judge_allocations(run, ["flat-*"])
    assert (found.broken, found.unknown) == ((), ())


def test_one_allocation_in_one_round_breaks_it() -> None:
    run = parse_run(run_with({"flat-stack/cpp": [0, 0.25, 0], "vector/cpp": [0, 0, 0]}))
    found = judge_allocations(run, ["*"])
    assert found.broken == (
        "flat-stack/cpp (block_size 16): 0.25 heap allocations in a steady step; asserted zero",
        "flat-stack/cpp (block_size 1): 0.25 heap allocations in a steady step; asserted zero",
    )
    assert found.unknown == ()


def test_numbers_stay_readable() -> None:
    run = parse_run(run_with({"vector/cpp": [1360.4, 0, 0]}))
    assert "vector/cpp (block_size 16): 1,360 heap" in judge_allocations(run, ["*"]).broken[0]


def test_what_was_not_counted_cannot_be_asserted() -> None:
    content = run_with({"flat-stack/cpp": [0, 0, 0], "mine": [0, 0, 0]})
    reason = "counting needs the C++ core, which is not built"
    find_cell(content, "flat-stack/cpp")["metrics"][METRIC] = {
        "value": None,
        "unit": "count",
        "source": "count",
        "unavailable": reason,
    }
    del find_cell(content, "flat-stack/cpp", 1)["metrics"][METRIC]
    for block_size in (16, 1):
        broken = find_cell(content, "mine", block_size)
        broken["metrics"] = {}
    found = judge_allocations(parse_run(content), ["flat-stack/cpp", "mine"])
    assert found.broken == ()
    start = "heap allocations can't be asserted"
    assert found.unknown[:2] == (
        f"flat-stack/cpp (block_size 16): {start}: {reason}",
        "mine (block_size 16): " + start + ": wrong: step 12, operation 3104 (APPEND): "
        "block 7 belongs to two sequences",
    )
    assert found.unknown[2] == f"flat-stack/cpp (block_size 1): {start}: not measured"
    assert len(found.unknown) == 4


def test_a_control_is_not_judged() -> None:
    run = parse_run(run_with({"null/cpp": [1, 1, 1]}))
    found = judge_allocations(run, ["*"])
    assert (found.broken, found.unknown) == ((), ())


def test_a_lone_setting_has_no_name() -> None:
    content = run_with({"vector/cpp": [1, 1, 1]})
    content["settings"], content["cells"] = content["settings"][:1], content["cells"][:1]
    (line,) = judge_allocations(parse_run(content), ["*"]).broken
    assert line == "vector/cpp: 1 heap allocations in a steady step; asserted zero"
