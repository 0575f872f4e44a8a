"""A check on the screen, in Markdown, as JUnit XML and as GitHub annotations."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from blockmark.report import github
from blockmark.report.check_console import print_check
from blockmark.report.check_markdown import render_check
from blockmark.report.junit import render_junit
from blockmark.report.tables.check import change, change_interval
from blockmark.verdict.check import CellVerdict, CheckResult
from golden_text import assert_golden

HOSTILE = "[b]a|b\n::error::<x>&\x00\x1b]]>内存 %0A, \ud800"


def cell(impl: str = "vector/cpp", verdict: str = "unchanged", **facts: Any) -> CellVerdict:
    """Costs 1,000 ns before and after, 15 rounds a side."""
    known: dict[str, Any] = {
        "scenario": "decode",
        "setting": "block_size 16",
        "metric": "step_ns",
        "unit": "ns",
        "before": (1000.0,) * 15,
        "after": (1000.0,) * 15,
        "old": 1000.0,
        "new": 1000.0,
        "ratio": 1.0,
        "low": 0.99,
        "high": 1.01,
        "p": 0.5,
        "margin": 0.03,
    }
    return CellVerdict(impl=impl, verdict=verdict, **(known | facts))  # type: ignore[arg-type]


REGRESSED = cell(
    "hash-map/cpp",
    "regressed",
    old=8630.0,
    new=9100.0,
    ratio=1.0545,
    low=1.041,
    high=1.063,
    p=6.4e-6,
    label="more work",
)
INCONCLUSIVE = cell(
    "flat-stack/cpp",
    "inconclusive",
    metric="alloc_free_interleaved_ns",
    before=(3.8,) * 30,
    after=(3.9,) * 30,
    old=3.8,
    new=3.9,
    ratio=1.0263,
    low=0.95,
    high=1.11,
    p=0.31,
    visible=0.3,
    ruled_out=0.08,
)


def result(*cells: CellVerdict, **facts: Any) -> CheckResult:
    known: dict[str, Any] = {
        "kind": "interleaved",
        "baseline": "1a2b3c4",
        "candidate": "5d6e7f8",
        "duration_s": 61.2,
        "facts": {"seed": 42, "alpha": 0.01, "looks": [10, 15, 20, 30], "load": 4.3},
    }
    return CheckResult(cells=cells, **(known | facts))


WHOLE = result(
    REGRESSED,
    cell(),
    cell("flat-stack/cpp[call_style=per-op]", "improved", new=907.0, ratio=0.907, p=3e-7),
    INCONCLUSIVE,
    cell("mine", "incomparable", reason="replay version 1 before, 2 now", ratio=None, p=None),
    missing=("decode old/cpp step_ns: not in the candidate",),
    added=("decode new/py step_ns",),
    notes=("the control moved by 2.3 % between the sides",),
)


def printed(found: CheckResult, **more: Any) -> str:
    stream = io.StringIO()
    print_check(found, stream=stream, **{"width": 80, **more})
    return stream.getvalue()


def test_the_screen_is_what_it_was() -> None:
    assert_golden("check_80.txt", printed(WHOLE))


def test_the_markdown_is_what_it_was() -> None:
    assert_golden("check.md", render_check(WHOLE))


@pytest.mark.parametrize("width", [80, 60, 40])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    assert max(map(len, printed(WHOLE, width=width, show_all=True).splitlines())) <= width


def test_unchanged_cells_are_counted_unless_all_are_asked_for() -> None:
    assert "vector/cpp" not in printed(WHOLE)
    assert "1 unchanged (hidden; --all)" in printed(WHOLE)
    assert "vector/cpp" in printed(WHOLE, show_all=True)


@pytest.mark.parametrize(
    ("found", "strict", "last"),
    [
        (result(cell()), False, "1 unchanged, 0 inconclusive, 0 missing -> exit 0"),
        (result(REGRESSED), False, "1 regressed, 0 improved, 0 unchanged, 0 inconclusive, 0 mis"),
        (result(cell(), INCONCLUSIVE), False, "-> exit 0"),
        (result(cell(), INCONCLUSIVE), True, "-> exit 5"),
        (result(REGRESSED, wrong=("step 3 differs",)), False, "-> exit 4"),
        (result(replace(REGRESSED, waiver="known")), False, "1 regressed (1 waived), 0 improved"),
        (result(), False, "-> exit 3"),
        (result(REGRESSED, interrupted=True), False, "-> exit 130"),
        (result(REGRESSED, enforced=False, kind="stored"), False, "-> exit 0"),
    ],
)
def test_the_closing_line_counts_and_tells_the_exit_code(
    found: CheckResult, strict: bool, last: str
) -> None:
    closing = " ".join(printed(found, strict=strict, width=200).splitlines()[-1:])
    assert last in closing
    assert closing.endswith(f"-> exit {found.exit_code(strict=strict)}")
    assert closing in render_check(found, strict=strict).replace("\\", "")


def test_advice_says_so_and_never_fails_anything() -> None:
    found = result(REGRESSED, enforced=False, kind="stored")
    assert "Advice only" in printed(found)
    assert "Advice only" in render_check(found)
    assert states(render_junit(found)) == ["skipped"]
    assert [line.partition(" ")[0] for line in github.annotations(found)] == ["::warning"]


def test_what_an_open_cell_may_hide_is_said() -> None:
    assert "rules out more than +8.0 %" in printed(result(cell(), INCONCLUSIVE))
    # Measured 29 times as slow, too few rounds to be sure.
    blind = replace(INCONCLUSIVE, ruled_out=None, ratio=29.2, low=26.4, high=32.4, visible=None)
    found = result(cell(), blind)
    text = " ".join(printed(found).split())
    assert "beyond the margin, but from too little to be sure; rules no slowdown out" in text
    assert "no pass: 1 of 2 cells not decided, and 1 of them may hide a slowdown of 10 %" in text
    assert "could not have been seen" not in text
    assert text.endswith("-> exit 3")
    [error] = [line for line in github.annotations(found) if "inconclusive" in line]
    assert error.startswith("::error")


@pytest.mark.parametrize(
    ("cells", "more", "word"),
    [
        ((cell(),), {}, "passed"),
        ((cell(), replace(REGRESSED, waiver="known")), {}, "passed"),
        ((cell(), INCONCLUSIVE), {}, "nothing found, 1 of 2 cells not decided"),
        ((cell(), replace(INCONCLUSIVE, ruled_out=None)), {}, "not decided"),
        ((INCONCLUSIVE,), {}, "not decided"),
        ((REGRESSED,), {}, "regressed"),
        ((), {"mended": ("decode mine: the baseline is wrong: step 1",)}, "passed"),
        ((), {"skipped": True}, "skipped"),
        ((cell(),), {"missing": ("x",)}, "nothing to judge, or something is missing"),
    ],
)
def test_passed_is_said_only_where_every_cell_is_decided(
    cells: tuple[CellVerdict, ...], more: dict[str, Any], word: str
) -> None:
    assert render_check(result(*cells, **more)).splitlines()[0] == f"## blockmark check: {word}"


def test_no_p_is_zero() -> None:
    assert "< 1e-16" in printed(result(replace(REGRESSED, p=0.0)))
    assert "< 1e-16" in printed(result(replace(REGRESSED, p=3e-40)))
    assert "2e-16" in printed(result(replace(REGRESSED, p=2e-16)))


def test_exact_counts_have_neither_p_nor_rounds_and_enough_digits() -> None:
    counted = cell(
        verdict="regressed",
        unit="count",
        metric="step_instructions_per_op",
        before=(24_310.0,) * 5,
        after=(24_452.0,) * 5,
        old=24_310.0,
        new=24_452.0,
        ratio=24_452 / 24_310,
        low=None,
        high=None,
        p=None,
        margin=0.005,
    )
    text = printed(result(counted, kind="deterministic", facts={}, duration_s=0.0))
    assert "24,310 24,452 +0.6 %" in " ".join(text.split())
    assert "margin 0.5 %" in text
    assert " p " not in text
    assert "rounds" not in text
    # Beside times, too: its five heaps are no rounds.
    both = printed(result(cell(), counted), show_all=True)
    assert "rounds 15," in " ".join(both.split())
    (row,) = (line.split() for line in both.splitlines() if "24,310" in line)
    assert row == ["vector/cpp", "24,310", "24,452", "+0.6", "%", "-", "-", "-", "REGRESSED"]


def test_every_kind_of_check_says_what_it_is() -> None:
    words = {
        "interleaved": "both sides measured now",
        "stored": "stored baseline",
        "files": "two stored runs",
        "deterministic": "no clock",
        "self-test": "against itself",
    }
    for kind, text in words.items():
        assert text in printed(result(cell(), kind=kind), width=300)


def test_the_control_is_told() -> None:
    facts = {"control_ns": {"before": 1.541, "after": 1.556}}
    text = " ".join(printed(result(cell(), facts=facts)).split())
    # 1.556 / 1.541 = 1.0097
    assert "rounds 15, 61 s, control 1.54 ns (+1.0 %)" in text
    for odd in ({"a": None, "b": 1.0}, {"a": 1.0}, "x", None):
        assert "control" not in printed(result(cell(), facts={"control_ns": odd}))


def test_changes_in_words() -> None:
    assert change(1.052) == "+5.2 %"
    assert change(0.9) == "-10.0 %"
    assert change(1.0) == "+0.0 %"
    assert change(1.0002) == "+0.020 %"
    assert change(2.4) == "2.40x"
    assert change(None) == change(float("inf")) == "-"
    assert change_interval(1.041, 1.063) == "4.1 to 6.3"
    assert change_interval(0.97, 0.99) == "-3.0 to -1.0"
    assert change_interval(1.9, 2.6) == "1.90 to 2.60x"
    assert change_interval(None, 1.0) == "-"


def states(xml: str) -> list[str]:
    """What each test case has inside, `passed` where it has no state."""
    root = ElementTree.fromstring(xml.encode())
    found = []
    for case in root.iter("testcase"):
        inner = [child.tag for child in case if child.tag not in ("system-out", "properties")]
        found.append(inner[0] if inner else "passed")
    return found


def test_junit_counts_what_it_holds() -> None:
    xml = render_junit(WHOLE)
    assert states(xml) == ["failure", "passed", "passed", "skipped", "error", "error"]
    suite = ElementTree.fromstring(xml.encode())[0]
    assert suite.get("tests") == "6"
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("1", "2", "1")
    first = suite[0]
    assert first.get("classname") == "decode, block_size 16"
    assert first.get("name") == "hash-map/cpp step_ns"
    numbers = {each.get("name"): each.get("value") for each in first.iter("property")}
    assert numbers["ratio"] == "1.0545"
    assert (numbers["before"], numbers["after"], numbers["unit"]) == ("8630", "9100", "ns")
    assert (numbers["low"], numbers["high"], numbers["p"]) == ("1.041", "1.063", "6.4e-06")
    message = next(first.iter("failure")).get("message") or ""
    assert message.startswith("regressed: more work; 8.63 -> 9.10 us, +5.4 % (4.1 to 6.3)")


def test_junit_of_waived_wrong_strict_and_nothing() -> None:
    assert states(render_junit(result(replace(REGRESSED, waiver="known")))) == ["passed"]
    assert states(render_junit(result(cell(), wrong=("x",)))) == ["passed", "error"]
    assert states(render_junit(result(cell(), INCONCLUSIVE), strict=True))[1] == "failure"
    hiding = replace(INCONCLUSIVE, ruled_out=None)
    assert states(render_junit(result(cell(), hiding))) == ["passed", "error", "error"]
    assert states(render_junit(result())) == ["error"]


def test_any_text_is_valid_xml_markdown_and_one_line_of_github() -> None:
    found = result(
        replace(REGRESSED, impl=HOSTILE, label=HOSTILE, scenario=HOSTILE),
        baseline=HOSTILE,
        missing=(HOSTILE,),
        notes=(HOSTILE,),
    )
    root = ElementTree.fromstring(render_junit(found).encode())
    assert "内存" in (next(root.iter("testcase")).get("name") or "")
    for line in github.annotations(found):
        assert line.startswith("::error title=")
        assert "\n" not in line
        properties, _, message = line[2:].partition("::")
        assert properties.count(":") == properties.count(",") == 0
        assert message
        assert "%25" in line
    # One row a cell: a pipe or a line break would have made more columns or rows.
    rows = [line for line in github.step_summary(found).splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {9}
    assert len(rows) == 4
    assert "内存" in printed(found)
    assert "\x1b" not in printed(found)


def test_github_escapes_as_its_toolkit_does() -> None:
    [line] = github.annotations(result(cell(), failures=("50 % of: a,b\nc",)))
    assert line == "::error title=blockmark%3A failed::failed: 50 %25 of: a,b%0Ac"


def test_github_shows_ten_of_a_level_and_counts_the_rest() -> None:
    many = [replace(REGRESSED, impl=f"impl-{number}") for number in range(25)]
    lines = github.annotations(result(*many))
    assert len(lines) == 10
    assert lines[-1].endswith("16 more of this kind; the step summary has all")
    assert github.annotations(result(cell())) == []
