"""What the numbers of a run say, in a sentence each.

A ratio is formed within one profile (what the operations include), or says that it
is not. Only what an interval shows is told: where it holds 1 no difference was seen, and
with too few rounds for one there is no winner and no factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blockmark.report.facts.floors import floor_mark
from blockmark.report.facts.numbers import count, counted, times
from blockmark.report.facts.order import value_of
from blockmark.report.findings.compared import between, ratio_between
from blockmark.report.tables.cells import step_rate
from blockmark.runs.model import CallStyle, Cell, ImplementationInfo, Run, Setting, SettingKey
from blockmark.verdict.headline import METRIC, Crossing, Headline, Structure, headlines
from blockmark.verdict.stats import ROUNDS_A_SIDE, Ratio

# A sentence that compares more than this many is no longer read.
_MOST = 5

STYLE_WORDS: dict[CallStyle, str] = {
    "native": "native loop",
    "per-op": "called per operation",
    "per-step": "called per step",
}
_WHY_PYTHON = (
    "Interpreted index arithmetic costs more there than the cache misses that a compact layout "
    "saves, while a list or a dict answers in one C call."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know: a word for it, the sentence, and why it is so where that is known."""

    topic: str
    text: str
    why: str = ""


def findings(run: Run) -> Mapping[SettingKey, tuple[Finding, ...]]:
    """For each setting: structure, crossing, language and Python's own ranking.

    What the run does not tell is left out.
    """
    return {
        headline.setting: _of_setting(run, headline, run.cells_of(headline.setting))
        for headline in headlines(run)
    }


def share_range(run: Run, setting: Setting) -> str:
    """`At 2,000 steps/s a block manager takes 0.242 % of a core with ...`; may be empty."""
    cells = [
        cell
        for cell in run.cells_of(setting.key)
        if cell.kind == "manager" and value_of(cell, "busy_share_estimated") is not None
    ]
    if not cells:
        return ""
    rate = step_rate(setting)
    when = "At the step rate" if rate is None else f"At {count(rate)} steps/s"
    return f"{when} a block manager takes {between(cells, 'busy_share_estimated', 'of a core ')}."


def _of_setting(run: Run, headline: Headline, cells: Sequence[Cell]) -> tuple[Finding, ...]:
    steps = _Steps(run, cells)
    found = [
        _structure(steps, headline.structure),
        _crossing(steps, headline.crossings),
        _language(steps),
        _python_ranking(steps),
    ]
    return tuple(finding for finding in found if finding is not None)


class _Steps:
    """The managers of one setting that have a step time above zero, cheapest first."""

    def __init__(self, run: Run, cells: Sequence[Cell]) -> None:
        self.infos: Mapping[str, ImplementationInfo] = run.implementation_by_name
        self._all = cells
        self.costs = {
            cell.impl: cost
            for cell in cells
            if cell.kind == "manager" and (cost := value_of(cell, METRIC))
        }
        self.cells = sorted(
            (cell for cell in cells if cell.impl in self.costs),
            key=lambda cell: self.costs[cell.impl],
        )

    def of(self, style: CallStyle, tier: str | None = None) -> list[Cell]:
        """Those of a call style and, if named, of a tier."""
        return [
            cell
            for cell in self.cells
            if cell.call_style == style and tier in (None, self.infos[cell.impl].tier)
        ]

    def ratio(self, dear: Cell, cheap: Cell) -> Ratio:
        """How many times as much the first costs."""
        return ratio_between(dear, cheap, METRIC)

    def mark(self, impl: str) -> str:
        """The mark of a step that is not told from the empty loop around it."""
        cell = next((cell for cell in self.cells if cell.impl == impl), None)
        return "" if cell is None else floor_mark(cell, METRIC, self._all, self.infos)

    def scheme(self, cell: Cell) -> str:
        """The scheme that a cell's implementation belongs to."""
        return self.infos[cell.impl].scheme


def _structure(steps: _Steps, structure: Structure | None) -> Finding | None:
    """How much dearer the others are than the cheapest that does the same work."""
    if structure is None:
        return None
    best, *others = structure.standings
    called = steps.of(structure.call_style)
    label = short_names([cell.impl for cell in called])
    ratios = [(label.get(other.impl, other.impl), other.ratio) for other in others]
    style = STYLE_WORDS[structure.call_style]
    text = f"{_standing(label.get(best.impl, best.impl), ratios)} ({style})."
    reference = next((cell for cell in called if cell.impl == best.impl), None)
    foreign = [cell for cell in called if steps.infos[cell.impl].profile != structure.profile]
    if reference is not None:
        costs = [
            f"{label[cell.impl]} costs {factor}"
            for cell in foreign[:_MOST]
            if (factor := _as_much(steps.ratio(cell, reference)))
        ]
        if costs:
            profiles = sorted({steps.infos[cell.impl].profile or "-" for cell in foreign})
            kinds = f"{', '.join(profiles)} against {structure.profile or '-'}"
            text += f" Across profiles ({kinds}): {', '.join(costs)}."
    return Finding("Structure", text)


def _crossing(steps: _Steps, crossings: Sequence[Crossing]) -> Finding | None:
    """What the same compiled structure costs when Python calls it."""
    factors: dict[str, list[str]] = {}
    for crossing in crossings:
        if told := _as_much(crossing.ratio):
            scheme, style = steps.infos[crossing.native].scheme, STYLE_WORDS[crossing.call_style]
            mark = steps.mark(crossing.native) or steps.mark(crossing.called)
            factors.setdefault(scheme, []).append(f"{told}{mark} when {style}")
    if not factors:
        return None
    costs = [
        f"{scheme} costs {' and '.join(found)}" for scheme, found in list(factors.items())[:_MOST]
    ]
    return Finding("Crossing", f"from Python the same {', '.join(costs)}.")


def _language(steps: _Steps) -> Finding | None:
    """What the same scheme costs when it is written in Python too."""
    native = {steps.scheme(cell): cell for cell in reversed(steps.of("native", "cpp"))}
    python = {steps.scheme(cell): cell for cell in reversed(steps.of("per-op", "py"))}
    ratios = {
        scheme: ratio
        for scheme, cell in native.items()
        if scheme in python and _as_much(ratio := steps.ratio(python[scheme], cell))
    }
    if not ratios:
        return None
    ranked = sorted(ratios, key=lambda scheme: ratios[scheme].value or 0.0)
    named = ", ".join(f"{_as_much(ratios[scheme])} with {scheme}" for scheme in ranked[:_MOST])
    return Finding("Language", f"written in Python instead of C++, a step costs {named}.")


def _python_ranking(steps: _Steps) -> Finding | None:
    """Where Python's cheapest scheme is not C++'s, and why."""
    native, python = steps.of("native", "cpp"), steps.of("per-op", "py")
    common = set(map(steps.scheme, native)) & set(map(steps.scheme, python))
    native = [cell for cell in native if steps.scheme(cell) in common]
    python = [cell for cell in python if steps.scheme(cell) in common]
    if len(common) < 2 or steps.scheme(native[0]) == steps.scheme(python[0]):
        return None
    beaten = next(cell for cell in python if steps.scheme(cell) == steps.scheme(native[0]))
    if not steps.ratio(beaten, python[0]).leaves_out_one:
        return None
    ratios = [(steps.scheme(cell), steps.ratio(cell, python[0])) for cell in python[1:]]
    text = f"{_standing(steps.scheme(python[0]), ratios)}."
    return Finding("In Python the ranking differs", text, _WHY_PYTHON)


def _standing(best: str, ratios: Sequence[tuple[str, Ratio]]) -> str:
    """`flat 1.26x faster than vector, 14.8x than hash-map; no difference seen to ...`.

    With too few rounds for an interval: who leads, and that it is no evidence.
    """
    few = [ratio for _, ratio in ratios if ratio.leaves_out_one is None]
    if few:
        if all(times(ratio.value) == times(1.0) for _, ratio in ratios):
            return f"{best}: no difference seen to {', '.join(name for name, _ in ratios)}"
        rounds = min(min(ratio.rounds) for ratio in few)
        return (
            f"{best} leads here, which {counted(rounds, 'round')} can't show: "
            f"that takes {ROUNDS_A_SIDE} rounds or more"
        )
    won = [(times(ratio.value), name) for name, ratio in ratios if ratio.leaves_out_one]
    even = [name for name, ratio in ratios if not ratio.leaves_out_one]
    parts = []
    if won:
        listed = [f"{factor} than {name}" for factor, name in won[1:_MOST]]
        if len(won) > _MOST:
            listed.append(f"... {won[-1][0]} than {won[-1][1]}")
        parts.append(", ".join([f"{won[0][0]} faster than {won[0][1]}", *listed]))
    if even:
        parts.append(f"no difference seen to {', '.join(even)}")
    return f"{best}: {parts[0]}" if not won else f"{best} {'; '.join(parts)}"


def _as_much(ratio: Ratio) -> str:
    """`5.49x as much`, or `no more, as far as seen`; empty with too few rounds to say."""
    if ratio.leaves_out_one is None or ratio.value is None:
        return ""
    return f"{times(ratio.value)} as much" if ratio.leaves_out_one else "as much, as far as seen"


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names without the tier, where all have the same one and stay apart without it."""
    short = {name: name.replace("/cpp", "") for name in names}
    same_tier = all("/cpp" in name for name in names)
    return short if same_tier and len(set(short.values())) == len(short) else {n: n for n in short}
