"""Scenario files: TOML in, cells out.

A *cell* is one point of a scenario's matrix: a value for every key. Every
implementation is measured in every cell.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from blockmark.toml_text import TomlError, parse_toml, read_toml
from blockmark_impls.contract import PoolConfig

from .keys import KEYS, STUDIES, ConfigError, Value, nearest, parse, without_effect

if TYPE_CHECKING:
    from pathlib import Path

# What a scenario file may hold beside the keys of a cell.
_FILE_KEYS = ("title", "analysis", "implementations", "matrix")
_MAX_CELLS = 10_000
_MOST_LETTERS = {"title": 300, "analysis": 100_000}
# A paced loop of fewer has no median lateness.
_LEAST_PACED_STEPS = 20
# How long a paced loop of a quick look lasts, where its steps are enough.
_QUICK_PACED_S = 0.25
# Slots that hold cached prefixes, where a workload keeps them.
CACHE_SLOTS = 1024


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of a scenario: a checked value for every key."""

    scenario: str
    params: tuple[tuple[str, Value], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.params)[name]

    @property
    def values(self) -> dict[str, Value]:
        """Key -> value, as run files keep it; a key without a value is left out."""
        return dict(self.params)

    def number(self, name: str) -> int | None:
        """A whole-number key, or None where it was left open.

        Raises ConfigError for a distribution: steady loads need equal lives.
        """
        value = self.values.get(name)
        if isinstance(value, str):
            raise ConfigError(
                f'{name} = {value} is a distribution, but workload = "{self["workload"]}" takes '
                f'one number; distributions are for workload = "serving"'
            )
        return None if value is None else int(value)  # type: ignore[arg-type]

    @property
    def study(self) -> str | None:
        """The study that measures this cell; None where managers replay a Program."""
        return self["workload"] if self["workload"] in STUDIES else None

    @property
    def sequences(self) -> int:
        """Sequences that the load may have live at once: slots of the manager."""
        per_request = self.values.get("beam_width") or self.values.get("parallel_samples") or 1
        running = int(self["concurrency"]) * int(per_request)  # type: ignore[arg-type]
        cached = CACHE_SLOTS if self.values.get("prefix_cache") == "on" else 0
        return running + cached

    @property
    def pool_config(self) -> PoolConfig:
        """The size of the manager that this cell asks for.

        At least two slots, so that a sequence can be forked.
        """
        return PoolConfig(
            total_blocks=self["total_blocks"],
            block_size=self["block_size"],
            max_seqs=max(2, self.sequences),
            max_blocks_per_seq=self["max_blocks_per_seq"],
            id_bits=self["id_bits"],
        )

    @property
    def key(self) -> str:
        """Sixteen hex digits that name this cell in a run."""
        text = json.dumps([self.scenario, sorted(self.values.items())])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario as loaded: prose, implementations, fixed keys, and the matrix."""

    name: str
    title: str
    analysis: str
    implementations: tuple[str, ...]
    fixed: dict[str, Value]
    matrix: dict[str, list[Value]]
    where: str
    overrides: tuple[str, ...] = field(default=())

    def override(self, settings: dict[str, list[Value]]) -> Scenario:
        """The same scenario with keys set from the command line (which win)."""
        fixed, matrix = dict(self.fixed), dict(self.matrix)
        for name, values in settings.items():
            fixed.pop(name, None)
            matrix.pop(name, None)
            if len(values) == 1:
                fixed[name] = values[0]
            else:
                matrix[name] = values
        return replace(self, fixed=fixed, matrix=matrix, overrides=tuple(settings))

    def shortened(self) -> Scenario:
        """What a quick look takes: ends and middle of the file's longest axis, if it has more
        than two values, and the first value of its others. Axes of the command line stay whole.
        Paced loops are short.
        """
        own = {k: v for k, v in self.matrix.items() if k not in self.overrides}
        longest = max(own, key=lambda name: len(own[name]), default=None)
        matrix = {k: v for k, v in self.matrix.items() if k in self.overrides}
        fixed = dict(self.fixed)
        for name, values in own.items():
            if name == longest and len(values) > 2:
                matrix[name] = [values[0], values[len(values) // 2], values[-1]]
            else:
                fixed[name] = values[0]
        if "rate" in str(fixed.get("models", "")) and "rate_seconds" not in self.overrides:
            rates = matrix.get("step_rate") or [
                fixed.get("step_rate", KEYS["step_rate"].default or 0)
            ]
            enough = 2 * _LEAST_PACED_STEPS / min(float(str(rate)) for rate in rates)
            usual = float(str(fixed.get("rate_seconds", KEYS["rate_seconds"].default)))
            fixed["rate_seconds"] = min(usual, max(_QUICK_PACED_S, enough))
        return replace(self, fixed=fixed, matrix=matrix)

    def cells(self) -> list[Cell]:
        """Every point of the matrix, checked. Raises ConfigError."""
        count = math.prod(len(values) for values in self.matrix.values())
        if count > _MAX_CELLS:
            raise ConfigError(
                f"{self.where}: [matrix] makes {count:,} cells; at most {_MAX_CELLS:,}"
            )
        names = list(self.matrix)
        cells = []
        for point in itertools.product(*self.matrix.values()):
            given: dict[str, Value] = {**self.fixed}
            given.update(zip(names, point, strict=True))
            cell = Cell(self.name, _complete(given, self.where))
            _check_together(cell, self.where)
            cells.append(cell)
        return cells

    def digest(self) -> str:
        """Sixteen hex digits over everything that decides what is measured."""
        text = json.dumps([self.name, self.fixed, self.matrix], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _complete(given: dict[str, Value], where: str) -> tuple[tuple[str, Value], ...]:
    """Every key that workload and models read, with its value; in the order of KEYS."""
    values = []
    for name, key in KEYS.items():
        if reason := without_effect(key, given):
            if name in given:
                raise ConfigError(f"{where}: {reason}")
            continue
        value = given.get(name, key.default)
        if value is not None:
            values.append((name, value))
    return tuple(values)


def _check_together(cell: Cell, where: str) -> None:
    """What no single key can tell. A study checks its own cells when it makes them ready."""
    if cell.study:
        return
    bits, total = cell["id_bits"], cell["total_blocks"]
    if total > 1 << bits:
        raise ConfigError(
            f"{where}: total_blocks = {total:,} is more than id_bits = {bits} can number "
            f"({1 << bits:,}); set id_bits = {'32' if total <= 1 << 32 else '64'}"
        )
    # A serving load waits when the pool is full; the others have all requests live.
    if cell["workload"] != "serving" and cell["concurrency"] > total:
        raise ConfigError(
            f"{where}: total_blocks = {total:,} is too small for concurrency = "
            f"{cell['concurrency']:,}: every sequence needs a block; raise total_blocks to at "
            f"least {cell['concurrency']:,}"
        )
    if "rate" in cell["models"]:
        steps = cell["step_rate"] * cell["rate_seconds"]
        if steps < _LEAST_PACED_STEPS:
            raise ConfigError(
                f"{where}: step_rate = {cell['step_rate']:g} for rate_seconds = "
                f"{cell['rate_seconds']:g} makes {steps:g} steps, too few for a share; raise "
                f"rate_seconds to at least {_least_paced(cell['step_rate'])} or step_rate to at "
                f"least {_least_paced(cell['rate_seconds'])}"
            )


def _least_paced(other: float) -> str:
    """What, times `other`, makes enough paced steps; rounded up, so that it may be used."""
    return f"{math.ceil(_LEAST_PACED_STEPS / other * 1000) / 1000:.10g}"


def load_scenario(path: Path, name: str | None = None) -> Scenario:
    """Read a TOML scenario. Raises ConfigError that names the file and the place."""
    try:
        return _scenario(read_toml(path), name or path.stem, str(path))
    except TomlError as error:
        raise ConfigError(f"{path}: {error}") from None


def parse_scenario(text: str, name: str, where: str) -> Scenario:
    """A Scenario out of TOML text. Raises ConfigError."""
    try:
        return _scenario(parse_toml(text), name, where)
    except TomlError as error:
        raise ConfigError(f"{where}: {error}") from None


def _scenario(data: dict[str, Any], name: str, where: str) -> Scenario:
    matrix_in = data.pop("matrix", {})
    if not isinstance(matrix_in, dict):
        raise ConfigError(f"{where}: [matrix] must be a table of lists")
    title, analysis = data.pop("title", name), data.pop("analysis", "")
    for key, value in (("title", title), ("analysis", analysis)):
        if not isinstance(value, str):
            raise ConfigError(f"{where}: {key} must be text")
        if len(value) > (most := _MOST_LETTERS[key]):
            raise ConfigError(f"{where}: {key} has {len(value):,} letters; at most {most:,}")
    targets = data.pop("implementations", [])
    if not isinstance(targets, list) or not all(isinstance(t, str) for t in targets):
        raise ConfigError(f"{where}: implementations must be a list of names")
    fixed = {}
    for key, value in data.items():
        if key not in KEYS:
            raise ConfigError(f'{where}: unknown key "{key}"{nearest(key, [*KEYS, *_FILE_KEYS])}')
        fixed[key] = parse(key, value, where)
    matrix: dict[str, list[Value]] = {}
    for key, values in matrix_in.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{where}: [matrix] {key} must be a list of values")
        if key in fixed:
            raise ConfigError(f"{where}: {key} is set twice, alone and in [matrix]; keep one")
        matrix[key] = [parse(key, value, f"{where}: [matrix]") for value in values]
    return Scenario(name, title, analysis.strip(), tuple(targets), fixed, matrix, where)


def parse_setting(text: str) -> tuple[str, list[Value]]:
    """`KEY=VALUE` or `KEY=V1,V2` of `--set`; several values make an axis.

    Raises ConfigError.
    """
    name, sign, raw = text.partition("=")
    where = f"--set {text}"
    if not sign or not name or not raw:
        raise ConfigError(f"{where}: must be KEY=VALUE, such as --set concurrency=512")
    name = name.strip()
    if name not in KEYS:
        raise ConfigError(f'{where}: unknown key "{name}"{nearest(name, list(KEYS))}')
    key = KEYS[name]
    if key.text:
        return name, [parse(name, raw, where)]
    # The parameters of a distribution have commas of their own.
    separator = ";" if key.spread and ":" in raw else ","
    words = [word.strip() for word in raw.split(separator)]
    if key.many:
        return name, [parse(name, words, where)]
    return name, [parse(name, _scalar(word), where) for word in words]


def _scalar(word: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
