"""Names in Markdown: read back with an independent parser, they are what they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from blockmark.report.facts.escape import cell

PARSER = MarkdownIt("commonmark").enable("table").enable("strikethrough")


def inline_text(tokens: list[Token]) -> str:
    """The text of inline tokens; AssertionError if any is markup."""
    text = ""
    for token in tokens:
        assert token.type in ("text", "text_special"), token
        text += token.content
    return text


def read_back(markdown: str) -> list[str]:
    """The texts of the cells of the only table, row by row."""
    tokens = PARSER.parse(markdown)
    assert tokens[0].type == "table_open"
    assert tokens[-1].type == "table_close"
    return [inline_text(token.children or []) for token in tokens if token.type == "inline"]


NAMES = [
    "flat-stack/cpp[row_pad=32]",
    "[x](http://example.org)",
    "a|b||c",
    "**bold** *it* _it_ __b__ snake_case",
    "<b>html</b> <!-- x -->",
    "`code` ``more``",
    "back\\slash \\| \\",
    "~~gone~~ $x^2$",
    "&amp; &#65; &",
    "内存池/py",
    "![image](x.png)",
    "# no heading",
    "1. no list",
    "- no list",
    "> no quotation",
    "-",
    "1.21-1.24",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_reads_back_as_the_name(name: str) -> None:
    assert read_back(f"| a | b |\n|:--|--:|\n| {cell(name)} | {cell(name)} |\n") == [
        "a",
        "b",
        name,
        name,
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_paragraph_reads_back_as_the_name(name: str) -> None:
    tokens = PARSER.parse(f"{cell(name + ' end')}\n")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert inline_text(tokens[1].children or []) == f"{name} end"


@given(
    st.text(
        st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), max_codepoint=0x2FFF)
    )
)
def test_any_printable_text_stays_in_its_cell(text: str) -> None:
    shown = " ".join(text.split())
    row = read_back(f"| a | b |\n|:--|--:|\n| {cell(shown)} | {cell('end')} |\n")
    assert row[3] == "end"
    assert row[2].replace("?", "") == "".join(c if c.isprintable() else "" for c in shown).replace(
        "?", ""
    )


def test_line_breaks_and_control_characters_do_not_end_the_row() -> None:
    assert cell("a\nb\r\x1b[31m\u2028c") == "a?b??\\[31m?c"


def test_ordinary_names_and_numbers_stay_readable() -> None:
    for text in ("hash-map/cpp", "block_size 16", "1.21-1.24", "lookup chain, shuffled (ns)"):
        assert cell(text) == text
