"""Measuring what published claims need: their settings as scenarios of one run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from blockmark.verdict.claims_file import load_claims, parse_claims
from blockmark.workload.builtin import CLAIMS_FILE, find_scenario, scenario_folder
from blockmark.workload.errors import ConfigError
from blockmark.workload.keys import KEYS, nearest, parse

if TYPE_CHECKING:
    from blockmark.measure.run.counting import CounterPlan
    from blockmark.measure.run.plan import Plan
    from blockmark.measure.run.runner import Progress
    from blockmark.measure.run.session import Outcome
    from blockmark.verdict.claims import ClaimSetting, ClaimsFile
    from blockmark.workload.scenario import Scenario


def find_claims(path: Path | None) -> ClaimsFile:
    """The claims of a file, or the built-in ones. Raises ClaimsFileError."""
    if path is not None:
        return load_claims(path)
    text = (scenario_folder() / CLAIMS_FILE).read_text("utf-8")
    return parse_claims(text, f"scenarios/{CLAIMS_FILE}")


def plan_claims(
    file: ClaimsFile,
    *,
    command: str,
    sensitivity: bool,
    rounds: int | None,
    seed: int | None,
    timeout_s: float,
    counters: CounterPlan,
) -> Plan | None:
    """The run that the claims need; None if they need none.

    Raises ConfigError or TargetError for a setting that can't be measured.
    """
    from blockmark.measure.run.plan import make_plan

    needed = file.needed(sensitivity=sensitivity)
    if not needed:
        return None
    scenarios = [_scenario(file, setting) for setting in needed]
    return make_plan(
        scenarios,
        [],
        command=command,
        seed=seed,
        rounds=rounds,
        timeout_s=timeout_s,
        counters=counters,
    )


def measure_claims(plan: Plan, output: Path, progress: Progress) -> Outcome:
    """Carry the plan out in a new folder under `output`. Raises StoreError, ConfigError."""
    # Only here: a run that is read needs nothing that measures.
    from blockmark.measure.run.session import start

    return start(plan, output, progress)


def _scenario(file: ClaimsFile, setting: ClaimSetting) -> Scenario:
    """The setting as a scenario of its own name and one cell. Raises ConfigError."""
    where = f"{file.where}: [settings.{setting.name}]"
    values = {}
    for key, value in setting.values.items():
        if key not in KEYS:
            raise ConfigError(f'{where}: set: unknown key "{key}"{nearest(key, list(KEYS))}')
        values[key] = [parse(key, value, f"{where}: set")]
    try:
        base = find_scenario(setting.scenario)
    except ConfigError as error:
        raise ConfigError(f"{where}: scenario: {error}") from None
    made = replace(
        base.override(values),
        name=setting.name,
        title=f"{base.title} (for claims)",
        analysis="",
        implementations=setting.implementations,
        where=where,
    )
    if (cells := len(made.cells())) != 1:
        axes = ", ".join(key for key, axis in made.matrix.items() if len(axis) > 1)
        raise ConfigError(f"{where}: has {cells} cells; set one value for {axes}")
    return made
