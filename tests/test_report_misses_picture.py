"""The pictures of cache misses, and of two runs: before and after."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from blockmark.report.facts.picture import Picture
from blockmark.report.folder import write_comparison
from blockmark.report.plots import draw_changes, draw_pictures
from blockmark.runs.codec import parse_run
from blockmark.verdict.compare import RunComparison, compare_runs
from counter_run_factory import COUNTED, SIMULATED, add_counters
from run_factory import find_cell, make_run, scalar

NATIVE = ("flat-stack/cpp", "vector/cpp", "null/cpp", "raw-array/cpp")
METRICS = ("step_ns", "step_latency_ns.p99", "heap_allocations_per_step")


def misses(content: dict[str, Any]) -> list[Picture]:
    return [one for one in draw_pictures(parse_run(content)) if one.file.startswith("misses")]


def test_misses_are_drawn_only_where_there_are_counters() -> None:
    assert misses(make_run()) == []
    found = misses(add_counters(make_run(impls=NATIVE)))
    assert [one.file for one in found] == ["misses-block_size-16.png", "misses-block_size-1.png"]
    assert "simulated (callgrind 3.19.0; L1D 32 KiB, 8 ways" in found[0].caption
    counted = misses(add_counters(make_run(impls=NATIVE), COUNTED))
    assert "Misses are counted by the processor." in counted[0].caption


def test_sources_are_never_in_one_picture() -> None:
    content = add_counters(make_run(impls=(*NATIVE, "vector/py", "null/py")), SIMULATED)
    found = [one for one in misses(content) if "16" in one.file]
    assert [one.file for one in found] == [
        "misses-block_size-16.png",
        "misses-callgrind-net-block_size-16.png",
    ]
    assert "above the empty loop" not in found[0].caption
    assert "above the empty loop" in found[1].caption


def test_the_same_run_gives_the_same_bytes_and_another_value_others() -> None:
    content = add_counters(make_run(impls=NATIVE))
    first = [one.data for one in misses(content)]
    assert first == [one.data for one in misses(add_counters(make_run(impls=NATIVE)))]
    metric = find_cell(content, "vector/cpp")["metrics"]["lookup_ordered_l1d_misses_per_op"]
    metric |= scalar([0.5], "count", "callgrind")
    changed = [one.data for one in misses(content)]
    assert changed[0] != first[0]
    assert changed[1] == first[1]


def test_counts_of_zero_alone_are_no_picture() -> None:
    content = add_counters(make_run(impls=NATIVE))
    for cell in content["cells"]:
        for name, metric in cell["metrics"].items():
            if name.endswith("l1d_misses_per_op"):
                metric |= scalar([0.0], "count", "callgrind")
    assert misses(content) == []


def compared(before: dict[str, Any], now: dict[str, Any]) -> RunComparison:
    return compare_runs(parse_run(before), parse_run(now), metrics=METRICS)


def test_before_and_after_has_a_picture_a_setting_and_the_same_bytes() -> None:
    now = make_run(slowdown={"vector/cpp": 1.2}, run_id="0002")
    found = draw_changes(compared(make_run(), now))
    assert [one.file for one in found] == [
        "before-after-block_size-16.png",
        "before-after-block_size-1.png",
    ]
    assert "run 0001, before" in found[0].caption
    assert [one.data for one in found] == [
        one.data for one in draw_changes(compared(make_run(), now))
    ]
    other = make_run(slowdown={"vector/cpp": 1.3}, run_id="0002")
    assert draw_changes(compared(make_run(), other))[0].data != found[0].data


def test_zeros_far_changes_and_what_cannot_be_compared_are_no_crash() -> None:
    before, now = make_run(rounds=1), make_run(rounds=1, run_id="0002")
    find_cell(now, "vector/cpp")["metrics"]["step_ns"] = scalar([1e9])
    find_cell(now, "flat-stack/cpp")["metrics"]["step_ns"] = scalar([1.0])
    find_cell(now, "null/cpp")["metrics"]["step_ns"] = scalar([0.0])
    allocations = scalar([3.0], "count", "count")
    find_cell(now, "flat-stack/cpp")["metrics"]["heap_allocations_per_step"] = allocations
    now["settings"][1]["facts"]["program_digest"] = "other"
    found = draw_changes(compared(before, now))
    # The second setting has another program, so none of its cells has a ratio.
    assert [one.file for one in found] == ["before-after-block_size-16.png"]


def test_a_comparison_is_a_folder_with_its_pictures_linked(tmp_path: Path) -> None:
    path = write_comparison(compared(make_run(), make_run(run_id="0002")), tmp_path / "new")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Run 0001 before, run 0002 now\n")
    linked = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert len(linked) == 2
    assert sorted(linked) == sorted(file.name for file in path.parent.glob("*.png"))
    assert "| vector/cpp |" in text


@pytest.mark.parametrize("name", ["$x^2$ \\alpha", "内存池/py", "a\nb", "x" * 300])
def test_hostile_names(name: str) -> None:
    content = add_counters(make_run(impls=("flat-stack/cpp", "vector/cpp")))
    content["implementations"][1]["name"] = name
    for cell in content["cells"]:
        cell["impl"] = name if cell["impl"] == "vector/cpp" else cell["impl"]
    assert len(misses(content)) == 2
    assert len(draw_changes(compared(content, content))) == 2
