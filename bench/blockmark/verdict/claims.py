"""Published numbers against measured ones: pure functions, claim and run in, verdict out.

A claim has cases: the conditions under which it is judged, fixed in its file before the
run. Each case gets a verdict of its own; where they differ, the claim
depends, and both sides are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from blockmark.runs.metrics import metric_of
from blockmark.runs.model import Run, Setting, canonical

from .claim_values import Address, Measured, Unmeasured, Value
from .stats import ROUNDS_A_SIDE

Verdict = Literal["holds", "order", "unshown", "fails", "depends", "open", "unmeasurable"]
Relation = Literal["about", "times", "below", "above", "between", "equals", "rising"]

VERDICT_WORDS: Mapping[Verdict, str] = {
    "holds": "holds",
    "order": "order holds, not the size",
    "unshown": "not shown",
    "fails": "fails",
    "depends": "depends",
    "open": "open",
    "unmeasurable": "not measurable here",
}
RELATIONS: Mapping[Relation, str] = {
    "about": "within a factor of the published numbers; with several, their order",
    "times": "a ratio within a factor of the published one; at least on its side of 1",
    "below": "each at or below the limit",
    "above": "each at or above the limit",
    "between": "each between the two limits",
    "equals": "the published number as it was printed",
    "rising": "each clearly above the one before it",
}
# Kinds of metrics that are read off a clock or a sample in each round anew.
_ESTIMATED = ("cost", "rate", "share", "distribution")


@dataclass(frozen=True, slots=True)
class Source:
    """A publication: the name that claims use, and its title."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class ClaimSetting:
    """What is measured for claims: a scenario with `values` set, one cell.

    A run that was made for something else serves as well if its scenario is the same and
    its cell has all of `values`.
    """

    name: str
    scenario: str
    implementations: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One condition under which a claim is judged."""

    label: str
    values: tuple[Value, ...]

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Everything that has to be measured for it."""
        return tuple(address for value in self.values for address in value.addresses)


@dataclass(frozen=True, slots=True)
class Limit:
    """A published number; `sign` is `<` or `>` where only a limit was published."""

    value: float
    sign: Literal["", "<", ">"] = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One published number or comparison.

    `condition` says in words how it is tested, as fixed before measuring. `printed` is what
    was published where that is no number, or a range of them; `published` then is what it was
    tested as. `open` or
    `unmeasurable` is the reason why it has no cases. `within` is the factor that a size
    may be off, `places` the decimals that were printed, to which a value is rounded before it is
    held against a limit.
    """

    id: str
    source: str
    statement: str
    condition: str = ""
    relation: Relation = "about"
    published: tuple[Limit, ...] = ()
    printed: str = ""
    unit: str = ""
    within: float = 2.0
    places: int | None = None
    cases: tuple[Case, ...] = ()
    open: str = ""
    unmeasurable: str = ""


@dataclass(frozen=True, slots=True)
class Variation:
    """A way to measure the same again: a part of the conditions changed.

    `settings` are those that it changes, `values` what is set in them, `implementations`
    what is measured in place of theirs, `words` what is replaced in addresses (`/cpp` by
    `/py`, one lookup pattern by another).
    """

    name: str
    settings: tuple[str, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    implementations: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def measures(self) -> bool:
        """Whether it needs measuring of its own."""
        return bool(self.values or self.implementations)

    def name_of(self, setting: str) -> str:
        """The setting's name under this variation: one word, as addresses need it."""
        return f"{setting}.{self.name.replace(' ', '-')}"

    def setting(self, setting: ClaimSetting) -> ClaimSetting:
        """The changed setting, under its own name."""
        return replace(
            setting,
            name=self.name_of(setting.name),
            implementations=self.implementations or setting.implementations,
            values={**setting.values, **self.values},
        )


@dataclass(frozen=True, slots=True)
class ClaimsFile:
    """All that a claims file holds."""

    where: str
    title: str
    sources: tuple[Source, ...]
    settings: tuple[ClaimSetting, ...]
    claims: tuple[Claim, ...]
    variations: tuple[Variation, ...] = ()

    def needed(self, *, sensitivity: bool = False) -> tuple[ClaimSetting, ...]:
        """The settings to measure, in the order of the file."""
        used = {a.setting for claim in self.claims for case in claim.cases for a in case.addresses}
        plain = [setting for setting in self.settings if setting.name in used]
        varied = [
            variation.setting(setting)
            for variation in self.variations
            for setting in plain
            if sensitivity and variation.measures and setting.name in variation.settings
        ]
        return (*plain, *varied)


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What became of one case.

    `measured` is empty where something was not measured, and `reason` says what. `close`
    says that the range of its rounds reaches over the line that decided.
    """

    label: str
    verdict: Verdict
    measured: tuple[Measured, ...] = ()
    reason: str = ""
    close: bool = False


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What became of a claim, with its cases and, for some verdicts, the reason."""

    claim: Claim
    verdict: Verdict
    cases: tuple[CaseVerdict, ...] = ()
    reason: str = ""

    @property
    def sources(self) -> frozenset[str]:
        """Where its numbers come from; empty for arithmetic."""
        return frozenset(s for case in self.cases for one in case.measured for s in one.sources)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Verdicts of the first case of each claim that a variation touches; exploration."""

    variations: tuple[str, ...]
    rows: tuple[tuple[Claim, CaseVerdict, tuple[CaseVerdict | None, ...]], ...]


def judge_claims(file: ClaimsFile, run: Run | None) -> tuple[ClaimVerdict, ...]:
    """A verdict for every claim. Without a run only arithmetic is judged."""
    look_up = _Reader(file.needed(), run)
    return tuple(judge_claim(claim, look_up) for claim in file.claims)


def judge_claim(claim: Claim, look_up: Callable[[Address], Measured]) -> ClaimVerdict:
    """The verdict on one claim; `look_up` finds what was measured, or raises Unmeasured."""
    if claim.open:
        return ClaimVerdict(claim, "open", reason=claim.open)
    if claim.unmeasurable:
        return ClaimVerdict(claim, "unmeasurable", reason=claim.unmeasurable)
    cases = tuple(judge_case(claim, case, look_up) for case in claim.cases)
    known = {case.verdict for case in cases if case.verdict != "unmeasurable"}
    if not known:
        reasons = dict.fromkeys(case.reason for case in cases)
        return ClaimVerdict(claim, "unmeasurable", cases, "; ".join(reasons))
    # What a case does not show is no other outcome than what the rest shows.
    told = known - {"unshown"} or known
    return ClaimVerdict(claim, told.pop() if len(told) == 1 else "depends", cases)


def judge_case(claim: Claim, case: Case, look_up: Callable[[Address], Measured]) -> CaseVerdict:
    """The verdict on a claim under one condition."""
    try:
        found = tuple(value.compute(look_up) for value in case.values)
    except Unmeasured as error:
        return CaseVerdict(case.label, "unmeasurable", reason=str(error))
    verdict, close = _JUDGES[claim.relation](claim, found)
    return CaseVerdict(case.label, verdict, found, close=close)


def explore(file: ClaimsFile, run: Run) -> Sensitivity:
    """How the first case of each measured claim fares when a condition changes."""
    look_up = _Reader(file.needed(sensitivity=True), run)
    rows = []
    for claim in file.claims:
        if not claim.cases or not claim.cases[0].addresses:
            continue
        changed = [_varied(claim.cases[0], variation) for variation in file.variations]
        if any(changed):
            first = judge_case(claim, claim.cases[0], look_up)
            others = tuple(judge_case(claim, case, look_up) if case else None for case in changed)
            rows.append((claim, first, others))
    return Sensitivity(tuple(variation.name for variation in file.variations), tuple(rows))


def _varied(case: Case, variation: Variation) -> Case | None:
    """The case under the variation; None if that changes nothing in it."""

    def rename(address: Address) -> Address:
        if address.setting not in variation.settings:
            return address
        impl, name = address.impl, address.name
        for old, new in variation.words.items():
            impl, name = impl.replace(old, new), name.replace(old, new)
        setting = address.setting
        return Address(variation.name_of(setting) if variation.measures else setting, impl, name)

    values = tuple(value.renamed(rename) for value in case.values)
    return None if values == case.values else Case(variation.name, values)


class _Reader:
    """Finds what an address means in a run."""

    def __init__(self, settings: tuple[ClaimSetting, ...], run: Run | None) -> None:
        self._settings = {setting.name: setting for setting in settings}
        self._run = run

    def __call__(self, address: Address) -> Measured:
        """The value. Raises Unmeasured with the reason."""
        if self._run is None:
            raise Unmeasured("nothing was measured")
        setting = self._find(self._run, address.setting)
        if not address.impl:
            fact = setting.facts.get(address.name)
            if isinstance(fact, bool) or not isinstance(fact, int | float):
                raise Unmeasured(f"{address.setting}: the run has no fact {address.name}")
            return Measured(float(fact), float(fact), float(fact), frozenset({"count"}))
        cell = next(
            (cell for cell in self._run.cells_of(setting.key) if cell.impl == address.impl), None
        )
        if cell is None:
            raise Unmeasured(f"{address.setting}: the run has no {address.impl}")
        if not cell.ok:
            raise Unmeasured(f"{address.impl} is {cell.status}: {cell.reason}")
        found = cell.metric(address.name)
        if found is None:
            raise Unmeasured(f"{address.impl}: the run has no {address.name}")
        if found.value is None:
            raise Unmeasured(found.unavailable or f"{address.name} is unavailable")
        low = found.value if found.low is None else min(found.low, found.value)
        high = found.value if found.high is None else max(found.high, found.value)
        rounds = found.rounds if _is_estimate(address.name, found.source) else None
        return Measured(found.value, low, high, frozenset({found.source}), rounds)

    def _find(self, run: Run, name: str) -> Setting:
        wanted = self._settings.get(name)
        if wanted is None:
            raise Unmeasured(f"the claims file has no setting {name}")
        for known in (name, wanted.scenario):
            for setting in run.settings:
                if setting.scenario == known and _has(setting.params, wanted.values):
                    return setting
        raise Unmeasured(f"the run has no cell of the setting {name}")


def _is_estimate(address: str, source: str) -> bool:
    """Whether another round may give another value: not so what is counted or simulated."""
    row = metric_of(address)
    counted = source in ("count", "simulation") or source.startswith("callgrind")
    return row is None or (row.kind in _ESTIMATED and not counted)


def _has(params: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a run's cell has the values. Models say what else was measured, not how."""
    return all(
        key in params and canonical({key: params[key]}) == canonical({key: value})
        for key, value in values.items()
        if key != "models"
    )


def _about(claim: Claim, found: tuple[Measured, ...]) -> tuple[Verdict, bool]:
    sizes = [
        _fits(limit, one, claim.within) for limit, one in zip(claim.published, found, strict=True)
    ]
    if all(fits for fits, _ in sizes):
        return "holds", any(close for _, close in sizes)
    if len(found) == 1:
        return "fails", sizes[0][1]
    ranked = sorted(range(len(found)), key=lambda place: claim.published[place].value)
    order = _order([found[place] for place in ranked])
    return ("order" if order == "holds" else order), False


def _fits(limit: Limit, one: Measured, within: float) -> tuple[bool, bool]:
    if limit.sign == "<":
        return one.value < limit.value, one.low < limit.value <= one.high
    if limit.sign == ">":
        return one.value > limit.value, one.low <= limit.value < one.high
    low, high = sorted((limit.value / within, limit.value * within))
    return low <= one.value <= high, _crosses(one, low) or _crosses(one, high)


def _times(claim: Claim, found: tuple[Measured, ...]) -> tuple[Verdict, bool]:
    (limit,), (one,) = claim.published, found
    fits, close = _fits(limit, one, claim.within)
    middle = Measured.exact(1.0)
    order = _order([middle, one] if limit.value > 1.0 else [one, middle])
    if order != "holds":
        return order, False
    return ("holds" if fits else "order"), close


def _below(claim: Claim, found: tuple[Measured, ...]) -> tuple[Verdict, bool]:
    return _inside(claim, found, -math.inf, claim.published[0].value)


def _above(claim: Claim, found: tuple[Measured, ...]) -> tuple[Verdict, bool]:
    return _inside(claim, found, claim.published[0].value, math.inf)


def _between(claim: Claim, found: tuple[Measured, ...]) -> tuple[Verdict, bool]:
    low, high = (limit.value for limit in claim.published)
    return _inside(claim, found, low, high)


def _inside(
    claim: Claim, found: tuple[Measured, ...], low: float, high: float
) -> tuple[Verdict, bool]:
    # A sum of decimals is off in the last bit, which must not decide at the limit itself.
    good = all(
        low - _last_bits(low) <= _as_printed(claim, one) <= high + _last_bits(high) for one in found
    )
    close = any(_crosses(one, end) for one in found for end in (low, high))
    return "holds" if good else "fails", close


def _equals(claim: Claim, found: tuple[Measured, ...]) -> tuple[Verdict, bool]:
    same = all(
        abs(_as_printed(claim, one) - limit.value) <= _last_bits(limit.value)
        for limit, one in zip(claim.published, found, strict=True)
    )
    return "holds" if same else "fails", False


def _as_printed(claim: Claim, one: Measured) -> float:
    return one.value if claim.places is None else round(one.value, claim.places)


def _last_bits(limit: float) -> float:
    """What binary fractions may be off by, for a limit of that size."""
    return 1e-12 * abs(limit) if math.isfinite(limit) else 0.0


def _rising(claim: Claim, found: tuple[Measured, ...]) -> tuple[Verdict, bool]:
    del claim
    return _order(found), False


def _order(values: Sequence[Measured]) -> Verdict:
    """Whether each value is below the next: shown, shown not to be, or neither.

    Two estimates are told apart where no round of one reaches a round of the other, of which
    5 a side leave one chance in a hundred (`ratio_of_quartiles`). Exact values need no rounds.
    """
    if all(_shown_below(a, b) for a, b in pairwise(values)):
        return "holds"
    return "fails" if any(_shown_not_below(a, b) for a, b in pairwise(values)) else "unshown"


def _shown_below(one: Measured, other: Measured) -> bool:
    enough = all(each.rounds is None or each.rounds >= ROUNDS_A_SIDE for each in (one, other))
    return one.high < other.low and enough


def _shown_not_below(one: Measured, other: Measured) -> bool:
    exact = one.rounds is None and other.rounds is None
    return _shown_below(other, one) or (exact and one.low >= other.high)


def _crosses(one: Measured, line: float) -> bool:
    return one.low < line < one.high


_JUDGES: Mapping[Relation, Callable[[Claim, tuple[Measured, ...]], tuple[Verdict, bool]]] = {
    "about": _about,
    "times": _times,
    "below": _below,
    "above": _above,
    "between": _between,
    "equals": _equals,
    "rising": _rising,
}
