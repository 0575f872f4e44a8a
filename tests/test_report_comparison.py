"""Comparisons as tables, on the screen and in Markdown."""

from __future__ import annotations

import io
from typing import Any

from blockmark.report.comparison import print_implementations, print_runs
from blockmark.report.markdown import render_sheet
from blockmark.report.tables.comparison import (
    Sheet,
    implementations_sheet,
    runs_sheet,
    short_metrics,
)
from blockmark.report.tables.model import Row
from blockmark.runs.codec import parse_run
from blockmark.verdict.compare import compare_implementations, compare_runs
from run_factory import find_cell, make_run, scalar

STEP = ("step_ns",)


def rows_of(sheet: Sheet, setting: int = 0) -> dict[str, list[str]]:
    """The texts of a setting's rows by name; a message alone is one text."""
    return {row.name: texts(row) for row in sheet.sections[setting].table.rows}


def texts(row: Row) -> list[str]:
    return [row.message] if row.message else [entry.text for entry in row.entries]


def run_with(**costs: list[float]) -> dict[str, Any]:
    """A run whose first setting has these rounds of step_ns; `__` stands for `/`."""
    content = make_run(rounds=5)
    for name, rounds in costs.items():
        impl = name.replace("__", "/").replace("_", "-")
        find_cell(content, impl)["metrics"]["step_ns"] = scalar(rounds)
    return content


def test_implementations_against_the_reference_by_hand() -> None:
    content = run_with(flat_stack__cpp=[1000.0] * 5, vector__cpp=[1250.0] * 5)
    find_cell(content, "open-hash+lru/cpp")["metrics"]["step_ns"] = scalar([4000.0] * 5)
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar([300.0] * 5)
    find_cell(content, "flat-stack/cpp[call_style=per-op]")["metrics"]["step_ns"] = scalar(
        [24_000.0] * 5
    )
    sheet = implementations_sheet(compare_implementations(parse_run(content), metrics=STEP))
    rows = rows_of(sheet)
    assert rows["flat-stack/cpp"] == ["1.00 us", "1", "-", "reference"]
    assert rows["vector/cpp"] == ["1.25 us", "1.25", "1.25-1.25", "worse"]
    assert rows["open-hash+lru/cpp"] == ["4.00 us", "4.00", "4.00-4.00", "worse, other profile"]
    assert rows["null/cpp"] == ["0.300 us", "0.300", "0.300-0.300", "floor"]
    assert rows["flat-stack/cpp[call_style=per-op]"][3] == "worse, called otherwise"
    # The reference first, rivals by ratio, floors last.
    names = list(rows)
    assert names[0] == "flat-stack/cpp"
    assert names[1:3] == ["vector/cpp", "open-hash+lru/cpp"]
    assert names[-2:] == ["null/cpp", "null/py"]
    assert sheet.lead == ("Ratio: cost of an implementation / cost of flat-stack/cpp.",)
    assert (
        "Not compared: mine (decode, block_size 16): wrong: step 12, operation 3104 (APPEND): "
        "block 7 belongs to two sequences." in sheet.closing
    )


def test_two_runs_by_hand() -> None:
    before = parse_run(run_with(vector__cpp=[1500.0] * 5, flat_stack__cpp=[1000.0] * 5))
    now = parse_run(run_with(vector__cpp=[1800.0] * 5, flat_stack__cpp=[900.0] * 5))
    sheet = runs_sheet(compare_runs(before, now, metrics=STEP))
    rows = rows_of(sheet)
    assert rows["vector/cpp"] == ["1.50 us", "1.80 us", "1.20", "two times"]
    assert rows["flat-stack/cpp"] == ["1.00 us", "0.900 us", "0.900", "two times"]
    assert rows["null/cpp"][-1] == "floor"
    assert sheet.closing[-1].startswith("two times: the machine's state differs between two runs")


def test_a_ratio_formed_with_a_cost_at_its_floor_says_so() -> None:
    content = run_with(flat_stack__cpp=[1000.0] * 5, vector__cpp=[299.0] * 5)
    find_cell(content, "hash-map/cpp")["metrics"]["step_ns"] = scalar([301.0] * 5)
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar([300.0, 300, 300, 301, 301.0])
    sheet = implementations_sheet(compare_implementations(parse_run(content), metrics=STEP))
    assert rows_of(sheet)["vector/cpp"][-1] == "better, below the floor"
    assert rows_of(sheet)["hash-map/cpp"][-1] == "better, below resolution"
    assert any(line.startswith("below resolution, below the floor: ") for line in sheet.closing)


def test_what_sets_two_runs_apart_is_said_first_and_nothing_is_judged() -> None:
    before = parse_run(make_run())
    now = parse_run(make_run(machine={"cpu_model": "Other"}, quick=True))
    sheet = runs_sheet(compare_runs(before, now, metrics=STEP))
    assert sheet.lead == (
        "Ratio: now / before.",
        "Other machine: cpu_model was AMD EPYC (Zen 3) before and is Other now.",
        "Quick: the run now.",
    )
    assert rows_of(sheet)["vector/cpp"][-1] == "other machine"


def test_cells_of_another_program_are_incomparable_and_have_no_ratio() -> None:
    content = make_run()
    content["settings"][0]["facts"]["program_digest"] = "other"
    sheet = runs_sheet(compare_runs(parse_run(make_run()), parse_run(content), metrics=STEP))
    message = rows_of(sheet)["vector/cpp"][0]
    assert message.startswith("incomparable: other program")


def test_cells_that_only_one_run_has_are_named() -> None:
    before = parse_run(make_run(impls=("flat-stack/cpp", "vector/cpp")))
    now = parse_run(make_run(impls=("flat-stack/cpp", "hash-map/cpp")))
    closing = runs_sheet(compare_runs(before, now, metrics=STEP)).closing
    assert closing[:2] == (
        "Only before: vector/cpp (decode, block_size 16), vector/cpp (decode, block_size 1).",
        "Only now: hash-map/cpp (decode, block_size 16), hash-map/cpp (decode, block_size 1).",
    )


def test_a_single_round_has_a_ratio_but_no_reading() -> None:
    run = parse_run(make_run(rounds=1))
    row = rows_of(implementations_sheet(compare_implementations(run, metrics=STEP)))["vector/cpp"]
    assert row[2:] == ["-", "too few rounds"]


def test_a_count_has_no_unit() -> None:
    run = parse_run(make_run())
    sheet = implementations_sheet(
        compare_implementations(run, metrics=("heap_allocations_per_step",))
    )
    assert rows_of(sheet)["hash-map/cpp"][0] == "256"


def test_both_are_shown_on_any_screen_and_in_markdown() -> None:
    content = make_run()
    for part in (*content["implementations"], *content["cells"]):
        for key in ("name", "impl"):
            if part.get(key) == "vector/cpp":
                part[key] = "[a|b]\n内存池"
    run = parse_run(content)
    metrics = short_metrics([run])
    one = compare_implementations(run, metrics=metrics)
    two = compare_runs(run, run, metrics=metrics)
    for width in (80, 60, 30):
        first, second = io.StringIO(), io.StringIO()
        print_implementations(one, stream=first, width=width)
        print_runs(two, stream=second, width=width)
        assert "1.26" in first.getvalue()
        for text in (first.getvalue(), second.getvalue()):
            assert "step_ns" in text
            assert "step_latency_ns.p99" in text
            assert "[a|b]?" in text
    for sheet in (implementations_sheet(one), runs_sheet(two)):
        assert "\\[a\\|b]?内存池" in render_sheet(sheet)


def test_the_short_list_of_metrics_is_what_the_runs_have() -> None:
    run = parse_run(make_run())
    assert short_metrics([run]) == (
        "step_ns",
        "step_latency_ns.p99",
        "pack_ns",
        "lookup_chain_shuffled_ns",
        "alloc_free_interleaved_ns",
        "append_ns",
        "heap_allocations_per_step",
    )
    content = make_run()
    for cell in content["cells"]:
        cell["metrics"] = {k: v for k, v in cell["metrics"].items() if k == "take_ns"}
    assert short_metrics([parse_run(content)]) is None
