"""What the numbers of a run say, in a sentence each.

A ratio is formed within one profile (what the operations include), or says that it
is not; where its interval holds 1, there is no winner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blockmark.report.numbers import count, percent, times
from blockmark.report.order import value_of
from blockmark.report.step_table import step_rate
from blockmark.runs.estimate import Resampler
from blockmark.runs.model import CallStyle, Cell, ImplementationInfo, Run, Setting, SettingKey
from blockmark.verdict.headline import METRIC, Crossing, Headline, Structure, headlines
from blockmark.verdict.pairs import ratio_of
from blockmark.verdict.stats import Ratio

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
    shares = [
        (share, cell.impl)
        for cell in run.cells_of(setting.key)
        if cell.kind == "manager"
        if (share := value_of(cell, "busy_share_estimated")) is not None
    ]
    if not shares:
        return ""
    (low, cheap), (high, dear) = min(shares), max(shares)
    rate = step_rate(setting)
    when = "At the step rate" if rate is None else f"At {count(rate)} steps/s"
    text = f"{when} a block manager takes {percent(low)} of a core with {cheap}"
    return f"{text}." if cheap == dear else f"{text}, and {percent(high)} with {dear}."


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
        self._resampler = Resampler(run.seed)
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
        top, bottom = dear.metric(METRIC), cheap.metric(METRIC)
        assert top is not None
        assert bottom is not None
        return ratio_of(METRIC, top, bottom, self._resampler)

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
    text = f"{label.get(best.impl, best.impl)} {_faster(ratios)} ({style})."
    reference = next((cell for cell in called if cell.impl == best.impl), None)
    foreign = [cell for cell in called if steps.infos[cell.impl].profile != structure.profile]
    if foreign and reference is not None:
        profiles = sorted({steps.infos[cell.impl].profile or "-" for cell in foreign})
        costs = ", ".join(
            f"{label[cell.impl]} costs {times(steps.ratio(cell, reference).value)} as much"
            for cell in foreign[:_MOST]
        )
        kinds = f"{', '.join(profiles)} against {structure.profile or '-'}"
        text += f" Across profiles ({kinds}): {costs}."
    return Finding("Structure", text)


def _crossing(steps: _Steps, crossings: Sequence[Crossing]) -> Finding | None:
    """What the same compiled structure costs when Python calls it."""
    factors: dict[str, list[str]] = {}
    for crossing in crossings:
        if crossing.ratio.value is not None:
            scheme, style = steps.infos[crossing.native].scheme, STYLE_WORDS[crossing.call_style]
            factor = f"{times(crossing.ratio.value)} as much when {style}"
            factors.setdefault(scheme, []).append(factor)
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
    factors = sorted(
        (steps.ratio(python[scheme], cell).value or 0.0, scheme)
        for scheme, cell in native.items()
        if scheme in python
    )
    if not factors:
        return None
    named = ", ".join(f"{scheme} {times(factor)}" for factor, scheme in factors[:_MOST])
    return Finding("Language", f"written in Python instead of C++, a step costs {named} as much.")


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
    text = f"{steps.scheme(python[0])} {_faster(ratios)}."
    return Finding("In Python the ranking differs", text, _WHY_PYTHON)


def _faster(ratios: Sequence[tuple[str, Ratio]]) -> str:
    """`1.26x faster than vector, 14.8x than hash-map; no difference seen to ...`.

    Of a single round, which has no interval, the ratio is told as it is.
    """
    even = [name for name, ratio in ratios if ratio.value is None or ratio.leaves_out_one is False]
    won = [(times(ratio.value), name) for name, ratio in ratios if name not in even]
    parts = []
    if won:
        listed = [f"{factor} than {name}" for factor, name in won[1:_MOST]]
        if len(won) > _MOST:
            listed.append(f"... {won[-1][0]} than {won[-1][1]}")
        parts.append(", ".join([f"{won[0][0]} faster than {won[0][1]}", *listed]))
    if even:
        parts.append(f"no difference seen to {', '.join(even)}")
    return "; ".join(parts)


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names without the tier, where all have the same one and stay apart without it."""
    short = {name: name.replace("/cpp", "") for name in names}
    same_tier = all("/cpp" in name for name in names)
    return short if same_tier and len(set(short.values())) == len(short) else {n: n for n in short}
