"""A check as Markdown: for a file, a pull request or the summary of a CI job."""

from __future__ import annotations

from blockmark.report.facts.escape import cell
from blockmark.report.markdown import render_table
from blockmark.report.tables.check import (
    ADVICE,
    cells_to_show,
    check_table,
    headline,
    lead,
    outcome,
    remarks,
)
from blockmark.verdict.check import CheckResult


def render_check(result: CheckResult, *, strict: bool = False) -> str:
    """The whole check; unchanged cells are in a part that GitHub folds."""
    exact = result.kind == "deterministic"
    parts = [f"## blockmark check: {outcome(result, strict=strict)}"]
    parts += [cell(line) for line in lead(result)]
    parts.append(f"**{cell(headline(result, strict=strict))}**")
    if not result.enforced:
        parts.append(cell(ADVICE))
    found = remarks(result)
    if found:
        parts.append("\n".join(f"- {cell(remark.text)}" for remark in found))
    shown, hidden = cells_to_show(result, show_all=False)
    if shown:
        parts.append(render_table(check_table(shown, exact=exact, words_beside=True)))
    if hidden:
        unchanged = [each for each in result.cells if each.verdict == "unchanged"]
        table = render_table(check_table(unchanged, exact=exact, words_beside=True))
        parts.append(f"<details><summary>{hidden} unchanged</summary>\n\n{table}\n\n</details>")
    return "\n\n".join(parts) + "\n"
