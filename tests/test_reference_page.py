"""docs/reference.md is what the command makes."""

from __future__ import annotations

import tomllib
from pathlib import Path

from blockmark.cli.reference import render_reference
from blockmark.report.splice import spliced
from blockmark.runs.metrics import METRICS
from cli import blockmark

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"


def test_the_committed_page_is_what_the_command_makes() -> None:
    page = PAGE.read_text(encoding="utf-8")
    command = "blockmark list reference --splice docs/reference.md"
    assert page == spliced(page, "reference", render_reference(), command), f"run: {command}"


def test_the_page_has_each_scenario_file_and_the_command_that_makes_runs() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "### blockmark run" in page
    for path in (PAGE.parents[1] / "scenarios").glob("*.toml"):
        if "analysis" in tomllib.loads(path.read_text(encoding="utf-8")):
            assert f"| {path.stem} |" in page.replace("\\", "")
    assert "step_ns" in METRICS
    assert "| step_ns |" in page.replace("\\", "")


def test_reference_takes_no_name_and_only_it_is_spliced(tmp_path: Path) -> None:
    for words in (("reference", "x"), ("keys", "--splice", "x.md")):
        done = blockmark("list", *words, cwd=tmp_path)
        assert done.returncode == 2
        assert "--splice goes with reference" in done.stderr
