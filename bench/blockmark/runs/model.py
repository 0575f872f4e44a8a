"""A run in memory: what `run.json` says, typed and read-only.

Times are in nanoseconds, sizes in bytes, shares are fractions of one. Nothing
here can be NaN or infinite, whatever the file held.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from blockmark.runs.metrics import split_address

SCHEMA = "blockmark.run"
SCHEMA_VERSION = 1

CellKind = Literal[
    "manager", "control", "mistake", "shared-pool", "counter-layout", "policy", "layout"
]
CallStyle = Literal["native", "per-op", "per-step"]
Status = Literal["ok", "wrong", "failed", "timeout", "unavailable"]


@dataclass(frozen=True, slots=True, order=True)
class SettingKey:
    """A point of a scenario: the same key in every run that measured it.

    `params` is canonical JSON, so that `16` and `16.0`, or another order of the
    keys, are the same setting.
    """

    scenario: str
    params: str

    @classmethod
    def of(cls, scenario: str, params: Mapping[str, Any]) -> SettingKey:
        """The key of a setting. Raises ValueError if a value is not plain JSON."""
        return cls(scenario, canonical(params))


@dataclass(frozen=True, slots=True, order=True)
class CellKey:
    """A cell's identity across runs: setting and implementation."""

    setting: SettingKey
    impl: str

    @classmethod
    def of(cls, scenario: str, params: Mapping[str, Any], impl: str) -> CellKey:
        """The key of a cell. Raises ValueError if a value is not plain JSON."""
        return cls(SettingKey.of(scenario, params), impl)

    @property
    def digest(self) -> str:
        """A short name for the key that is safe in a file (16 hexadecimal digits)."""
        text = json.dumps([self.setting.scenario, self.setting.params, self.impl])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Quantile:
    """One quantile of a distribution over rounds, or the reason why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    values: tuple[float, ...] = ()
    unavailable: str | None = None


@dataclass(frozen=True, slots=True)
class HistogramData:
    """The log-linear histogram of one round: (index, count) pairs, exact maximum."""

    counts: tuple[tuple[int, int], ...]
    max: int
    samples: int


@dataclass(frozen=True, slots=True)
class MetricValue:
    """What was measured for one metric of one cell.

    `value` is None, and then `unavailable` says why, or a number with its
    per-round `values`. `low` and `high` are None if there is only one round.
    `mean`, where it was taken, is that of all blocks (lower quartile over rounds).
    A distribution has `quantiles` and the `histograms` of its rounds; its value
    is p50.
    """

    value: float | None
    unit: str
    source: str
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    values: tuple[float, ...] = ()
    approximate: bool = False
    mean: float | None = None
    unavailable: str | None = None
    quantiles: Mapping[str, Quantile] | None = None
    histograms: tuple[HistogramData, ...] = ()

    def quantile(self, label: str) -> MetricValue:
        """A quantile as a value of its own; unavailable if there are no quantiles."""
        found = (self.quantiles or {}).get(label)
        if found is None:
            reason = self.unavailable or f"no {label} was taken"
            return MetricValue(None, self.unit, self.source, unavailable=reason)
        return MetricValue(
            found.value,
            self.unit,
            self.source,
            low=found.low,
            high=found.high,
            rounds=found.rounds,
            values=found.values,
            approximate=self.approximate,
            unavailable=found.unavailable,
        )


@dataclass(frozen=True, slots=True)
class Verified:
    """How much of the work was proved right before it was timed."""

    operations: int
    steps: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One implementation in one setting.

    `reason` is empty only if `status` is `ok`. `verified` is None for controls and
    for cells that never got so far.
    """

    scenario: str
    params: Mapping[str, Any]
    impl: str
    kind: CellKind
    call_style: CallStyle
    status: Status
    reason: str = ""
    verified: Verified | None = None
    metrics: Mapping[str, MetricValue] = field(default_factory=dict)

    @property
    def key(self) -> CellKey:
        """The cell's identity across runs."""
        return CellKey.of(self.scenario, self.params, self.impl)

    @property
    def ok(self) -> bool:
        """Whether the cell was measured."""
        return self.status == "ok"

    def metric(self, address: str) -> MetricValue | None:
        """`step_ns` or `step_latency_ns.p99`; None if the cell does not have the metric.

        Raises ValueError for a quantile that does not exist.
        """
        name, label = split_address(address)
        value = self.metrics.get(name)
        return value if value is None or label is None else value.quantile(label)


@dataclass(frozen=True, slots=True)
class ScenarioInfo:
    """A scenario as it was run; `analysis` is its prose, `digest` that of its file."""

    name: str
    title: str
    analysis: str
    digest: str


@dataclass(frozen=True, slots=True)
class ImplementationInfo:
    """What an implementation declared about itself when it was measured.

    `engine` is the serving engine whose own code it is, with its release; empty if none.
    `origin` says where a user's code comes from: `path`, `digest` of its files, `commit` and
    whether they are `dirty`, or `no_commit`, the reason. Empty for what blockmark contains.
    """

    name: str
    scheme: str
    tier: str
    kind: CellKind
    summary: str
    profile: str
    id_type: str
    reuse_order: str
    engine: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """A point of a scenario, with facts about the program that every cell replayed."""

    scenario: str
    params: Mapping[str, Any]
    facts: Mapping[str, Any]

    @property
    def key(self) -> SettingKey:
        """The setting's identity across runs."""
        return SettingKey.of(self.scenario, self.params)

    @property
    def program_digest(self) -> str | None:
        """The digest of the program, the same only for the same operations."""
        digest = self.facts.get("program_digest")
        return digest if isinstance(digest, str) else None


@dataclass(frozen=True)
class Run:
    """A whole run."""

    blockmark_version: str
    run_id: str
    created: str
    duration_s: float
    command: str
    complete: bool
    quick: bool
    seed: int
    rounds: int
    machine: Mapping[str, Any]
    build: Mapping[str, Any]
    scenarios: tuple[ScenarioInfo, ...]
    implementations: tuple[ImplementationInfo, ...]
    settings: tuple[Setting, ...]
    cells: tuple[Cell, ...]
    # Which counters were `asked` for, which `source` that came to, and facts about it.
    # Runs from before there were any have none.
    counters: Mapping[str, Any] = field(default_factory=dict)
    # `uid` differs from that of any other run, which `run_id`, a folder's name, does not;
    # `name` and `tags` are the user's; `checkout` has commit and state of blockmark's source.
    uid: str = ""
    name: str = ""
    tags: tuple[str, ...] = ()
    checkout: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def cell_by_key(self) -> Mapping[CellKey, Cell]:
        """The cells by their identity, in the order of the run."""
        return {cell.key: cell for cell in self.cells}

    @cached_property
    def setting_by_key(self) -> Mapping[SettingKey, Setting]:
        """The settings by their identity, in the order of the run."""
        return {setting.key: setting for setting in self.settings}

    @cached_property
    def implementation_by_name(self) -> Mapping[str, ImplementationInfo]:
        """The implementations by name, in the order of the run."""
        return {info.name: info for info in self.implementations}

    def cells_of(self, setting: SettingKey) -> tuple[Cell, ...]:
        """The cells of one setting, in the order of the run."""
        return tuple(cell for key, cell in self.cell_by_key.items() if key.setting == setting)

    def axes(self, scenario: str) -> tuple[str, ...]:
        """The params in which the scenario's settings differ: what tells them apart."""
        params = [setting.params for setting in self.settings if setting.scenario == scenario]
        names = {name: None for one in params for name in one}
        return tuple(
            name
            for name in names
            if any(name not in one or one[name] != params[0].get(name) for one in params)
        )


def canonical(params: Mapping[str, Any]) -> str:
    """Params as JSON in which equal settings are equal strings.

    Raises ValueError for a value that JSON cannot hold, NaN and infinity included.
    """
    try:
        return json.dumps(_plain(params), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise ValueError(f"params hold a value that is not plain JSON: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
