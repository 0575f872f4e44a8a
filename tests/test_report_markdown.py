"""report.md: a whole text, and tables that a Markdown parser reads back as they were."""

from __future__ import annotations

import re
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from blockmark.report.markdown import render_main_table, render_report, render_table
from blockmark.report.picture import Picture
from blockmark.report.step_table import step_table
from blockmark.runs.codec import parse_run
from golden_text import assert_golden
from run_factory import find_cell, make_run

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
