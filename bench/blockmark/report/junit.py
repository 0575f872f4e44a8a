"""JUnit XML, which CI systems show as test results: a test case for each cell.

There is no standard, only what Ant wrote and what Jenkins, GitLab and others read of it:
`failure` for what was judged and found bad, `error` for what went wrong or is no pass though
nothing was found, `skipped` for what could not be told and stops nothing. The numbers are
`properties` of a case. Any text becomes valid XML: control characters, which XML 1.0 can't
hold even escaped, become `?`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from blockmark.report.facts.setting import setting_name
from blockmark.report.tables.check import headline, place, remarks, sentence, words
from blockmark.runs.errors import one_line
from blockmark.runs.model import Cell, Run
from blockmark.verdict.check import CellVerdict, CheckResult

_State = Literal["", "failure", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class _Case:
    """A test case; `text` is the state's message, or what a passed case has to say."""

    place: str
    name: str
    state: _State = ""
    text: str = ""
    numbers: tuple[tuple[str, float | str], ...] = ()


def render_junit(result: CheckResult, *, strict: bool = False) -> str:
    """A check: regressed cells fail; those that are no pass are errors, though undecided.

    Advice never fails, so regressions in it are skipped cases; with `strict` inconclusive
    cells fail too. Others that could not be told are skipped.
    """
    cases = [_judged(cell, result, strict=strict) for cell in result.cells]
    for number, remark in enumerate(remarks(result), start=1):
        if remark.kind not in ("note", "new"):
            state: _State = "error" if remark.stops else "skipped"
            cases.append(_Case("check", f"{remark.kind} {number}", state, remark.text))
    seconds = result.duration_s or None
    return _render("blockmark check", cases, headline(result, strict=strict), seconds)


def render_run_junit(run: Run) -> str:
    """A run: cells with a wrong answer, or none, are errors; unavailable ones are skipped."""
    cases = [_measured(run, cell) for cell in run.cells]
    if not run.complete:
        cases.append(_Case("run", "complete", "error", "interrupted: cells are missing"))
    return _render(f"blockmark run {run.run_id}", cases, "", run.duration_s)


def _judged(cell: CellVerdict, result: CheckResult, *, strict: bool) -> _Case:
    said = "; ".join(part for part in (words(cell), sentence(cell)) if part)
    state: _State = ""
    if cell.fails:
        state = "failure" if result.enforced else "skipped"
    elif result.enforced and (cell.may_hide or cell.verdict == "incomparable"):
        state = "error"
    elif cell.verdict == "inconclusive" and not cell.waiver:
        state = "failure" if strict else "skipped"
    elif cell.verdict == "incomparable":
        state = "skipped"
    text = f"{cell.verdict}: {said}"
    return _Case(place(cell), f"{cell.impl} {cell.metric}", state, text, _numbers(cell))


def _numbers(cell: CellVerdict) -> tuple[tuple[str, float | str], ...]:
    named = (
        ("before", cell.old),
        ("after", cell.new),
        ("ratio", cell.ratio),
        ("low", cell.low),
        ("high", cell.high),
        ("p", cell.p),
        ("margin", cell.margin),
        ("ruled_out", cell.ruled_out),
        ("rounds", min(len(cell.before), len(cell.after)) or None),
        ("unit", cell.unit or None),
    )
    return tuple((name, value) for name, value in named if value is not None)


def _measured(run: Run, cell: Cell) -> _Case:
    setting = setting_name(run, run.setting_by_key[cell.key.setting])
    where = ", ".join(part for part in (cell.scenario, setting) if part)
    states: dict[str, _State] = {"ok": "", "unavailable": "skipped"}
    state = states.get(cell.status, "error")
    text = f"{cell.status}: {cell.reason}" if state else ""
    numbers = tuple(
        (f"{name} {value.unit}".strip(), value.value)
        for name, value in cell.metrics.items()
        if value.value is not None
    )
    return _Case(where, cell.impl, state, text, numbers)


def _render(name: str, cases: Sequence[_Case], said: str, seconds: float | None) -> str:
    from xml.etree import ElementTree

    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.state == "failure" for case in cases)),
        "errors": str(sum(case.state == "error" for case in cases)),
        "skipped": str(sum(case.state == "skipped" for case in cases)),
    }
    if seconds is not None:
        counts["time"] = f"{seconds:.3f}"
    root = ElementTree.Element("testsuites", {"name": one_line(name), **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": one_line(name), **counts})
    for case in cases:
        # A dot in a class name opens a package in most viewers, which a name is not.
        attributes = {"classname": one_line(case.place).replace(".", "_")}
        attributes["name"] = one_line(case.name)
        made = ElementTree.SubElement(suite, "testcase", attributes)
        if case.numbers:
            # No number of its own kind in JUnit: viewers show properties as they are.
            group = ElementTree.SubElement(made, "properties")
            for key, value in case.numbers:
                shown = one_line(value) if isinstance(value, str) else f"{value:.6g}"
                ElementTree.SubElement(group, "property", {"name": one_line(key), "value": shown})
        text = one_line(case.text)
        if case.state:
            ElementTree.SubElement(made, case.state, {"message": text}).text = text
        elif text:
            ElementTree.SubElement(made, "system-out").text = text
    if said:
        ElementTree.SubElement(suite, "system-out").text = one_line(said)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
