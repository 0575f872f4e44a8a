"""What the two tables of a setting hold, whatever shows them."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.report.tables.cells import operation_tables, step_table
from blockmark.report.tables.model import Entry, Row, Table
from blockmark.runs.codec import parse_run
from blockmark.runs.floors import control_of
from run_factory import find_cell, make_run, scalar


def main_table(content: dict[str, Any], setting: int = 0) -> Table:
    run = parse_run(content)
    return step_table(run, run.settings[setting])


def row_of(table: Table, name: str) -> Row:
    return next(row for row in table.rows if row.name == name)


def entry_of(table: Table, name: str, title: str) -> Entry:
    position = [column.title for column in table.columns].index(title)
    return row_of(table, name).entries[position]


def test_rows_stand_by_call_style_cheapest_first_and_controls_last() -> None:
    table = main_table(make_run())
    assert [(group.title, [row.name for row in group.rows]) for group in table.groups] == [
        (
            "native loop",
            [
                "flat-stack/cpp",
                "vector/cpp",
                "open-hash+lru/cpp",
                "hash-map/cpp",
                "null/cpp",
                "raw-array/cpp",
            ],
        ),
        (
            "called from Python, once per operation",
            [
                "flat-stack/cpp",
                "vector/py",
                "flat-stack/py",
                "hash-map/py",
                "mine",
                "prefix-tree",
                "null/py",
            ],
        ),
        ("called from Python, once per step", ["flat-stack/numpy"]),
    ]
    assert [row.name for row in table.rows if row.control] == [
        "null/cpp",
        "raw-array/cpp",
        "null/py",
    ]


def test_the_numbers_of_a_row_are_those_of_the_run_in_one_unit() -> None:
    content = make_run()
    for setting in content["settings"]:
        setting["params"]["step_rate"] = 2000
    for cell in content["cells"]:
        cell["params"]["step_rate"] = 2000
    metrics = find_cell(content, "vector/cpp")["metrics"]
    metrics["step_ns"] = scalar([1520.0, 1500.0, 1560.0, 1520.0, 1520.0])
    metrics["pack_ns"] = scalar([4200.0] * 5)
    metrics["heap_allocations_per_step"] = scalar([1.128] * 5, "count", "count")
    metrics["busy_share_estimated"] = scalar([0.00304] * 5, "share", "derived")
    table = main_table(content)
    assert entry_of(table, "vector/cpp", "step us").text == "1.52"
    assert entry_of(table, "vector/cpp", "range").text == "1.50-1.56"
    assert entry_of(table, "vector/cpp", "pack us").text == "4.20"
    assert entry_of(table, "vector/cpp", "allocs").text == "1.13"
    assert entry_of(table, "vector/cpp", "at 2,000/s").text == "0.304 %"
    assert entry_of(table, "vector/cpp", "profile").text == "R"
    assert entry_of(table, "null/cpp", "profile").text == "control"
    assert entry_of(table, "null/cpp", "pack us").text == "-"


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("mine", 0, "wrong: step 12, operation 3104 (APPEND): block 7 belongs to two sequences"),
        ("mine", 1, "failed: round 2: the process was killed by signal 11"),
        ("open-hash+lru/cpp", 1, "timeout: round 1: no answer within 60 s"),
        ("prefix-tree", 0, "unavailable: it has no `fork`, which the step model needs"),
    ],
)
def test_what_was_not_measured_has_a_message_and_no_number(
    name: str, setting: int, message: str
) -> None:
    row = row_of(main_table(make_run(), setting), name)
    assert row.message == message
    assert row.entries == ()


def test_a_value_that_is_unavailable_is_not_a_zero_and_not_a_dash() -> None:
    content = make_run()
    find_cell(content, "vector/py")["metrics"]["heap_allocations_per_step"] = {
        "value": None,
        "unit": "count",
        "source": "count",
        "unavailable": "not seen",
    }
    assert entry_of(main_table(content), "vector/py", "allocs").missing


def test_a_column_without_any_number_is_left_out() -> None:
    content = make_run()
    for cell in content["cells"]:
        cell["metrics"].pop("pack_ns", None)
    titles = [column.title for column in main_table(content).columns]
    assert titles == ["step us", "range", "p99", "allocs", "core share", "profile"]


def test_a_run_without_the_step_model_has_only_messages_in_the_step_table() -> None:
    content = make_run()
    for cell in content["cells"]:
        lookups = {k: v for k, v in cell["metrics"].items() if k.startswith("lookup")}
        cell["metrics"] = lookups
    table = main_table(content)
    assert table.columns == ()
    assert [row.name for row in table.rows] == ["mine", "prefix-tree"]


def test_a_cost_that_the_empty_loop_explains_is_marked() -> None:
    content = make_run()
    # The quartiles of the control's rounds are 10 apart, so 3 spreads are 30.
    rounds = [300.0, 305.0, 310.0, 315.0, 320.0]
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar(rounds)
    find_cell(content, "flat-stack/cpp")["metrics"]["step_ns"] = scalar([334.0] * 5)
    find_cell(content, "vector/cpp")["metrics"]["step_ns"] = scalar([336.0] * 5)
    table = main_table(content)
    assert entry_of(table, "flat-stack/cpp", "step us").mark == "*"
    assert entry_of(table, "vector/cpp", "step us").mark == ""
    assert entry_of(table, "null/cpp", "step us").mark == ""
    assert table.notes[-1].startswith("* below resolution: not above the empty loop by 3 times")


def test_a_cost_below_its_floor_says_so() -> None:
    content = make_run()
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar([300.0] * 5)
    find_cell(content, "flat-stack/cpp")["metrics"]["step_ns"] = scalar([299.0] * 5)
    find_cell(content, "raw-array/cpp")["metrics"]["pack_ns"] = scalar([6010.0] * 5)
    find_cell(content, "vector/cpp")["metrics"]["pack_ns"] = scalar([5610.0] * 5)
    # A plain array is a floor that may be reached.
    find_cell(content, "hash-map/cpp")["metrics"]["pack_ns"] = scalar([6010.0] * 5)
    table = main_table(content)
    assert entry_of(table, "flat-stack/cpp", "step us").mark == "**"
    assert entry_of(table, "vector/cpp", "pack us").mark == "**"
    assert entry_of(table, "hash-map/cpp", "pack us").mark == ""
    assert table.notes[-1].startswith("** below its floor")


def test_the_control_of_a_cell_has_its_call_style_and_its_language() -> None:
    run = parse_run(make_run())
    cells = {cell.impl: cell for cell in run.cells_of(run.settings[0].key)}

    def control(name: str) -> str | None:
        found = control_of("null", cells[name], cells.values(), run.implementation_by_name)
        return None if found is None else found.impl

    assert control("vector/cpp") == "null/cpp"
    assert control("vector/py") == "null/py"
    # Compiled, but called from Python: neither empty loop is the one it went through.
    assert control("flat-stack/cpp[call_style=per-op]") is None
    assert control("flat-stack/numpy") is None


def test_notes_say_how_far_the_ranges_can_be_trusted() -> None:
    # By hand: 1 - .75^5 - .25^5 = .7617, and of 5^.66 = 2.893 rounds .5469.
    assert main_table(make_run(rounds=5)).notes == (
        "range: the least to the greatest of 5 rounds; holds the value in 76 % of cases if "
        "rounds are independent, in 55 % as rounds in a row are.",
    )
    # By hand: 1 - .75^11 - .25^11 = .9578; of 11^.66 = 4.868 rounds .7523.
    assert (
        "in 96 % of cases if rounds are independent, in 75 %"
        in (main_table(make_run(rounds=11)).notes[0])
    )
    single = main_table(make_run(rounds=1))
    assert single.notes == ("range: none of a single round.",)
    assert "range" not in [column.title for column in single.columns]
    assert "Quick run: not for decisions." in main_table(make_run(quick=True)).notes


def test_operations_are_rows_and_implementations_columns() -> None:
    run = parse_run(make_run())
    native, called = operation_tables(run, run.settings[0])
    assert native.corner == "native loop, ns"
    assert [column.title for column in native.columns] == [
        "flat-stack/cpp",
        "vector/cpp",
        "open-hash+lru/cpp",
        "hash-map/cpp",
        "null/cpp",
        "raw-array/cpp",
    ]
    assert [row.name for row in native.rows] == [
        "lookup, in order",
        "lookup, shuffled",
        "lookup chain, in order",
        "lookup chain, shuffled",
        "alloc + free, burst",
        "alloc + free, mixed",
        "can_allocate",
        "append a token",
        "pool alone: take",
        "pool alone: give",
        "fork, per block",
        "copy-on-write",
        "pack, us",
        "pack changed rows, us",
        "block tables, KiB",
        "pool and ref counts, KiB",
    ]
    # Without those that were not measured, and with the floor behind both call styles.
    assert [column.title for column in called.columns] == [
        "flat-stack/cpp[call_style=per-op]",
        "vector/py",
        "flat-stack/py",
        "hash-map/py",
        "flat-stack/numpy",
        "null/py",
    ]
    assert called.notes == (
        "Called once per step: flat-stack/numpy; the others once per operation.",
    )


def test_the_numbers_of_an_operation_are_those_of_the_run() -> None:
    content = make_run()
    find_cell(content, "raw-array/cpp")["metrics"]["lookup_chain_shuffled_ns"] = scalar(
        [3.0, 3.1, 3.2, 3.3, 3.4]
    )
    run = parse_run(content)
    row = row_of(operation_tables(run, run.settings[0])[0], "lookup chain, shuffled")
    assert row.entries[-1] == Entry("3.10", "3.00-3.40")
    memory = row_of(operation_tables(run, run.settings[0])[0], "block tables, KiB")
    assert memory.entries[0] == Entry("128")


def test_a_run_without_operations_has_no_second_table() -> None:
    content = make_run()
    for cell in content["cells"]:
        cell["metrics"] = {k: v for k, v in cell["metrics"].items() if k.startswith("step")}
    run = parse_run(content)
    assert operation_tables(run, run.settings[0]) == []
