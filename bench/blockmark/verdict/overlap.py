"""Why two runs have no cell in common, in one line that says what to change."""

from __future__ import annotations

import json
from itertools import product

from blockmark.runs.model import Run

_MOST_NAMED = 4
_MOST_TRIED = 100


def explain_no_overlap(before: Run, now: Run) -> str:
    """What keeps the nearest pair of settings, or the implementations, apart."""
    front = f"runs {before.run_id} and {now.run_id} have no cell in common"
    if not before.cells or not now.cells:
        return f"{front}: run {(now if before.cells else before).run_id} has no cell at all"
    scenarios = [sorted({cell.scenario for cell in run.cells}) for run in (before, now)]
    both = set(scenarios[0]) & set(scenarios[1])
    if not both:
        return f"{front}: scenario {_names(scenarios[0])} before, {_names(scenarios[1])} now"
    settings = [{cell.key.setting for cell in run.cells} for run in (before, now)]
    shared = settings[0] & settings[1]
    if shared:
        impls = [
            sorted({cell.impl for cell in run.cells if cell.key.setting in shared})
            for run in (before, now)
        ]
        return f"{front}: implementations {_names(impls[0])} before, {_names(impls[1])} now"
    scenario = min(both)
    old, new = (
        sorted(setting.params for setting in some if setting.scenario == scenario)[:_MOST_TRIED]
        for some in settings
    )
    apart = min((_apart(one, other) for one, other in product(old, new)), key=len)
    return f"{front}: {_names(apart)}"


def _apart(before: str, now: str) -> list[str]:
    """The params in which two settings differ, as `name = 16 before, 32 now`."""
    old, new = json.loads(before), json.loads(now)
    absent = "nothing"
    return [
        f"{name} = {old.get(name, absent)} before, {new.get(name, absent)} now"
        for name in dict.fromkeys((*old, *new))
        if old.get(name, absent) != new.get(name, absent)
    ]


def _names(names: list[str]) -> str:
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
