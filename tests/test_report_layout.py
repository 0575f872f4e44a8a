"""A table in characters: nothing cut, nothing wrapped that is a number, at any width."""

from __future__ import annotations

import re

import pytest

from blockmark.report.tables.cells import operation_tables, step_table
from blockmark.report.tables.layout import cell_width, layout, wrap
from blockmark.report.tables.model import Column, Entry, Group, Row, Table
from blockmark.runs.codec import parse_run
from run_factory import make_run


def lines_of(table: Table, width: int) -> list[str]:
    return ["".join(text for text, _ in line) for line in layout(table, width, str)]


def small_table(*rows: Row) -> Table:
    columns = (Column("step us"), Column("95 %", "right"), Column("profile", "word"))
    return Table("", columns, (Group("native loop", rows),))


def row(name: str, *texts: str) -> Row:
    return Row(name, tuple(Entry(text) for text in texts))


TWO = small_table(
    row("flat-stack/cpp", "1.21", "1.19-1.24", "R"), row("hash-map/cpp", "17.9", "17.6-18.4", "R")
)


def test_a_wide_screen_has_one_line_a_row_and_aligned_decimal_points() -> None:
    assert lines_of(TWO, 80) == [
        "                  step us       95 %  profile",
        "native loop",
        "  flat-stack/cpp     1.21  1.19-1.24        R",
        "  hash-map/cpp      17.9   17.6-18.4        R",
    ]


def test_the_gap_narrows_before_anything_else_gives_way() -> None:
    width = max(map(len, lines_of(TWO, 80)))
    assert lines_of(TWO, width - 1) == [
        "                 step us      95 % profile",
        "native loop",
        "  flat-stack/cpp    1.21 1.19-1.24       R",
        "  hash-map/cpp     17.9  17.6-18.4       R",
    ]


def test_a_long_name_is_folded_between_its_parts() -> None:
    table = small_table(row("flat-stack/cpp[row_pad=32]", "1.21", "1.19-1.24", "R"))
    assert lines_of(table, 46) == [
        "                     step us      95 % profile",
        "native loop",
        "  flat-stack/cpp",
        "  [row_pad=32]          1.21 1.19-1.24       R",
    ]


def test_columns_are_stacked_where_they_do_not_fit_beside_each_other() -> None:
    assert lines_of(TWO, 36) == [
        "                  step us       95 %",
        "native loop",
        "  flat-stack/cpp     1.21  1.19-1.24",
        "  hash-map/cpp      17.9   17.6-18.4",
        "",
        "                  profile",
        "native loop",
        "  flat-stack/cpp        R",
        "  hash-map/cpp          R",
    ]


def test_on_a_very_narrow_screen_each_value_has_its_own_line() -> None:
    assert lines_of(TWO, 20)[:5] == [
        "native loop",
        "  flat-stack/cpp",
        "    step us 1.21",
        "    95 % 1.19-1.24",
        "    profile R",
    ]


def test_a_message_stands_in_place_of_numbers_and_is_wrapped_beside_the_name() -> None:
    table = small_table(
        row("vector/cpp", "1.52", "1.49-1.56", "R"),
        Row("mine", message="wrong: step 12, operation 3104: block 7 belongs to two sequences"),
    )
    assert lines_of(table, 50)[-2:] == [
        "  mine        wrong: step 12, operation 3104:",
        "              block 7 belongs to two sequences",
    ]


def test_a_mark_does_not_move_the_decimal_point() -> None:
    table = Table(
        "",
        (Column("ns"),),
        (Group("", (Row("a", (Entry("0.31", mark="*"),)), row("b", "17.9"), row("c", "-"))),),
    )
    assert lines_of(table, 40) == ["       ns", "a   0.31*", "b  17.9", "c       -"]


def test_wide_letters_take_two_cells_each() -> None:
    table = small_table(row("内存池", "1.21", "1.19-1.24", "R"), row("abc", "1.5", "1-2", "R"))
    assert {cell_width(line) for line in lines_of(table, 80)[2:]} == {cell_width("  内存池") + 29}


def test_an_unavailable_value_is_a_word_and_no_number() -> None:
    table = Table("", (Column("p99"),), (Group("", (Row("a", (Entry(missing=True),)),)),))
    assert lines_of(table, 40) == ["   p99", "a  n/a"]


@pytest.mark.parametrize("width", [*range(14, 64, 3), 64, 80, 100, 120, 200])
def test_every_number_of_a_run_is_there_whole_at_every_width(width: int) -> None:
    run = parse_run(make_run())
    for table in (step_table(run, run.settings[0]), *operation_tables(run, run.settings[0])):
        lines = lines_of(table, width)
        words = " ".join(lines).split()
        for each in table.rows:
            for entry in each.entries:
                # A share is two words: the number and the sign.
                assert set(entry.text.split()) <= set(words), (entry, width)
        if width >= 30:
            assert all(cell_width(line) <= width for line in lines)
        titles = re.sub(r"\s+", "", " ".join(lines))
        for column in table.columns:
            if not column.is_name:
                assert column.title.replace(" ", "") in titles


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 9, ["one two", "three"]),
        ("", 9, [""]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("open-hash+lru/cpp", 10, ["open-hash", "+lru/cpp"]),
        ("x[a=1,b=2]", 6, ["x[a=1,", "b=2]"]),
        ("内存池内存", 5, ["内存", "池内", "存"]),
        ("a b", 0, ["a", "b"]),
        ("5 rounds, 77 ns", 12, ["5 rounds,", "77 ns"]),
        ("a share of 0.243 % is", 16, ["a share of", "0.243 % is"]),
        ("takes 1.50-1.56 us", 14, ["takes", "1.50-1.56 us"]),
        ("all 1,024 KiB", 7, ["all", "1,024", "KiB"]),
        ("lookups (2 operations each)", 14, ["lookups", "(2 operations", "each)"]),
        ("12 or 123456 sequences", 6, ["12 or", "123456", "sequen", "ces"]),
        ("g++ 12.2 Python", 10, ["g++ 12.2", "Python"]),
    ],
)
def test_text_is_wrapped_at_blanks_then_between_parts_then_anywhere(
    text: str, width: int, lines: list[str]
) -> None:
    assert wrap(text, width) == lines
