"""A check in words and tables, with no idea of the medium that shows it.

A line of facts, the cells that somebody has to look at, and a closing line with the exit
code. The console, Markdown and JUnit take their words from here, so that they agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blockmark.report.facts.numbers import ABSENT, Scale, count, scale_for, significant
from blockmark.report.facts.setting import number
from blockmark.report.tables.model import Column, Entry, Group, Row, Table, without_empty_columns
from blockmark.verdict.check import CellVerdict, CheckResult

_KINDS = {
    "interleaved": "both sides measured now, on one machine, interleaved",
    "stored": "now against a stored baseline",
    "files": "two stored runs",
    "deterministic": "counts, no clock",
    "self-test": "one program against itself, interleaved",
}
_EXACT = "deterministic"
_VERDICTS = ("regressed", "improved", "unchanged", "inconclusive", "incomparable")
# Counts are exact, and half a per cent of one matters; of a time the fourth digit is noise.
_DIGITS, _DIGITS_OF_COUNTS = 3, 6
# From this ratio on, per cent are harder to read than a factor.
_FACTOR = 2.0
# Below this it is the test's assumptions that decide, and no more digits.
_LEAST_CHANCE = 1e-16
ADVICE = "Advice only: a regression found here does not fail the build."


@dataclass(frozen=True, slots=True)
class Remark:
    """Something beside the cells: `kind` is what a count of them is called."""

    kind: str
    text: str
    stops: bool


def headline(result: CheckResult, *, strict: bool = False) -> str:
    """`1 regressed, 0 improved, 54 unchanged, 1 inconclusive, 0 missing -> exit 1`."""
    shown = [word for word in _VERDICTS if word != "incomparable" or result.count("incomparable")]
    parts = [f"{result.count(word)} {word}" for word in shown]  # type: ignore[arg-type]
    waived = sum(bool(cell.waiver) for cell in result.cells)
    if waived:
        parts[0] += f" ({waived} waived)"
    parts.append(f"{len(result.missing)} missing")
    others = ((result.added, "new"), (result.mended, "mended"))
    for told, word in (*others, (result.wrong, "wrong"), (result.failures, "failed")):
        if told:
            parts.append(f"{len(told)} {word}")
    return f"{', '.join(parts)} -> exit {result.exit_code(strict=strict)}"


def outcome(result: CheckResult, *, strict: bool = False) -> str:
    """What a check says as a whole, in a word or two; `passed` only if nothing stayed open."""
    code = result.exit_code(strict=strict)
    if code == 0 and not result.all_decided:
        return f"nothing found, {undecided_words(result)}"
    if code == 3 and (result.may_hide or not any(cell.is_decided for cell in result.cells)):
        return "not decided"
    return {
        0: "skipped" if result.skipped and not result.cells else "passed",
        1: "regressed",
        3: "nothing to judge, or something is missing",
        4: "wrong answer",
        5: "inconclusive",
        130: "interrupted",
    }[code]


def undecided_words(result: CheckResult) -> str:
    """`2 of 12 cells not decided`."""
    planned = len(result.cells)
    open_ones = sum(not cell.is_decided for cell in result.cells)
    return f"{open_ones} of {planned} {'cell' if planned == 1 else 'cells'} not decided"


def lead(result: CheckResult) -> list[str]:
    """What was set against what, and how: two lines, one if nothing is known of rounds."""
    facts = result.facts or {}
    first = f"check: baseline {result.baseline} vs candidate {result.candidate}"
    parts = [_KINDS[result.kind]]
    if (seed := number(facts, "seed")) is not None:
        parts.append(f"seed {count(seed)}")
    cells = f"{len(result.cells)} {'cell' if len(result.cells) == 1 else 'cells'}"
    if (alpha := number(facts, "alpha")) is not None:
        looks = facts.get("looks")
        looked = f", {len(looks)} looks" if isinstance(looks, list | tuple) else ""
        cells += f", alpha {alpha:g} (Holm{looked})"
    second = [] if result.kind == _EXACT else _rounds_words(result)
    if result.duration_s:
        second.append(_seconds(result.duration_s))
    if (load := number(facts, "load")) is not None:
        second.append(f"load {significant(load, 2)}")
    second += _control_words(facts.get("control_ns"))
    said = [f"{first}, {', '.join(parts)}; {cells}"]
    return [*said, ", ".join(second)] if second else said


def remarks(result: CheckResult) -> list[Remark]:
    """All that is no verdict on a cell, the worst first."""
    stops = result.enforced
    found = [Remark("wrong", f"wrong answer: {text}", True) for text in result.wrong]
    found += [Remark("failed", f"failed: {text}", stops) for text in result.failures]
    found += [
        Remark("missing", f"missing in the candidate: {text}", stops) for text in result.missing
    ]
    if result.interrupted:
        text = "interrupted: judged with the rounds that were there"
        found.append(Remark("interrupted", text, True))
    if not result.skipped and all(cell.verdict == "incomparable" for cell in result.cells):
        if not result.mended:
            found.append(Remark("nothing", "nothing could be compared", True))
    elif (hidden := _undecided(result)) and not result.interrupted:
        found.append(Remark("undecided", hidden, stops))
    found += [Remark("mended", f"mended, not judged: {text}", False) for text in result.mended]
    found += [Remark("new", f"new, not judged: {text}", False) for text in result.added]
    found += [Remark("note", text, False) for text in result.notes]
    return found


def _undecided(result: CheckResult) -> str:
    """Why a check with open cells is no pass, and what to do; empty where it is one."""
    mend = "measure more (--budget, --rounds), or where less else runs"
    if hiding := result.may_hide:
        large = min(cell.large for cell in hiding)
        return (
            f"no pass: {undecided_words(result)}, and {len(hiding)} of them may hide a slowdown "
            f"of {_percent(large)} or more; {mend}"
        )
    if result.cells and not any(cell.is_decided for cell in result.cells):
        return f"no pass: no cell was decided; {mend}"
    return ""


def cells_to_show(result: CheckResult, *, show_all: bool) -> tuple[list[CellVerdict], int]:
    """The cells of the table, and how many unchanged ones were left out."""
    chosen = [cell for cell in result.cells if show_all or cell.verdict != "unchanged"]
    return chosen, len(result.cells) - len(chosen)


def check_table(
    cells: Sequence[CellVerdict], *, exact: bool = False, words_beside: bool = False
) -> Table:
    """The cells, grouped by setting and metric in the order of the check.

    `exact` says that they are counts. What there is to say of a cell stands in a line
    below it, or with `words_beside` behind its verdict, for a medium that folds text.
    """
    groups: dict[tuple[str, str, str, str, float], list[CellVerdict]] = {}
    for cell in cells:
        key = (cell.scenario, cell.setting, cell.metric, cell.unit, cell.margin)
        groups.setdefault(key, []).append(cell)
    columns = (
        Column("before", "right"),
        Column("after", "right"),
        Column("ratio", "right"),
        Column("95 %", "right"),
        Column("p", "right"),
        Column("rounds", "right"),
        Column("verdict", "word"),
    )
    made = []
    for members in groups.values():
        digits = _DIGITS_OF_COUNTS if exact or members[0].unit != "ns" else _DIGITS
        scale = scale_for(
            [value for cell in members for value in (cell.old, cell.new)], members[0].unit, 0.1
        )
        rows: list[Row] = []
        for cell in members:
            said = words(cell)
            verdict = f"{verdict_word(cell)}: {said}" if said and words_beside else None
            rows.append(_row(cell, scale, digits, verdict or verdict_word(cell), exact=exact))
            if said and not words_beside:
                rows.append(Row("", message=said))
        made.append(Group(_title(members[0], scale), tuple(rows)))
    return without_empty_columns(Table("", columns, tuple(made)))


def verdict_word(cell: CellVerdict) -> str:
    """`REGRESSED` where the cell stops a build, else the verdict as it is."""
    return cell.verdict.upper() if cell.fails else cell.verdict


def words(cell: CellVerdict) -> str:
    """What there is to say of a cell besides its numbers; may be empty."""
    parts = [cell.label, cell.reason]
    if cell.decided_by == "turns" and cell.verdict in ("regressed", "improved"):
        # It need not be the quotient of the two columns beside it.
        parts.append("ratio of turns side by side")
    if cell.verdict == "inconclusive" and cell.before:
        if cell.low is not None and cell.low > 1.0 + cell.margin:
            parts.append("beyond the margin, but from too little to be sure")
        parts.append(
            "rules no slowdown out"
            if cell.ruled_out is None
            else f"rules out more than {change(1.0 + cell.ruled_out)}"
        )
    if cell.waiver:
        parts.append(f"waived: {cell.waiver}")
    return "; ".join(part for part in parts if part)


def sentence(cell: CellVerdict) -> str:
    """A cell in one line: `0.635 -> 0.668 us, +5.2 % (4.1 to 6.3), p 6e-06, margin 3 %, ...`."""
    digits = _DIGITS if cell.unit == "ns" else _DIGITS_OF_COUNTS
    scale = scale_for([cell.old, cell.new], cell.unit, 0.1)
    parts = []
    if cell.old is not None and cell.new is not None:
        before, after = (_amount(value, scale, digits) for value in (cell.old, cell.new))
        unit = "" if scale.label in ("", "count") else f" {scale.label}"
        parts.append(f"{before} -> {after}{unit}")
    if cell.ratio is not None:
        between = change_interval(cell.low, cell.high)
        parts.append(change(cell.ratio) + (f" ({between})" if between != ABSENT else ""))
    if cell.p is not None:
        parts.append(f"p {_chance(cell.p)}")
    if cell.margin:
        parts.append(_margin(cell))
    if (said := _rounds(cell)) != ABSENT:
        parts.append(f"{said} rounds")
    return ", ".join(parts)


def change(ratio: float | None) -> str:
    """A ratio as what changed: `+5.2 %`, `-3.1 %`, from a doubling on `2.40x`."""
    if ratio is None or not math.isfinite(ratio):
        return ABSENT
    if ratio >= _FACTOR:
        return f"{significant(ratio)}x"
    percents = (ratio - 1.0) * 100
    # Half a thousandth of a count is a change; of a time it would pretend precision.
    digits = 1 if abs(percents) >= 0.1 or percents == 0 else 3
    return f"{percents:+.{digits}f} %"


def change_interval(low: float | None, high: float | None) -> str:
    """`4.1 to 6.3` (per cent), or `1.90 to 2.60x`; `-` without an interval."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ABSENT
    if high >= _FACTOR:
        return f"{significant(low)} to {significant(high)}x"
    return f"{(low - 1.0) * 100:.1f} to {(high - 1.0) * 100:.1f}"


def place(cell: CellVerdict) -> str:
    """`decode, block_size 16`."""
    return ", ".join(part for part in (cell.scenario, cell.setting) if part)


def _title(cell: CellVerdict, scale: Scale) -> str:
    parts = [f"{place(cell)}: {cell.metric}"]
    if scale.label not in ("", "count"):
        parts.append(scale.label)
    if cell.margin:
        parts.append(_margin(cell))
    return ", ".join(parts)


def _margin(cell: CellVerdict) -> str:
    origin = f" ({cell.margin_of})" if cell.margin_of else ""
    return f"margin {_percent(cell.margin)}{origin}"


def _row(cell: CellVerdict, scale: Scale, digits: int, verdict: str, *, exact: bool) -> Row:
    texts = (
        _amount(cell.old, scale, digits),
        _amount(cell.new, scale, digits),
        change(cell.ratio),
        change_interval(cell.low, cell.high) if not exact else ABSENT,
        ABSENT if cell.p is None or exact else _chance(cell.p),
        ABSENT if exact else _rounds(cell),
        verdict,
    )
    return Row(cell.impl, tuple(Entry(text) for text in texts))


def _amount(value: float | None, scale: Scale, digits: int) -> str:
    if value is None:
        return ABSENT
    if value == int(value) and scale.factor == 1.0 and digits == _DIGITS_OF_COUNTS:
        return count(value)
    return significant(value * scale.factor, digits)


def _percent(share: float) -> str:
    """A margin that somebody chose, or what a search found: `3 %`, `0.5 %`, `12 %`."""
    return f"{share * 100:.2g} %" if share < 1.0 else f"{share * 100:.0f} %"


def _chance(p: float) -> str:
    """A p with the digits that say something; none is zero, however many rounds there are."""
    if p < _LEAST_CHANCE:
        return f"< {_LEAST_CHANCE:.0e}"
    return f"{p:.2f}" if p >= 0.01 else f"{p:.0e}"


def _sizes(cell: CellVerdict) -> tuple[int, int]:
    """Rounds before and after; a count has none, its values are those of some heaps."""
    return (0, 0) if cell.unit == "count" else (len(cell.before), len(cell.after))


def _rounds(cell: CellVerdict) -> str:
    sizes = dict.fromkeys(_sizes(cell))
    return "/".join(map(str, sizes)) if any(sizes) else ABSENT


def _rounds_words(result: CheckResult) -> list[str]:
    """`rounds 6..30 (mean 14.2)`: the fewer of the two sides in each cell that has any."""
    sizes = [rounds for cell in result.cells if (rounds := min(_sizes(cell))) > 0]
    if not sizes:
        return []
    span = "..".join(dict.fromkeys(map(str, (min(sizes), max(sizes)))))
    if min(sizes) == max(sizes):
        return [f"rounds {span}"]
    return [f"rounds {span} (mean {sum(sizes) / len(sizes):.1f})"]


def _control_words(control: object) -> list[str]:
    """`control 1.54 ns (+0.0 %)`: what showed that both sides had the same clock."""
    sides = list(control.values()) if isinstance(control, Mapping) else []
    if len(sides) != 2 or not all(isinstance(side, int | float) and side > 0 for side in sides):
        return []
    before, after = sides
    return [f"control {significant(before)} ns ({change(after / before)})"]


def _seconds(duration: float) -> str:
    return f"{duration:.0f} s" if duration >= 10 else f"{duration:.1f} s"


def hidden_words(hidden: int) -> str:
    """`54 unchanged (hidden; --all)`."""
    return f"{hidden} unchanged (hidden; --all)"
