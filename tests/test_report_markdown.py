"""report.md: a whole text, and tables that a Markdown parser reads back as they were."""

from __future__ import annotations

import re
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from blockmark.report.facts.picture import Picture
from blockmark.report.markdown import render_brief, render_main_table, render_report, render_table
from blockmark.report.tables.cells import step_table
from blockmark.runs.codec import parse_run
from golden_text import assert_golden
from run_factory import find_cell, make_run, scalar
from swept_run_factory import make_swept_run, make_workload_run

PARSER = MarkdownIt("commonmark").enable("table")
HOSTILE = [
    "a|b",
    "[x](http://example.org)",
    "<script>alert(1)</script>",
    "*b* _i_ `c`",
    "a\nb",
    "内存池",
    "-->",
    "<!-- END: decode -->",
    "\\",
]


def tables(markdown: str) -> list[list[list[str]]]:
    """The texts of all tables: table, row, cell."""
    found: list[list[list[str]]] = []
    inside = False
    for token in PARSER.parse(markdown):
        if token.type in ("table_open", "table_close"):
            inside = token.type == "table_open"
            found += [[]] if inside else []
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and inside:
            found[-1][-1].append(text_of(token))
    return found


def text_of(token: Token) -> str:
    return "".join(child.content for child in token.children or [])


def rename(content: dict[str, Any], old: str, new: str) -> None:
    for info in content["implementations"]:
        if info["name"] == old:
            info["name"] = new
    for cell in content["cells"]:
        if cell["impl"] == old:
            cell["impl"] = new


def test_the_whole_report() -> None:
    run = parse_run(make_run())
    setting = run.settings[0].key
    pictures = [Picture("cost-block_size-16.png", "Cost: decode", "How to read.", setting, b"")]
    assert_golden("report.md", render_report(run, pictures))


def test_the_main_table_alone() -> None:
    text = render_main_table(parse_run(make_run(quick=True)))
    assert_golden("main_table.md", text)
    assert text.startswith("**Quick run: not for decisions.**")
    assert len(tables(text)) == 2


def test_the_answer_alone_has_managers_that_were_measured_and_nothing_else() -> None:
    text = render_brief(parse_run(make_run(quick=True)))
    assert text.startswith("**Quick run: not for decisions.**")
    assert text.index("**Structure**") < text.index("**Crossing**") < text.index("| structure |")
    (rows,) = tables(text)
    names = [row[0] for row in rows if row[1]]
    assert {"flat-stack/cpp", "vector/cpp", "vector/py"} <= set(names)
    assert not {"null/cpp", "null/py", "mine", "prefix-tree"} & set(names)
    # 5 rounds, so each cost has a range; the setting has no step rate, so no share of a core.
    assert all(re.fullmatch(r"[\d,.]+-[\d,.]+", row[2]) for row in rows[1:] if row[1])


def test_a_cost_below_its_floor_has_its_star_in_the_short_table_too() -> None:
    content = make_run()
    find_cell(content, "null/cpp")["metrics"]["step_ns"] = scalar([300.0] * 5)
    find_cell(content, "flat-stack/cpp")["metrics"]["step_ns"] = scalar([299.0] * 5)
    text = render_brief(parse_run(content))
    (rows,) = tables(text)
    (first,) = [row for row in rows if row[0] == "flat-stack/cpp" and row[1].startswith("0.299")]
    assert first[1].replace("\\", "").endswith("**")
    assert "below its floor" in text


def test_the_answer_of_a_run_of_nothing_is_empty() -> None:
    assert render_brief(parse_run(make_run(impls=(), settings=[], cells=[]))) == ""


FEW = ("flat-stack/cpp", "vector/cpp", "null/cpp")


def test_the_main_table_of_many_settings_is_one() -> None:
    text = render_main_table(parse_run(make_swept_run(impls=FEW)))
    assert_golden("main_table_growth.md", text)
    assert len(tables(text)) == 1


def test_the_growth_stands_before_its_settings_with_pictures_and_tables() -> None:
    run = parse_run(make_swept_run(values=(1024, 4096, 16_384, 65_536), impls=FEW))
    picture = Picture("growth.png", "Growth", "How to read.", None, b"", "scale-pool")
    text = render_report(run, [picture])
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads[3:8] == [
        "scale-pool over total_blocks",
        *(f"scale-pool, total_blocks {size}" for size in ("1,024", "4,096", "16,384", "65,536")),
    ]
    growth = text[text.index(f"## {heads[3]}") : text.index(f"## {heads[4]}")]
    assert "![Growth](growth.png)" in growth
    assert "1,024 to 65,536 blocks x 16 tokens" in growth
    assert [rows[0][0] for rows in tables(growth)] == [
        "step, us",
        "lookup chain, shuffled, ns",
        "alloc + free, burst, ns",
        "alloc + free, mixed, ns",
        "pack, per row, ns",
        "pool alone: take, ns",
        "pool alone: give, ns",
        "block tables, KiB",
    ]
    assert tables(growth)[0][0] == [
        "step, us",
        "1,024",
        "4,096",
        "16,384",
        "65,536",
        "65,536/1,024",
    ]
    # The answer is told for the two ends.
    answer = text[text.index("## Answer") : text.index("## Setting")]
    assert "- **Cheapest to within 5 %, over total" in answer
    assert re.findall(r"^scale-pool.*:$", answer, re.MULTILINE) == [
        "scale-pool, total_blocks 1,024:",
        "scale-pool, total_blocks 65,536:",
    ]


def test_what_a_load_was_about_is_a_small_table() -> None:
    text = render_report(parse_run(make_workload_run("beam")))
    rows = next(rows for rows in tables(text) if rows[0][0] == "The load")
    assert rows[1:] == [
        ["workload", "beam search"],
        ["running sequences, mean", "256"],
        ["forks a step", "12.5"],
        ["copies a step", "8.25"],
        ["bytes copied a step", "16.5 MiB"],
        ["table entries shared", "62.0 %"],
    ]
    assert "The load" not in render_report(parse_run(make_run()))


def test_settings_without_a_picture_are_owned_up_to() -> None:
    content = make_swept_run(
        "block_size", (1, 16, 64), impls=FEW, second_axis=("pool", ("fresh", "burst"))
    )
    run = parse_run(content)
    pictures = [
        Picture(f"{place}.png", "T", "C.", setting.key, b"")
        for place, setting in enumerate(run.settings[:3])
    ]
    text = render_report(run, pictures)
    assert (
        "Pictures are of 3 of the 6 settings: there is no one axis of numbers to draw against, "
        "only block_size, pool." in text
    )
    assert "Pictures are of" not in render_report(run, [])


def test_cells_of_many_settings_that_have_no_numbers_are_gathered() -> None:
    text = render_report(parse_run(make_swept_run(refused=(262_144, 1_048_576))))
    lines = text.splitlines()
    assert (
        "- every implementation (total_blocks 262,144 to 1,048,576): unavailable: it would take "
        "about 62.5 to 75.0 GiB, more than half of this machine's memory (11.8 GiB); lower "
        "total_blocks, concurrency or max_blocks_per_seq" in lines
    )
    assert sum(line.startswith("- mine (total_blocks 1,024 to 65,536)") for line in lines) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_facts_and_axes_read_back_as_they_are(name: str) -> None:
    content = make_workload_run("serving", (1, 2, 4, 8), survival=name, scheduler_notes=[name])
    for place, part in enumerate(content["settings"]):
        part["facts"]["trace"]["file"] = f"{name}{place}"
    text = render_report(parse_run(content))
    shown = name.replace("\n", "?")
    rows = [row for rows in tables(text) for row in rows]
    assert ["survival", shown] in rows
    assert ["trace", f"{shown}0 (azure)"] in rows
    for rows_of_one in tables(text):
        assert len({len(row) for row in rows_of_one}) == 1
    assert not [token for token in PARSER.parse(text) if token.type == "html_block"]


def test_a_table_reads_back_with_the_same_cells() -> None:
    run = parse_run(make_run())
    table = step_table(run, run.settings[0])
    [rows] = tables(render_table(table))
    assert rows[0] == ["", *(column.title for column in table.columns)]
    assert len({len(row) for row in rows}) == 1
    # A name may stand in two groups, so rows are told apart by their whole text.
    read = {tuple(row) for row in rows[1:]}
    for row in table.rows:
        if row.entries:
            shown = [
                f"{entry.text}{entry.mark}" + (f" ({entry.interval})" if entry.interval else "")
                for entry in row.entries
            ]
            assert (row.name, *shown) in read


def test_a_status_stands_in_the_row_and_its_reason_below_the_table() -> None:
    run = parse_run(make_run())
    text = render_table(step_table(run, run.settings[0]))
    [rows] = tables(text)
    assert next(row for row in rows if row[0] == "mine")[1:] == ["wrong", *[""] * 6]
    reason = "mine: wrong: step 12, operation 3104 (APPEND): block 7 belongs to two sequences"
    assert reason in text.splitlines()


def test_an_unavailable_value_is_a_word() -> None:
    content = make_run()
    find_cell(content, "vector/py")["metrics"]["heap_allocations_per_step"] = {
        "value": None,
        "unit": "count",
        "source": "count",
        "unavailable": "not seen",
    }
    text = render_report(parse_run(content))
    row = next(row for row in tables(text)[1] if row[0] == "vector/py")
    assert row[5] == "unavailable"
    assert "- heap_allocations_per_step of vector/py: not seen" in text.splitlines()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_reads_back_as_it_is_everywhere(name: str) -> None:
    content = make_run()
    for old in ("vector/cpp", "mine"):
        rename(content, old, f"{name} {old}")
    content["scenarios"][0] |= {"title": f"T {name}", "analysis": f"A {name}\n\nB {name}"}
    for info in content["implementations"]:
        info["summary"] = f"is {name}"
    content["machine"]["cpu_model"] = f"CPU {name}"
    text = render_report(parse_run(content))
    shown = name.replace("\n", "?")
    everything = tables(text)
    for rows in everything:
        assert len({len(row) for row in rows}) == 1
    assert f"{shown} vector/cpp" in [row[0] for row in everything[1]]
    assert f"is {shown}" in [row[1] for row in everything[-1]]
    facts = {row[0]: row[1] for row in everything[0]}
    assert facts["Processor"].startswith(f"CPU {shown}")
    tokens = PARSER.parse(text)
    assert not [token for token in tokens if token.type == "html_block"]
    inner = [child.type for token in tokens for child in token.children or []]
    assert not {"html_inline", "link_open", "image", "em_open"} & set(inner)
    # The only code is the report's own: `blockmark list metrics`.
    assert inner.count("code_inline") == 1
    # The prose is folded into lines by blanks, so a line break in it is one.
    prose = [text_of(token) for token in tokens if token.type == "inline"]
    assert f"A {' '.join(name.split())}" in prose


def test_the_command_is_shown_as_it_can_be_copied() -> None:
    command = "blockmark run decode --set 'a=```b' --impl x=y:Z"
    tokens = PARSER.parse(render_report(parse_run(make_run(command=command))))
    [fence] = [token for token in tokens if token.type == "fence"]
    assert fence.content == f"{command}\n"


def test_a_picture_is_linked_relative_and_safely() -> None:
    run = parse_run(make_run())
    picture = Picture("a b)%.png", "T [x]", "Read *this*.", run.settings[1].key, b"")
    text = render_report(run, [picture])
    [image] = [
        child
        for token in PARSER.parse(text)
        for child in token.children or []
        if child.type == "image"
    ]
    assert image.attrs["src"] == "a%20b%29%25.png"
    assert text_of(image) == "T [x]"
    # It stands with the setting that it shows.
    assert text.index("## decode, block_size 1\n") < text.index("a%20b")


def test_a_run_without_anything_measured_says_why() -> None:
    text = render_report(parse_run(make_run(impls=("prefix-tree",))))
    assert "Nothing was measured" in text
    assert "- prefix-tree: unavailable: it has no" in text
    assert "Nothing was run" in render_report(
        parse_run(make_run(impls=(), settings=[], cells=[], scenarios=[]))
    )


def test_no_name_of_this_machine_and_no_absolute_path_gets_in() -> None:
    import socket

    text = render_report(parse_run(make_run()))
    assert socket.gethostname() not in text
    assert re.search(r"(?<![\w:.])/(?:home|root|work|tmp|usr)/", text) is None
