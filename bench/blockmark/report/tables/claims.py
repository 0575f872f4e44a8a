"""Verdicts on published claims: on the screen, as Markdown, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import IO, Any

from blockmark import __version__
from blockmark.report.console import Screen
from blockmark.report.facts.escape import cell
from blockmark.report.facts.numbers import (
    counted,
    exact,
    interval,
    scale_for,
    significant,
    with_unit,
)
from blockmark.report.facts.setting import effort, machine_line
from blockmark.report.tables.layout import wrap
from blockmark.runs.model import Run
from blockmark.verdict.claim_values import Measured
from blockmark.verdict.claims import (
    VERDICT_WORDS,
    CaseVerdict,
    Claim,
    ClaimsFile,
    ClaimVerdict,
    Limit,
    Sensitivity,
    Verdict,
)
from blockmark.verdict.stats import ROUNDS_A_SIDE

EXPLORATION = (
    "Exploration after the fact: the first case of each measured claim with one condition "
    "changed. It changes no verdict."
)
_SIMULATED = "simulated"
_CLOSE = "~"
_CLOSE_NOTE = f"{_CLOSE}: the range of the rounds reaches over the line that decided."
_INDENT = "  "


def print_claims(
    file: ClaimsFile,
    verdicts: Sequence[ClaimVerdict],
    run: Run | None,
    *,
    sensitivity: Sensitivity | None = None,
    saved: str = "",
    stream: IO[str] | None = None,
    width: int | None = None,
) -> None:
    """Print every claim with its cases. `stream` and `width` as for `print_run`."""
    screen = Screen.of(stream, width)
    screen.say(f"blockmark {__version__}  {file.title}", "head")
    for line in _basis(run):
        screen.say(line)
    for source in file.sources:
        found = [one for one in verdicts if one.claim.source == source.name]
        if not found:
            continue
        screen.blank()
        screen.say(source.title, "group")
        for verdict in found:
            screen.blank()
            screen.say(f"{_words(verdict.verdict)}: {verdict.claim.statement}")
            for line in _details(verdict):
                _say_indented(screen, line)
    if sensitivity is not None:
        screen.blank()
        screen.say("Sensitivity", "group")
        screen.say(EXPLORATION)
        for claim, first, others in sensitivity.rows:
            screen.blank()
            screen.say(f"{claim.id}: {_case_words(claim, first)}")
            for name, other in zip(sensitivity.variations, others, strict=True):
                if other is not None:
                    _say_indented(screen, f"{name}: {_case_words(claim, other)}")
    screen.blank()
    if _any_close(verdicts):
        screen.say(_CLOSE_NOTE)
    screen.say(f"{tally(verdicts)}{f'  Saved: {saved}' if saved else ''}")


def render_claims(
    file: ClaimsFile,
    verdicts: Sequence[ClaimVerdict],
    run: Run | None,
    *,
    sensitivity: Sensitivity | None = None,
) -> str:
    """The same as Markdown: a tally, and a table for each publication."""
    parts = [f"**{cell(tally(verdicts))}**"]
    parts += [cell(line) for line in _basis(run)]
    for source in file.sources:
        found = [one for one in verdicts if one.claim.source == source.name]
        if found:
            parts += [f"### {cell(source.title)}", _table(found)]
    if _any_close(verdicts):
        parts.append(cell(_CLOSE_NOTE))
    if sensitivity is not None and sensitivity.rows:
        parts += ["### Sensitivity", EXPLORATION, _sensitivity_table(sensitivity)]
    return "\n\n".join(parts) + "\n"


def claims_json(
    file: ClaimsFile,
    verdicts: Sequence[ClaimVerdict],
    run: Run | None,
    sensitivity: Sensitivity | None = None,
) -> dict[str, Any]:
    """Plain JSON: every claim with its cases, numbers and reasons."""
    content: dict[str, Any] = {
        "schema": "blockmark.claims",
        "schema_version": 1,
        "run": None if run is None else run.run_id,
        "sources": {source.name: source.title for source in file.sources},
        "claims": [_claim_json(verdict) for verdict in verdicts],
    }
    if sensitivity is not None:
        content["sensitivity"] = [
            {
                "id": claim.id,
                "as_fixed": _case_json(first),
                "varied": {
                    name: _case_json(other)
                    for name, other in zip(sensitivity.variations, others, strict=True)
                    if other is not None
                },
            }
            for claim, first, others in sensitivity.rows
        ]
    return content


def tally(verdicts: Iterable[ClaimVerdict]) -> str:
    """`55 claims: 12 hold, ...`: how many of each verdict, none left out but zeros."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    told = ", ".join(
        f"{words}: {counts[name]}" for name, words in VERDICT_WORDS.items() if counts[name]
    )
    total = counts.total()
    return f"{counted(total, 'claim')}. {told}." if told else "No claims."


def _say_indented(screen: Screen, text: str) -> None:
    for line in wrap(screen.printable(text), screen.width, _INDENT):
        screen.line(((line, "plain"),))


def _words(verdict: Verdict) -> str:
    return VERDICT_WORDS[verdict]


def _basis(run: Run | None) -> list[str]:
    if run is None:
        return ["Nothing was measured: arithmetic alone."]
    lines = [f"{machine_line(run)}; {effort(run)}."]
    if run.rounds < ROUNDS_A_SIDE:
        lines.append(
            f"{counted(run.rounds, 'round')}: fewer than {ROUNDS_A_SIDE} show no order of times."
        )
    if run.counters.get("source") == "callgrind":
        lines.append("Cache misses are simulated by callgrind, not measured.")
    return lines


def _details(verdict: ClaimVerdict) -> list[str]:
    claim = verdict.claim
    lines = []
    if claim.condition:
        lines.append(f"Condition: {claim.condition}")
    if text := published(claim):
        lines.append(f"Published: {text}")
    lines += [f"{case.label}: {_case_words(claim, case)}" for case in verdict.cases]
    if not verdict.cases and verdict.reason:
        lines.append(verdict.reason)
    return lines


def _table(verdicts: Sequence[ClaimVerdict]) -> str:
    lines = ["| claim | published | here | verdict |", "| :-- | :-- | :-- | :-- |"]
    for verdict in verdicts:
        claim = verdict.claim
        said = cell(claim.statement)
        if claim.condition:
            said += f"<br>*{cell(claim.condition)}*"
        here = "<br>".join(_case_cell(claim, case) for case in verdict.cases) or "-"
        told = f"**{_words(verdict.verdict)}**"
        if verdict.verdict == "depends":
            told += "".join(f"<br>{line}" for line in _by_verdict(verdict))
        elif verdict.reason:
            told += f": {cell(verdict.reason)}"
        lines.append(f"| {said} | {cell(published(claim)) or '-'} | {here} | {told} |")
    return "\n".join(lines)


def _by_verdict(verdict: ClaimVerdict) -> list[str]:
    """`holds: blocks of 1`, `fails: blocks of 16`: which cases came to what."""
    lines = []
    for name, words in VERDICT_WORDS.items():
        labels = [cell(case.label) for case in verdict.cases if case.verdict == name]
        if labels:
            lines.append(f"{words}: {'; '.join(labels)}")
    return lines


def _sensitivity_table(sensitivity: Sensitivity) -> str:
    heads = ["claim", "as fixed", *sensitivity.variations]
    lines = [f"| {' | '.join(map(cell, heads))} |", f"| {' | '.join([':--'] * len(heads))} |"]
    for claim, first, others in sensitivity.rows:
        shown = [_varied_cell(claim, one) for one in (first, *others)]
        lines.append(f"| {cell(claim.id)} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _varied_cell(claim: Claim, case: CaseVerdict | None) -> str:
    if case is None:
        return "-"
    told = _words(case.verdict) + (_CLOSE if case.close else "")
    return f"{told}<br>{cell(_numbers(claim, case.measured))}" if case.measured else told


def _case_cell(claim: Claim, case: CaseVerdict) -> str:
    if not case.measured:
        return f"{cell(case.label)}: {cell(case.reason)}"
    close = f" {_CLOSE}" if case.close else ""
    unshown = f" ({VERDICT_WORDS['unshown']})" if case.verdict == "unshown" else ""
    return f"{cell(case.label)}: {cell(_numbers(claim, case.measured))}{close}{unshown}"


def _case_words(claim: Claim, case: CaseVerdict) -> str:
    if not case.measured:
        return f"{_words(case.verdict)}: {case.reason}"
    close = f" {_CLOSE}" if case.close else ""
    return f"{_numbers(claim, case.measured)}: {_words(case.verdict)}{close}"


def _numbers(claim: Claim, found: Sequence[Measured]) -> str:
    """All values of a case in the claim's unit, intervals behind them; simulated ones say so."""
    if claim.unit in ("share", "ratio"):
        factor, label = (100.0, " %") if claim.unit == "share" else (1.0, "x")
        text = " / ".join(_number(one, factor) for one in found) + label
    elif claim.unit in ("count", "blocks", ""):
        text = " / ".join(_number(one, 1.0) for one in found)
        text += f" {claim.unit}" if claim.unit == "blocks" else ""
    else:
        text = " / ".join(
            with_unit(one.value, claim.unit) + _spread(one, claim.unit) for one in found
        )
    sources = {source for one in found for source in one.sources}
    return f"{text} ({_SIMULATED})" if any(s.startswith("callgrind") for s in sources) else text


def _number(one: Measured, factor: float) -> str:
    value = one.value * factor
    text = exact(value) if value == int(value) and abs(value) < 1e12 else significant(value)
    if not one.has_interval:
        return text
    return f"{text} ({interval(one.low * factor, one.high * factor, value)})"


def _spread(one: Measured, unit: str) -> str:
    if not one.has_interval:
        return ""
    return f" ({with_unit(one.low, unit)} to {with_unit(one.high, unit)})"


def published(claim: Claim) -> str:
    """What was published: in its words, else in the claim's unit; empty if it is an order."""
    if claim.printed:
        return claim.printed
    joint = " to " if claim.relation == "between" else " / "
    sign = {"below": "<= ", "above": ">= "}.get(claim.relation, "")
    return joint.join(sign + _limit(limit, claim.unit) for limit in claim.published)


def _limit(limit: Limit, unit: str) -> str:
    """A published number as it was printed, not rounded to the digits of measured ones."""
    sign = f"{limit.sign} " if limit.sign else ""
    if unit == "share":
        return f"{sign}{exact(round(limit.value * 100, 9))} %"
    if unit in ("ratio", "count", ""):
        return f"{sign}{exact(limit.value)}{'x' if unit == 'ratio' else ''}"
    scale = scale_for([limit.value], unit)
    return f"{sign}{exact(round(limit.value * scale.factor, 9))} {scale.label}"


def _any_close(verdicts: Iterable[ClaimVerdict]) -> bool:
    return any(case.close for verdict in verdicts for case in verdict.cases)


def _claim_json(verdict: ClaimVerdict) -> dict[str, Any]:
    claim = verdict.claim
    return {
        "id": claim.id,
        "source": claim.source,
        "statement": claim.statement,
        "condition": claim.condition,
        "relation": claim.relation,
        "published": [asdict(limit) for limit in claim.published],
        "printed": claim.printed,
        "unit": claim.unit,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "cases": [_case_json(case) for case in verdict.cases],
    }


def _case_json(case: CaseVerdict) -> dict[str, Any]:
    return {
        "label": case.label,
        "verdict": case.verdict,
        "reason": case.reason,
        "close": case.close,
        "values": [
            {"value": one.value, "low": one.low, "high": one.high, "sources": sorted(one.sources)}
            for one in case.measured
        ],
    }
