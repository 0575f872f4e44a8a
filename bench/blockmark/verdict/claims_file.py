"""Claims files: TOML in, claims out, every mistake named with its key and the mend.

Whether a scenario, a key of one or an implementation exists is for the side that measures
to say; here only what a claim itself is made of is checked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from blockmark.runs.metrics import METRICS, metric_of
from blockmark.toml_text import TomlError, parse_toml, read_toml

from .claim_values import Value, ValueSyntaxError, parse_value
from .claims import (
    RELATIONS,
    Case,
    Claim,
    ClaimSetting,
    ClaimsFile,
    Limit,
    Relation,
    Source,
    Variation,
)
from .errors import CompareError
from .pairs import nearest

_UNITS = ("ns", "share", "ratio", "bytes", "GB", "blocks", "count", "")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_LIMIT = re.compile(r"([<>])\s*(\S+)")
# Relation -> how many published numbers and how many values; None: one for each other.
_SHAPES: Mapping[str, tuple[int | None, int | None]] = {
    "about": (None, None),
    "times": (1, 1),
    "below": (1, None),
    "above": (1, None),
    "between": (2, None),
    "equals": (None, None),
    "rising": (0, None),
}
_FILE = ("title", "sources", "settings", "claims", "variations")
_CLAIM = (
    "id", "source", "statement", "condition", "relation", "published", "printed", "unit",
    "within", "places", "cases", "open", "unmeasurable",
)  # fmt: skip


class ClaimsFileError(CompareError):
    """A claims file that can't be used; the message names file, key and mend."""


def load_claims(path: Path) -> ClaimsFile:
    """Read a claims file. Raises ClaimsFileError."""
    try:
        return _claims(read_toml(path), str(path))
    except TomlError as error:
        raise ClaimsFileError(f"{path}: {error}") from None


def parse_claims(text: str, where: str) -> ClaimsFile:
    """Claims out of TOML text; `where` names it in errors. Raises ClaimsFileError."""
    try:
        return _claims(parse_toml(text), where)
    except TomlError as error:
        raise ClaimsFileError(f"{where}: {error}") from None


def _claims(data: dict[str, Any], where: str) -> ClaimsFile:
    top = _Table(data, where, _FILE)
    sources = tuple(
        Source(name, table.text("title", needed=True))
        for name, table in top.tables("sources", ("title",))
    )
    settings = tuple(
        ClaimSetting(
            name,
            table.text("scenario", needed=True),
            table.texts("implementations", needed=True),
            table.values("set"),
        )
        for name, table in top.tables("settings", ("scenario", "implementations", "set"))
    )
    names = {setting.name for setting in settings}
    claims = tuple(_claim(table, sources, settings) for table in top.list_of("claims", _CLAIM))
    if not claims:
        raise ClaimsFileError(f"{where}: has no [[claims]]; add one")
    _unique([claim.id for claim in claims], f"{where}: [[claims]] id")
    variations = tuple(
        _variation(table, names)
        for table in top.list_of(
            "variations", ("name", "settings", "set", "implementations", "replace")
        )
    )
    _unique([variation.name for variation in variations], f"{where}: [[variations]] name")
    return ClaimsFile(where, top.text("title") or where, sources, settings, claims, variations)


class _Table:
    """A TOML table that knows where it stands; every reader checks what it reads."""

    def __init__(self, data: Mapping[str, Any], where: str, known: Iterable[str]) -> None:
        self.where, self._data = where, data
        for key in data:
            if key not in (names := list(known)):
                raise ClaimsFileError(
                    f'{where}: unknown key "{key}"{nearest(key, names)}; known: {", ".join(names)}'
                )

    def bad(self, key: str, what: str) -> ClaimsFileError:
        return ClaimsFileError(f"{self.where}: {key} {what}")

    def has(self, key: str) -> bool:
        return key in self._data

    def text(self, key: str, *, needed: bool = False) -> str:
        value = self._data.get(key, "")
        if not isinstance(value, str):
            raise self.bad(key, f"= {value!r} must be text")
        if needed and not value.strip():
            raise self.bad(key, "is missing; say it in a text")
        return " ".join(value.split())

    def texts(self, key: str, *, needed: bool = False) -> tuple[str, ...]:
        value = self._data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self.bad(key, "must be a list of texts")
        if needed and not value:
            raise self.bad(key, "is missing; list at least one")
        return tuple(value)

    def values(self, key: str) -> dict[str, Any]:
        value = self._data.get(key, {})
        if not isinstance(value, dict):
            raise self.bad(key, "must be a table, such as { heap = 'fresh' }")
        return value

    def number(self, key: str, default: float | None) -> float | None:
        value = self._data.get(key, default)
        if value is None:
            return None
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise self.bad(key, f"= {value!r} must be a number")
        return float(value)

    def limits(self, key: str) -> tuple[Limit, ...]:
        value = self._data.get(key, [])
        return tuple(
            self._limit(key, one) for one in (value if isinstance(value, list) else [value])
        )

    def _limit(self, key: str, value: Any) -> Limit:
        sign, number = "", value
        if isinstance(value, str) and (found := _LIMIT.fullmatch(value.strip())):
            sign = found.group(1)
            try:
                number = float(found.group(2))
            except ValueError:
                number = None
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not math.isfinite(number)
        ):
            raise self.bad(key, f'has {value!r}; write a number, or a limit such as "<0.007"')
        return Limit(float(number), cast("Any", sign))

    def tables(self, key: str, known: Iterable[str]) -> list[tuple[str, _Table]]:
        value = self._data.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
            raise self.bad(key, f"must be tables, such as [{key}.NAME]")
        for name in value:
            if not _NAME.fullmatch(name):
                raise self.bad(key, f'has the name "{name}"; use letters, digits and dashes')
        return [
            (name, _Table(one, f"{self.where}: [{key}.{name}]", known))
            for name, one in value.items()
        ]

    def list_of(self, key: str, known: Iterable[str]) -> list[_Table]:
        value = self._data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.bad(key, f"must be a list of tables: [[{key}]]")
        tables = []
        for place, one in enumerate(value, 1):
            name = one.get("id") or one.get("name") or one.get("label")
            named = f'"{name}"' if isinstance(name, str) else f"number {place}"
            tables.append(_Table(one, f"{self.where}: {key} {named}", known))
        return tables


def _claim(table: _Table, sources: tuple[Source, ...], settings: tuple[ClaimSetting, ...]) -> Claim:
    source = table.text("source", needed=True)
    _known(table, "source", source, [one.name for one in sources])
    relation = table.text("relation") or "about"
    _known(table, "relation", relation, RELATIONS)
    unit = table.text("unit")
    _known(table, "unit", unit, _UNITS)
    within = table.number("within", 2.0)
    if within is None or within < 1.0:
        raise table.bad("within", "is a factor; it must be 1 or more")
    places = table.number("places", None)
    if places is not None and (places != int(places) or not 0 <= places <= 12):
        raise table.bad("places", "must be a whole number of decimals, 0 to 12")
    claim = Claim(
        id=table.text("id", needed=True),
        source=source,
        statement=table.text("statement", needed=True),
        condition=table.text("condition"),
        relation=cast("Relation", relation),
        published=table.limits("published"),
        printed=table.text("printed"),
        unit=unit,
        within=within,
        places=None if places is None else int(places),
        cases=tuple(_case(case, settings) for case in table.list_of("cases", ("label", "values"))),
        open=table.text("open"),
        unmeasurable=table.text("unmeasurable"),
    )
    _check_claim(table, claim)
    return claim


def _check_claim(table: _Table, claim: Claim) -> None:
    ways = [bool(claim.cases), bool(claim.open), bool(claim.unmeasurable)]
    if sum(ways) != 1:
        raise table.bad(
            "cases", "or open (what it waits for) or unmeasurable (why) must be there, and only one"
        )
    if not claim.cases:
        return
    if not claim.condition:
        raise table.bad("condition", "is missing; say how it is tested before it is measured")
    _unique([case.label for case in claim.cases], f"{table.where}: cases label")
    numbers, values = _SHAPES[claim.relation]
    if numbers is not None and len(claim.published) != numbers:
        raise table.bad("published", f"must be {numbers or 'no'} numbers for {claim.relation}")
    if claim.relation == "between" and claim.published[0].value > claim.published[1].value:
        raise table.bad("published", "must have the lower limit first")
    if claim.relation == "times" and claim.published[0].value <= 0:
        raise table.bad("published", "must be a ratio above zero")
    for case in claim.cases:
        wanted = values if numbers is not None else len(claim.published)
        if claim.relation == "rising" and len(case.values) < 2:
            raise table.bad("cases", f'"{case.label}" needs two values or more to be rising')
        if wanted is not None and len(case.values) != wanted:
            raise table.bad(
                "cases",
                f'"{case.label}" has {len(case.values)} values; {claim.relation} with '
                f"{len(claim.published)} published needs {wanted}",
            )


def _case(table: _Table, settings: tuple[ClaimSetting, ...]) -> Case:
    texts = table.texts("values", needed=True)
    return Case(
        table.text("label", needed=True), tuple(_value(table, text, settings) for text in texts)
    )


def _value(table: _Table, text: str, settings: tuple[ClaimSetting, ...]) -> Value:
    try:
        value = parse_value(text)
    except ValueSyntaxError as error:
        raise table.bad("values", f'"{text}": {error}') from None
    for address in value.addresses:
        setting = next((one for one in settings if one.name == address.setting), None)
        if setting is None:
            names = [one.name for one in settings]
            raise table.bad(
                "values",
                f'"{text}": no [settings.{address.setting}]{nearest(address.setting, names)}; '
                f"add it or name one of {', '.join(names) or '(none)'}",
            )
        if not address.impl:
            continue
        _known(table, f'values "{text}":', address.impl, setting.implementations)
        try:
            known = metric_of(address.name) is not None
        except ValueError as error:
            raise table.bad("values", f'"{text}": {error}') from None
        if not known:
            raise table.bad(
                "values",
                f'"{text}": no metric {address.name}{nearest(address.name, METRICS)}; '
                "`blockmark list metrics` has them",
            )
    return value


def _variation(table: _Table, settings: set[str]) -> Variation:
    words = table.values("replace")
    if not all(isinstance(new, str) and old for old, new in words.items()):
        raise table.bad("replace", "must be a table of texts, such as { '/cpp' = '/py' }")
    variation = Variation(
        table.text("name", needed=True),
        table.texts("settings", needed=True),
        table.values("set"),
        table.texts("implementations"),
        words,
    )
    if not _NAME.fullmatch(variation.name.replace(" ", "-")):
        raise table.bad("name", "must be letters, digits, dashes and blanks")
    for name in variation.settings:
        _known(table, "settings", name, settings)
    if not (variation.measures or words):
        raise table.bad("set", "or implementations or replace must be there: it changes nothing")
    return variation


def _known(table: _Table, key: str, name: str, known: Iterable[str]) -> None:
    names = list(known)
    if name not in names:
        shown = ", ".join(one or '""' for one in names) or "(none)"
        raise table.bad(key, f'"{name}" is not one of {shown}{nearest(name, names)}')


def _unique(names: list[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ClaimsFileError(f'{what} "{name}" stands twice; rename one')
