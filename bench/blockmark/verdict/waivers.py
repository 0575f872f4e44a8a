"""Regressions that are let through for a reason and for a time, from a TOML file.

[[waiver]]
cell = "decode (block_size 16) flat-stack/cpp step_ns"
limit = 1.10                  # the largest ratio that is let through
reason = "ref counts are checked since #214"
expires = 2027-03-01          # the last day
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from blockmark.toml_text import TomlError, read_toml

from .check import CheckResult, waive
from .errors import CompareError

_KEYS = ("cell", "limit", "reason", "expires")


class WaiverError(CompareError):
    """A file of waivers that can't be read; one line that names the place and the mend."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """One regression that is let through: `limit` is the largest ratio."""

    cell: str
    limit: float
    reason: str
    expires: date


def read_waivers(path: Path) -> tuple[Waiver, ...]:
    """The waivers of a file. Raises WaiverError."""
    try:
        data = read_toml(path)
    except TomlError as error:
        raise WaiverError(f"{path}: {error}") from None
    rows = data.pop("waiver", [])
    if data or not isinstance(rows, list):
        named = f'"{next(iter(data))}"' if data else "waiver"
        raise WaiverError(f"{path}: {named}: a file of waivers has [[waiver]] tables alone")
    waivers = tuple(_waiver(row, f"{path}: waiver {i}") for i, row in enumerate(rows, start=1))
    names = [waiver.cell for waiver in waivers]
    for name in names:
        if names.count(name) > 1:
            raise WaiverError(f"{path}: {name} is waived twice; keep one")
    return waivers


def _waiver(row: Any, where: str) -> Waiver:
    if not isinstance(row, Mapping):
        raise WaiverError(f"{where}: must be a table [[waiver]]")
    for key in row:
        if key not in _KEYS:
            raise WaiverError(f'{where}: unknown key "{key}"; there are {", ".join(_KEYS)}')
    for key in _KEYS:
        if key not in row:
            raise WaiverError(f"{where}: {key} is missing")
    for key in ("cell", "reason"):
        if not isinstance(row[key], str) or not row[key].strip():
            raise WaiverError(f"{where}: {key} must be text that is not empty")
    limit = row["limit"]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not isfinite(limit):
        raise WaiverError(f"{where}: limit must be a number, the largest ratio, such as 1.10")
    if limit <= 1:
        raise WaiverError(f"{where}: limit = {limit} lets nothing through; it must be above 1")
    return Waiver(row["cell"].strip(), float(limit), row["reason"].strip(), _day(row, where))


def _day(row: Mapping[str, Any], where: str) -> date:
    value = row["expires"]
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise WaiverError(
            f"{where}: expires = {value!r} must be a day, such as 2027-03-01"
        ) from None


def apply_waivers(result: CheckResult, waivers: Collection[Waiver], today: date) -> CheckResult:
    """The result with waived regressions marked, and a note for each waiver of no use."""
    known = {cell.name for cell in result.cells}
    notes = []
    for waiver in waivers:
        if waiver.expires < today:
            notes.append(f"the waiver of {waiver.cell} has expired on {waiver.expires}")
        elif waiver.cell not in known:
            notes.append(f"the waiver of {waiver.cell} names no cell of this check")
    valid = {w.cell: (w.limit, w.reason) for w in waivers if w.expires >= today}
    return replace(waive(result, valid), notes=(*result.notes, *notes))
