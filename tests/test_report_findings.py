"""The sentences: ratios by hand, within one profile, and no winner without a difference."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.report.findings.gaps import general_gaps, unmeasured_cells, unmeasured_metrics
from blockmark.report.findings.headline import findings, share_range
from blockmark.runs.codec import parse_run
from run_factory import find_cell, make_run, scalar

NAMES = (
    "flat-stack/cpp",
    "vector/cpp",
    "hash-map/cpp",
    "open-hash+lru/cpp",
    "flat-stack/cpp[call_style=per-op]",
    "flat-stack/py",
    "vector/py",
    "hash-map/py",
)
COSTS = (1000.0, 1250.0, 15_000.0, 3_000.0, 24_000.0, 60_000.0, 50_000.0, 75_000.0)


def content_with(costs: dict[str, float]) -> dict[str, Any]:
    """A run whose first setting has these step costs, five equal rounds each."""
    content = make_run()
    for name, cost in costs.items():
        find_cell(content, name)["metrics"]["step_ns"] = scalar([cost] * 5)
    return content


def told(content: dict[str, Any]) -> dict[str, str]:
    run = parse_run(content)
    return {finding.topic: finding.text for finding in findings(run)[run.settings[0].key]}


def test_the_four_sentences_by_hand() -> None:
    assert told(content_with(dict(zip(NAMES, COSTS, strict=True)))) == {
        "Structure": "flat-stack 1.25x faster than vector, 15.0x than hash-map (native loop). "
        "Across profiles (RC against R): open-hash+lru costs 3.00x as much.",
        "Crossing": "from Python the same flat-stack costs 24.0x as much when called per "
        "operation.",
        "Language": "written in Python instead of C++, a step costs 5.00x as much with hash-map, "
        "40.0x as much with vector, 60.0x as much with flat-stack.",
        "In Python the ranking differs": "vector 1.20x faster than flat-stack, 1.50x than "
        "hash-map.",
    }


def test_where_python_ranks_as_cpp_does_nothing_is_said() -> None:
    costs = dict(zip(NAMES, COSTS, strict=True)) | {"flat-stack/py": 40_000.0}
    assert "In Python the ranking differs" not in told(content_with(costs))


def test_the_reason_for_pythons_ranking_is_told_beside_it() -> None:
    run = parse_run(content_with(dict(zip(NAMES, COSTS, strict=True))))
    found = {finding.topic: finding.why for finding in findings(run)[run.settings[0].key]}
    assert "index arithmetic" in found["In Python the ranking differs"]
    assert found["Structure"] == ""


def test_rounds_that_overlap_have_no_winner() -> None:
    content = content_with(dict(zip(NAMES, COSTS, strict=True)))
    values = {
        "flat-stack/cpp": [1000.0, 1010.0, 1020.0, 1050.0, 1100.0],
        "vector/cpp": [1001.0, 1012.0, 1019.0, 1051.0, 1102.0],
    }
    for name, rounds in values.items():
        find_cell(content, name)["metrics"]["step_ns"] = scalar(rounds)
    assert told(content)["Structure"].startswith("flat-stack 14.9x faster than hash-map; no ")
    assert "no difference seen to vector" in told(content)["Structure"]


@pytest.mark.parametrize(("rounds", "words"), [(1, "1 round"), (3, "3 rounds"), (4, "4 rounds")])
def test_too_few_rounds_name_no_winner_and_no_factor(rounds: int, words: str) -> None:
    content = make_run(rounds=rounds)
    for name, cost in zip(NAMES, COSTS, strict=True):
        find_cell(content, name)["metrics"]["step_ns"] = scalar([cost] * rounds)
    # 4 rounds a side come to one in 35 by chance alone, all of one below all of the other.
    assert told(content) == {
        "Structure": f"flat-stack leads here, which {words} can't show: that takes 5 rounds or "
        "more (native loop).",
    }


def test_one_class_under_two_names_has_no_winner() -> None:
    content = make_run(impls=("flat-stack/cpp", "vector/cpp"), rounds=1)
    for name, cost in (("flat-stack/cpp", 1000.0), ("vector/cpp", 1001.0)):
        find_cell(content, name)["metrics"]["step_ns"] = scalar([cost])
    assert told(content)["Structure"] == "flat-stack: no difference seen to vector (native loop)."


def test_shares_that_rounds_do_not_tell_apart_have_no_names() -> None:
    content = make_run(impls=("flat-stack/cpp", "hash-map/py"))
    for part in (*content["settings"], *content["cells"]):
        part["params"]["step_rate"] = 2000
    for name, share in (("flat-stack/cpp", 0.00242), ("hash-map/py", 0.178)):
        entry = scalar([share] * 3, "share", "derived")
        find_cell(content, name)["metrics"]["busy_share_estimated"] = entry
    run = parse_run(content)
    assert share_range(run, run.settings[0]) == (
        "At 2,000 steps/s a block manager takes 0.242 % to 17.8 % of a core."
    )


def test_a_factor_of_a_cost_below_the_empty_loop_bears_its_mark() -> None:
    content = content_with(dict(zip(NAMES, COSTS, strict=True)))
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar([2000.0] * 5)
    assert told(content)["Crossing"] == (
        "from Python the same flat-stack costs 24.0x as much** when called per operation."
    )


def test_one_implementation_alone_is_compared_with_nothing() -> None:
    assert told(make_run(impls=("flat-stack/cpp",))) == {}


def test_nothing_measured_tells_nothing() -> None:
    content = make_run(impls=("prefix-tree",))
    assert told(content) == {}
    run = parse_run(content)
    assert share_range(run, run.settings[0]) == ""


def test_the_share_of_a_core_from_the_cheapest_to_the_dearest() -> None:
    content = make_run(impls=("flat-stack/cpp", "hash-map/py", "null/cpp"))
    for part in (*content["settings"], *content["cells"]):
        part["params"]["step_rate"] = 2000
    for name, share in (("flat-stack/cpp", 0.00242), ("hash-map/py", 0.178)):
        entry = scalar([share] * 5, "share", "derived")
        find_cell(content, name)["metrics"]["busy_share_estimated"] = entry
    run = parse_run(content)
    assert share_range(run, run.settings[0]) == (
        "At 2,000 steps/s a block manager takes 0.242 % of a core with flat-stack/cpp, and "
        "17.8 % with hash-map/py."
    )


def test_a_step_of_zero_is_no_divisor() -> None:
    content = content_with(dict(zip(NAMES, COSTS, strict=True)) | {"flat-stack/cpp": 0.0})
    assert "Structure" in told(content)


def test_cells_without_numbers_are_named_with_their_setting_where_it_matters() -> None:
    assert unmeasured_cells(parse_run(make_run())) == [
        "mine (block_size 16): wrong: step 12, operation 3104 (APPEND): block 7 belongs to two "
        "sequences",
        "prefix-tree: unavailable: it has no `fork`, which the step model needs",
        "open-hash+lru/cpp (block_size 1): timeout: round 1: no answer within 60 s",
        "mine (block_size 1): failed: round 2: the process was killed by signal 11",
    ]


def test_reasons_that_differ_in_numbers_only_are_one_line() -> None:
    content = make_run(impls=("vector/py", "hash-map/py"))
    for name, samples in (("vector/py", "1,431"), ("hash-map/py", "35")):
        quantiles = find_cell(content, name)["metrics"]["step_latency_ns"]["quantiles"]
        quantiles["p99"] = {"value": None, "unavailable": f"needs 1,000 samples, had {samples}"}
    assert unmeasured_metrics(parse_run(content)) == [
        "step_latency_ns.p99 of vector/py, hash-map/py: needs 1,000 samples, had 35 to 1,431"
    ]


def test_many_names_are_counted() -> None:
    content = make_run()
    for cell in content["cells"]:
        if "take_ns" in cell["metrics"]:
            cell["metrics"]["take_ns"] = {
                "value": None,
                "unit": "ns",
                "source": "clock",
                "unavailable": "no pool",
            }
    lines = unmeasured_metrics(parse_run(content))
    assert lines == [
        "take_ns of hash-map/py, hash-map/cpp, vector/py, vector/cpp and 8 more: no pool"
    ]


def test_a_run_that_was_interrupted_says_so() -> None:
    assert general_gaps(parse_run(make_run(complete=False)))[-1].startswith("the run was interr")
