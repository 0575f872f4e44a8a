"""Costs along an axis: quantities by hand, tables, and who is cheapest where."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.report.facts.growth import PACK_ROW, TAKE_GIVE, amount, lines_of, packed_rows
from blockmark.report.facts.sweep import Sweep, sweeps
from blockmark.report.findings.leaders import leaders
from blockmark.report.tables.along import report_tables, screen_tables
from blockmark.report.tables.model import Row, Table
from blockmark.runs.codec import parse_run
from blockmark.runs.model import Run
from run_factory import scalar
from swept_run_factory import make_swept_run

NATIVE = ("flat-stack/cpp", "vector/cpp", "hash-map/cpp", "null/cpp", "raw-array/cpp")
SIZES = (1024, 4096, 16_384, 65_536)


def parsed(content: dict[str, Any]) -> tuple[Run, Sweep]:
    run = parse_run(content)
    [sweep] = sweeps(run)
    return run, sweep


def cells_of(content: dict[str, Any], impl: str) -> list[dict[str, Any]]:
    return [cell for cell in content["cells"] if cell["impl"] == impl]


def put(content: dict[str, Any], impl: str, metric: str, costs: tuple[float, ...]) -> None:
    unit = "bytes" if metric.endswith("bytes") else "ns"
    for cell, cost in zip(cells_of(content, impl), costs, strict=True):
        cell["metrics"][metric] = scalar([cost] * 5, unit)


def table_of(tables: list[Table], start: str) -> Table:
    return next(table for table in tables if table.corner.startswith(start))


def row_of(table: Table, name: str) -> Row:
    return next(row for row in table.rows if row.name == name)


def texts(row: Row) -> list[str]:
    return ["n/a" if entry.missing else entry.text + entry.mark for entry in row.entries]


def test_a_sum_and_a_share_are_made_round_by_round() -> None:
    content = make_swept_run(values=(65_536,), impls=("flat-stack/cpp",))
    [cell] = content["cells"]
    cell["metrics"]["take_ns"] = scalar([1.0, 2.0, 3.0, 4.0, 5.0])
    cell["metrics"]["give_ns"] = scalar([0.5, 0.5, 0.5, 0.5, 1.5])
    cell["metrics"]["pack_ns"] = scalar([5120.0] * 5)
    run, _ = parsed(content)
    setting, found = run.settings[0], run.cells[0]
    both = amount(setting, found, TAKE_GIVE)
    assert both is not None
    assert both.values == (1.5, 2.5, 3.5, 4.5, 6.5)
    assert (both.value, both.low, both.high) == (2.5, 1.5, 6.5)
    # 256 rows fit: 65,536 blocks in rows of 256.
    row = amount(setting, found, PACK_ROW)
    assert row is not None
    assert (row.value, row.low, row.values) == (20.0, 20.0, (20.0,) * 5)


def test_half_of_a_sum_is_no_sum() -> None:
    content = make_swept_run(values=(65_536,), impls=("flat-stack/cpp", "vector/cpp"))
    del content["cells"][0]["metrics"]["give_ns"]
    content["cells"][1]["metrics"]["give_ns"] = {
        "value": None,
        "unit": "ns",
        "source": "clock",
        "unavailable": "no pool",
    }
    run, _ = parsed(content)
    assert amount(run.settings[0], run.cells[0], TAKE_GIVE) is None
    missing = amount(run.settings[0], run.cells[1], TAKE_GIVE)
    assert missing is not None
    assert (missing.value, missing.unavailable) == (None, "no pool")


@pytest.mark.parametrize(
    ("changes", "facts", "rows"),
    [
        ({}, {}, 256.0),
        ({"total_blocks": 1024}, {}, 4.0),
        ({"concurrency": 3}, {}, 3.0),
        ({"total_blocks": 100}, {}, None),
        ({"max_blocks_per_seq": "wide"}, {}, None),
        ({}, {"pack_rows": 40}, 40.0),
    ],
)
def test_the_rows_that_a_pack_writes(
    changes: dict[str, Any], facts: dict[str, Any], rows: float | None
) -> None:
    content = make_swept_run(values=(65_536,), impls=())
    content["settings"][0]["params"] |= changes
    content["settings"][0]["facts"] |= facts
    assert packed_rows(parse_run(content).settings[0]) == rows


def test_a_table_has_a_row_an_implementation_and_a_column_a_setting() -> None:
    content = make_swept_run(values=SIZES, impls=NATIVE)
    put(content, "vector/cpp", "step_ns", (1500.0, 1600.0, 1700.0, 3000.0))
    run, sweep = parsed(content)
    table = table_of(report_tables(run, sweep), "step")
    assert table.corner == "step, us"
    titles = [column.title for column in table.columns]
    assert titles == ["1,024", "4,096", "16,384", "65,536", "65,536/1,024"]
    assert [row.name for row in table.rows] == [
        "flat-stack/cpp",
        "vector/cpp",
        "hash-map/cpp",
        "null/cpp",
    ]
    assert texts(row_of(table, "vector/cpp")) == ["1.50", "1.60", "1.70", "3.00", "2.00x"]


def test_rows_are_in_the_order_of_the_last_setting_with_numbers() -> None:
    content = make_swept_run(values=SIZES, impls=NATIVE, refused=(65_536,))
    put_all = {"flat-stack/cpp": 9.0, "vector/cpp": 8.0, "hash-map/cpp": 7.0}
    for impl, cost in put_all.items():
        for cell in cells_of(content, impl)[:3]:
            cell["metrics"]["step_ns"] = scalar([cost] * 5)
    run, sweep = parsed(content)
    names = [line.impl for line in lines_of(run, sweep)["native"]]
    assert names == ["hash-map/cpp", "vector/cpp", "flat-stack/cpp", "null/cpp", "raw-array/cpp"]


def test_what_was_not_measured_has_a_word_in_its_place_and_the_ends_move() -> None:
    content = make_swept_run(values=SIZES, impls=NATIVE, refused=(65_536,))
    failed = cells_of(content, "vector/cpp")[1]
    failed |= {"status": "failed", "reason": "killed", "metrics": {}, "verified": None}
    put_first = cells_of(content, "flat-stack/cpp")[0]
    put_first["metrics"]["step_ns"] = scalar([1000.0] * 5)
    cells_of(content, "flat-stack/cpp")[2]["metrics"]["step_ns"] = scalar([1500.0] * 5)
    run, sweep = parsed(content)
    table = table_of(report_tables(run, sweep), "step")
    assert table.columns[-1].title == "16,384/1,024"
    assert texts(row_of(table, "vector/cpp"))[1:4:2] == ["failed", "n/a"]
    assert texts(row_of(table, "flat-stack/cpp"))[-1] == "1.50x"


def test_an_implementation_that_failed_everywhere_is_in_the_first_table_alone() -> None:
    content = make_swept_run(values=SIZES, impls=("flat-stack/cpp", "mine", "vector/py"))
    run, sweep = parsed(content)
    tables = report_tables(run, sweep)
    assert texts(row_of(tables[0], "mine")) == ["wrong"] * 4 + ["-"]
    assert all("mine" not in [row.name for row in table.rows] for table in tables[1:])


def test_a_wide_range_has_a_unit_with_each_value() -> None:
    content = make_swept_run(values=SIZES, impls=("flat-stack/cpp", "vector/cpp"))
    put(content, "flat-stack/cpp", "step_ns", (15.0, 1500.0, 150_000.0, 15_000_000.0))
    run, sweep = parsed(content)
    table = report_tables(run, sweep)[0]
    assert table.corner == "step"
    assert texts(row_of(table, "flat-stack/cpp")) == [
        "15.0 ns",
        "1.50 us",
        "150 us",
        "15.0 ms",
        "1,000,000x",
    ]


def test_the_screen_shows_single_operations_of_the_native_loop_alone() -> None:
    run, sweep = parsed(make_swept_run(values=SIZES, impls=(*NATIVE, "vector/py")))
    tables = screen_tables(run, sweep)
    assert [table.corner for table in tables] == [
        "step, us",
        "lookup chain, shuffled, ns",
        "alloc + free, burst, ns",
        "alloc + free, mixed, ns",
        "block tables, KiB",
    ]
    assert "vector/py" in [row.name for row in tables[0].rows]
    assert "vector/py" not in [row.name for row in tables[1].rows]
    # One floor a quantity: where a plain array does the work, the empty loop says less.
    assert [row.name for row in tables[0].rows if row.control] == ["null/cpp"]
    assert [row.name for row in tables[1].rows if row.control] == ["raw-array/cpp"]


def test_without_a_native_loop_the_screen_shows_what_there_is() -> None:
    run, sweep = parsed(make_swept_run(values=SIZES, impls=("vector/py", "flat-stack/py")))
    assert len(screen_tables(run, sweep)[1].rows) == 2


def test_long_numbers_are_shortened_on_the_screen_and_explained() -> None:
    run, sweep = parsed(make_swept_run(values=(*SIZES, 1_048_576), impls=NATIVE))
    table = screen_tables(run, sweep)[0]
    titles = [column.title for column in table.columns]
    assert titles == ["1Ki", "4Ki", "16Ki", "64Ki", "1Mi", "1Mi/1Ki"]
    assert "Ki is 1,024 and Mi 1,048,576." in table.notes
    run, sweep = parsed(make_swept_run(values=SIZES, impls=NATIVE))
    assert screen_tables(run, sweep)[0].columns[0].title == "1,024"


def test_over_concurrency_the_step_of_a_sequence_is_told_too() -> None:
    run, sweep = parsed(make_swept_run("concurrency", (1, 16, 256, 4096), impls=NATIVE))
    corners = [table.corner for table in screen_tables(run, sweep)]
    assert corners[:2] == ["step, us", "step, per sequence, ns"]


def test_a_sweep_of_the_pool_alone_has_its_table() -> None:
    content = make_swept_run("batch", (1, 8, 64, 512), impls=NATIVE)
    for cell in content["cells"]:
        cell["metrics"] = {k: v for k, v in cell["metrics"].items() if k in ("take_ns", "give_ns")}
    run, sweep = parsed(content)
    [table] = screen_tables(run, sweep)
    assert table.corner == "pool alone: take + give, ns"


def test_settings_of_several_axes_are_columns_without_a_growth() -> None:
    content = make_swept_run(
        "block_size", (1, 16), impls=NATIVE, second_axis=("pool", ("fresh", "burst"))
    )
    run, sweep = parsed(content)
    titles = [column.title for column in screen_tables(run, sweep)[0].columns]
    assert titles == ["1, fresh", "1, burst", "16, fresh", "16, burst"]
    assert leaders(run, sweep) is None


def test_a_cost_below_resolution_is_marked() -> None:
    content = make_swept_run(values=SIZES, impls=NATIVE)
    for impl, costs in (
        ("null/cpp", [300.0, 305.0, 310.0, 315.0, 320.0]),
        ("flat-stack/cpp", [310.0] * 5),
    ):
        cells_of(content, impl)[0]["metrics"]["step_ns"] = scalar(costs)
    run, sweep = parsed(content)
    table = report_tables(run, sweep)[0]
    assert texts(row_of(table, "flat-stack/cpp"))[0] == "0.310*"
    assert table.notes[-1].startswith("* below resolution")


def test_the_crossing_of_two_lines_is_told() -> None:
    content = make_swept_run(values=SIZES, impls=("flat-stack/cpp", "vector/cpp", "null/cpp"))
    only = ("step_ns", "table_bytes")
    for cell in content["cells"]:
        cell["metrics"] = {k: v for k, v in cell["metrics"].items() if k in only}
    put(content, "flat-stack/cpp", "step_ns", (10.0, 20.0, 30.0, 40.0))
    put(content, "vector/cpp", "step_ns", (20.0, 30.0, 20.0, 20.0))
    put(content, "flat-stack/cpp", "table_bytes", (100.0, 100.0, 100.0, 100.0))
    put(content, "vector/cpp", "table_bytes", (200.0, 200.0, 200.0, 200.0))
    finding = leaders(*parsed(content))
    assert finding is not None
    assert finding.topic == "Cheapest to within 5 %, over total_blocks (native loop)"
    assert finding.text == (
        "flat-stack/cpp up to 4,096, vector/cpp from 16,384 (step); "
        "flat-stack/cpp throughout (block tables)."
    )


def test_too_few_rounds_name_nobody_cheapest_but_by_what_is_counted() -> None:
    impls = ("flat-stack/cpp", "vector/cpp")
    content = make_swept_run(values=SIZES, impls=impls, rounds=3)
    for cell in content["cells"]:
        cell["metrics"] = {k: cell["metrics"][k] for k in ("step_ns", "table_bytes")}
    finding = leaders(*parsed(content))
    assert finding is not None
    assert "step" not in finding.text
    assert "(block tables)" in finding.text


def test_a_lead_of_less_than_five_per_cent_changes_nothing() -> None:
    content = make_swept_run(values=SIZES, impls=("flat-stack/cpp", "vector/cpp"))
    for cell in content["cells"]:
        cell["metrics"] = {"step_ns": cell["metrics"]["step_ns"]}
    put(content, "flat-stack/cpp", "step_ns", (100.0, 100.0, 100.0, 100.0))
    put(content, "vector/cpp", "step_ns", (110.0, 96.0, 90.0, 98.0))
    finding = leaders(*parsed(content))
    assert finding is not None
    assert finding.text == "flat-stack/cpp up to 4,096, vector/cpp from 16,384 (step)."


def test_a_gap_does_not_end_a_lead_and_one_alone_leads_nothing() -> None:
    content = make_swept_run(values=SIZES, impls=("flat-stack/cpp", "vector/cpp"), refused=(4096,))
    for cell in content["cells"]:
        cell["metrics"] = {k: v for k, v in cell["metrics"].items() if k == "step_ns"}
    finding = leaders(*parsed(content))
    assert finding is not None
    assert finding.text == "flat-stack/cpp throughout (step)."
    assert leaders(*parsed(make_swept_run(values=SIZES, impls=("vector/cpp", "null/cpp")))) is None


def test_only_one_profile_is_ranked() -> None:
    impls = ("flat-stack/cpp", "vector/cpp", "open-hash+lru/cpp")
    content = make_swept_run(values=SIZES, impls=impls)
    put(content, "open-hash+lru/cpp", "step_ns", (1.0, 1.0, 1.0, 1.0))
    finding = leaders(*parsed(content))
    assert finding is not None
    assert "open-hash" not in finding.text
