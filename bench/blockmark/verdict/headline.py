"""What a run says in two sentences: the structure's share, and the price of a call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from blockmark.runs.model import CallStyle, Cell, MetricValue, Run, SettingKey
from blockmark.verdict.pairs import measured, ratio_of
from blockmark.verdict.stats import Ratio

# What a step costs is the first question of every scenario.
METRIC = "step_ns"
_CALL_STYLES: tuple[CallStyle, ...] = ("native", "per-op", "per-step")


@dataclass(frozen=True, slots=True)
class Standing:
    """An implementation against the cheapest of its group; `ratio` is its cost / the least."""

    impl: str
    value: MetricValue
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Structure:
    """The managers of one call style and one profile, the cheapest first.

    With one way of calling and the same work included, only the structures differ.
    The first of `standings` is the cheapest itself, with ratio 1.
    """

    call_style: CallStyle
    profile: str
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class Crossing:
    """The same implementation from Python and in the native loop.

    `ratio` is the cost of a step called in `call_style` / in the native loop.
    """

    native: str
    called: str
    call_style: CallStyle
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Headline:
    """One setting's; `structure` is None if there are no two managers to compare."""

    setting: SettingKey
    structure: Structure | None
    crossings: tuple[Crossing, ...]


def headlines(run: Run) -> tuple[Headline, ...]:
    """The headline of each setting, in the order of the run."""
    found = []
    for setting in run.setting_by_key:
        steps = {
            cell.impl: (cell, value)
            for cell in run.cells_of(setting)
            if cell.kind == "manager" and not isinstance(value := measured(cell, METRIC), str)
        }
        found.append(
            Headline(
                setting,
                _structure(run, list(steps.values())),
                _crossings(list(steps.values())),
            )
        )
    return tuple(found)


def without_call_style(impl: str) -> str:
    """The name without the bracket parameter that says how it is called.

    `flat-stack/cpp[call_style=per-op,row_pad=32]` is `flat-stack/cpp[row_pad=32]`.
    """
    match = re.fullmatch(r"(.*)\[([^\[\]]*)\]", impl, flags=re.DOTALL)
    if match is None:
        return impl
    kept = [part for part in match[2].split(",") if part.partition("=")[0].strip() != "call_style"]
    return f"{match[1]}[{','.join(kept)}]" if kept else match[1]


_Step = tuple[Cell, MetricValue]


def _structure(run: Run, steps: Sequence[_Step]) -> Structure | None:
    """The first call style in which two managers of one profile were measured."""
    for style in _CALL_STYLES:
        called = [step for step in steps if step[0].call_style == style]
        profiles = Counter(run.implementation_by_name[cell.impl].profile for cell, _ in called)
        if not profiles:
            continue
        profile, members = profiles.most_common(1)[0]
        if members < 2:
            continue
        group = [
            (cell, value)
            for cell, value in called
            if run.implementation_by_name[cell.impl].profile == profile
        ]
        group.sort(key=lambda step: (step[1].value or 0.0, step[0].impl))
        cell, least = group[0]
        itself = Ratio(1.0, 1.0, 1.0, (least.rounds, least.rounds), level=1.0)
        others = (
            Standing(cell.impl, value, ratio_of(METRIC, value, least)) for cell, value in group[1:]
        )
        return Structure(style, profile, (Standing(cell.impl, least, itself), *others))
    return None


def _crossings(steps: Sequence[_Step]) -> tuple[Crossing, ...]:
    native = {
        without_call_style(cell.impl): (cell, value)
        for cell, value in steps
        if cell.call_style == "native"
    }
    crossings = []
    for cell, value in steps:
        base = native.get(without_call_style(cell.impl))
        if cell.call_style == "native" or base is None:
            continue
        ratio = ratio_of(METRIC, value, base[1])
        crossings.append(Crossing(base[0].impl, cell.impl, cell.call_style, ratio))
    return tuple(crossings)
