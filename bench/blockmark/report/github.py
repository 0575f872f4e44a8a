"""What GitHub shows of a check or a run: annotations on a pull request, and a step summary.

An annotation is a line on standard output, `::error title=...::message` (GitHub: "Workflow
commands for GitHub Actions"); a summary is Markdown in the file that the variable
GITHUB_STEP_SUMMARY names.
"""

from collections.abc import Sequence
from typing import Literal

from blockmark.report.check_markdown import render_check
from blockmark.report.facts.escape import cell as escaped
from blockmark.report.facts.setting import setting_name
from blockmark.report.markdown import render_main_table
from blockmark.report.tables.check import place, remarks, sentence, words
from blockmark.runs.errors import one_line
from blockmark.runs.model import Run
from blockmark.verdict.check import CellVerdict, CheckResult

_Level = Literal["error", "warning", "notice"]
_Note = tuple[_Level, str, str]
# GitHub shows ten annotations of a level for a step; the last one counts the rest.
_MOST = 10


def annotations(result: CheckResult, *, strict: bool = False) -> list[str]:
    """A line for each cell and remark that a reader should see, the worst first.

    Unchanged cells have none. Advice is at most a warning.
    """
    found = [note for cell in result.cells if (note := _of_cell(cell, result, strict)) is not None]
    for remark in remarks(result):
        level: _Level = "error" if remark.stops else "notice"
        if remark.kind != "note":
            found.append((level, f"blockmark: {remark.kind}", remark.text))
    return _lines(found)


def step_summary(result: CheckResult, *, strict: bool = False) -> str:
    """Markdown for the summary of the job's step."""
    return render_check(result, strict=strict)


def run_annotations(run: Run) -> list[str]:
    """A line for each cell of a run that was not measured, and why."""
    found: list[_Note] = []
    for cell in run.cells:
        if not cell.ok:
            setting = setting_name(run, run.setting_by_key[cell.key.setting])
            where = ", ".join(part for part in (cell.impl, cell.scenario, setting) if part)
            level: _Level = "notice" if cell.status == "unavailable" else "error"
            found.append((level, f"blockmark: {cell.status}", f"{where}: {cell.reason}"))
    return _lines(found)


def run_summary(run: Run) -> str:
    """Markdown for a step that measured: the main table."""
    title = ", ".join(info.name for info in run.scenarios)
    return f"## blockmark: {escaped(title)}\n\n{render_main_table(run)}\n"


def _of_cell(cell: CellVerdict, result: CheckResult, strict: bool) -> _Note | None:
    levels: dict[str, _Level] = {
        "regressed": "notice" if cell.waiver else "error" if result.enforced else "warning",
        "improved": "notice",
        "inconclusive": "error" if strict or (cell.may_hide and result.enforced) else "warning",
        "incomparable": "error" if result.enforced else "warning",
    }
    if cell.verdict not in levels:
        return None
    title = f"blockmark: {cell.impl} {cell.verdict}"
    parts = (f"{place(cell)}: {cell.metric}", sentence(cell), words(cell))
    return levels[cell.verdict], title, "; ".join(part for part in parts if part)


def _lines(notes: Sequence[_Note]) -> list[str]:
    lines = []
    for level in ("error", "warning", "notice"):
        some = [(title, text) for each, title, text in notes if each == level]
        shown = some if len(some) <= _MOST else some[: _MOST - 1]
        lines += [f"::{level} title={_property(title)}::{_message(text)}" for title, text in shown]
        if len(some) > len(shown):
            rest = f"{len(some) - len(shown)} more of this kind; the step summary has all"
            lines.append(f"::{level} title=blockmark::{rest}")
    return lines


def _message(text: str) -> str:
    """Escaped as actions/toolkit's `escapeData` does; control characters become `?`."""
    kept = "\n".join(one_line(line) for line in text.splitlines())
    return kept.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escaped as `escapeProperty` does: a colon or a comma would end a property."""
    return _message(text).replace(":", "%3A").replace(",", "%2C")
