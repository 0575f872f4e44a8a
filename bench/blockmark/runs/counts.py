"""Exact counts of one side: what callgrind and the allocation counter say of each cell.

Such counts repeat to the last digit where program, compiler, libraries and simulator are
the same, so they can be stored. What the heap looks like when a structure begins moves them,
so each is taken in several heaps. A stored file is kept apart by all of these: the key, which
its name spells out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .errors import RunFileError, StoreError
from .reading import JsonObject, read_json_object
from .store import render_json

SCHEMA = "blockmark.counts"
SCHEMA_VERSION = 2
ALLOCATIONS = "heap_allocations_per_step"
_RENEW = "renew it with `blockmark check --deterministic --store-counts DIR`"
Reason = str


@dataclass(frozen=True, slots=True)
class CountKey:
    """What must agree for stored counts to mean something here.

    The C library is a part of it: a structure that asks the heap runs its instructions.
    Each is a name and a version, such as `g++ 12.2.0`; empty where there is none.
    """

    architecture: str
    compiler: str
    libc: str
    python: str
    valgrind: str

    @property
    def file_name(self) -> str:
        """`x86_64_g++-12.2.0_glibc-2.36_python-3.11.7_valgrind-3.19.0.json`."""
        parts = (re.sub(r"[^\w.+]+", "-", part) or "none" for part in asdict(self).values())
        return "_".join(parts) + ".json"

    def __str__(self) -> str:
        """For a sentence: `x86_64, g++ 12.2.0, glibc 2.36, ...`."""
        return ", ".join(part for part in asdict(self).values() if part)


@dataclass(frozen=True, slots=True)
class CostCounts:
    """Totals of all replayed operations of what a cost metric times; the loop's own included.

    `units` is what the metric divides by, `l1d_misses` are those of loads and of stores. Each
    has a total for every heap that it was counted in, the least first.
    """

    units: float
    instructions: tuple[int, ...]
    l1d_misses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellCounts:
    """One implementation in one setting. `costs`: cost metric -> counts, or why there are none.

    `loads`: cost metric -> a digest of the operations and the conditions that it was counted
    under. `allocations` are heap allocations in a steady step, or why they are unknown.
    """

    scenario: str
    setting: str
    impl: str
    loads: Mapping[str, str]
    costs: Mapping[str, CostCounts | Reason]
    allocations: float | Reason

    @property
    def place(self) -> tuple[str, str, str]:
        """Scenario, setting and implementation: which cell this is on either side."""
        return self.scenario, self.setting, self.impl


@dataclass(frozen=True, slots=True)
class SideCounts:
    """All counts of one side, and what they depend on beside the key."""

    key: CountKey
    flags: str
    replay_version: int
    contract_version: int
    caches: str
    cells: tuple[CellCounts, ...]


def store_counts(counts: SideCounts, folder: Path) -> Path:
    """Write the counts into `folder`, under the name that their key gives; the file's path.

    Sorted, and each cell's counts on lines of their own, so that a renewal shows what moved.
    Raises StoreError.
    """
    path = folder / counts.key.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(render_json(_dump(counts)), encoding="utf-8")
    except OSError as error:
        problem = f"can't be written: {error.strerror or error}"
        raise StoreError(path, problem, "name another folder") from None
    return path


def find_counts(folder: Path, key: CountKey) -> SideCounts | Reason:
    """The stored counts of this key, or in one line why there are none that could be used.

    Raises RunFileError for a file of that name which is not what it should be.
    """
    path = folder / key.file_name
    if path.is_file():
        return load_counts(path)
    if not folder.is_dir():
        return f"there is no folder {folder} of stored counts"
    others = sorted(file.stem for file in folder.glob("*_*_*_*_*.json"))
    known = f"stored are: {'; '.join(others)}" if others else "none are stored"
    return f"no counts are stored in {folder} for {key} ({known})"


def load_counts(path: Path) -> SideCounts:
    """Read stored counts. Raises RunFileError, which names the file, the key and the mend."""
    top = read_json_object(path)
    schema = top.content.get("schema")
    if schema != SCHEMA:
        top.fail(None, f"not a {SCHEMA} file (its schema is {schema!r})", _RENEW)
    version = top.integer("schema_version", least=1)
    if version > SCHEMA_VERSION:
        raise RunFileError(
            path,
            f"written by a newer blockmark (version {version}, this one reads {SCHEMA_VERSION})",
            "update blockmark",
            "schema_version",
        )
    if version < SCHEMA_VERSION:
        top.fail("schema_version", "written by an older blockmark, of one heap", _RENEW)
    key = top.child("key")
    return SideCounts(
        key=CountKey(*(key.text(name) for name in CountKey.__dataclass_fields__)),
        flags=top.text("flags"),
        replay_version=top.integer("replay_version"),
        contract_version=top.integer("contract_version"),
        caches=top.text("caches"),
        cells=tuple(
            cell
            for scenario, settings in top.members("scenarios")
            for setting, place in _members(settings)
            for cell in _read_setting(scenario, setting, place)
        ),
    )


def _members(item: JsonObject) -> list[tuple[str, JsonObject]]:
    return [(name, item.child(name)) for name in item.content]


def _read_setting(scenario: str, setting: str, place: JsonObject) -> list[CellCounts]:
    stored = place.child("loads")
    loads = {cost: stored.text(cost) for cost in stored.content}
    cells = []
    for impl, item in place.members("counts"):
        costs: dict[str, CostCounts | Reason] = {}
        for name in item.content:
            if name != ALLOCATIONS:
                costs[name] = _read_cost(item, name)
                if name not in loads:
                    item.fail(name, "has no entry in loads", _RENEW)
        allocations = item.get(ALLOCATIONS)
        if not isinstance(allocations, str):
            allocations = item.number(ALLOCATIONS)
        cells.append(CellCounts(scenario, setting, impl, loads, costs, allocations))
    return cells


def _read_cost(item: JsonObject, name: str) -> CostCounts | Reason:
    value = item.get(name)
    if isinstance(value, str):
        return value
    counts = item.child(name)
    units = counts.number("units")
    if not units:
        counts.fail("units", "is zero", _RENEW)
    return CostCounts(units, _totals(counts, "instructions", 1), _totals(counts, "l1d_misses"))


def _totals(counts: JsonObject, name: str, least: int = 0) -> tuple[int, ...]:
    totals = counts.integers(name, least)
    if not totals:
        counts.fail(name, "is empty", _RENEW)
    return totals


def _dump(counts: SideCounts) -> dict[str, Any]:
    scenarios: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in sorted(counts.cells, key=lambda cell: cell.place):
        place = scenarios.setdefault(cell.scenario, {}).setdefault(
            cell.setting, {"loads": dict(sorted(cell.loads.items())), "counts": {}}
        )
        place["counts"][cell.impl] = {
            ALLOCATIONS: _plain(cell.allocations),
            **{
                name: found if isinstance(found, str) else _plain_cost(found)
                for name, found in sorted(cell.costs.items())
            },
        }
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "key": asdict(counts.key),
        "flags": counts.flags,
        "replay_version": counts.replay_version,
        "contract_version": counts.contract_version,
        "caches": counts.caches,
        "scenarios": scenarios,
    }


def _plain_cost(counts: CostCounts) -> dict[str, Any]:
    return {name: _plain(value) for name, value in asdict(counts).items()}


def _plain(value: Any) -> Any:
    """A whole number without its `.0`."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
