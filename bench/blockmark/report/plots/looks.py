"""How an implementation is drawn: the same colour, marker and dash in every picture.

All follow from its name alone, never from what else is in a picture: the scheme decides the
colour, the tier the marker and the dash, who loops another dash, and any other parameter a
darker shade. So two lines are never told apart by colour alone, and a reader who has met one
in a picture knows it in the next. The colours are those of Okabe and Ito ("Color Universal
Design", 2008), which people with the common kinds of colour blindness tell apart, and a few
between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from blockmark.runs.model import ImplementationInfo

FLOOR = "#7a7a7a"

_GREEN, _BLUE, _RED, _ORANGE = "#009E73", "#0072B2", "#D55E00", "#E69F00"
_PINK, _SKY, _BLACK, _BROWN = "#CC79A7", "#56B4E9", "#000000", "#8C6D00"
_PURPLE, _TEAL = "#7F3C8D", "#4B8B9B"

# The table of a scheme decides its colour; a pool that is not the table's usual one
# makes it lighter or darker. So flat-stack is the same green as flat+stack.
_TABLES = {
    "hash": _RED,
    "open-hash": _ORANGE,
    "vector": _BLUE,
    "flat": _GREEN,
    "two-level": _PINK,
}
_USUAL_POOL = {"flat": "stack"}
_SHADES = {"list": -0.35, "stack": -0.35, "lru": 0.4, "bitmap": 0.6, "linked-list": 0.75}
_NAMED = {"hash-map": "hash+list", "flat-stack": "flat+stack"}
_COLORS = {
    "null": FLOOR,
    "raw-array": "#404040",
    # Pools alone: as the structures whose pools they are.
    "stack": _GREEN,
    "list": _BLUE,
    "lru": _PINK,
    "linked-list": _PURPLE,
    "bitmap": _ORANGE,
    # Engines, and what stands between them and the structures.
    "vllm-pool": _BLACK,
    "vllm-manager": _BLACK,
    "vllm-pool-caching": _PURPLE,
    "vllm-manager-caching": _PURPLE,
    "vllm-table": _BROWN,
    "sglang-token": _SKY,
    "sglang-paged": _PINK,
    "lmdeploy": _TEAL,
    "list-duties": _BROWN,
    "tokenspeed": _ORANGE,
    # Pools that are shared.
    "none": _BLACK,
    "mutex": _BLUE,
    "spin": _ORANGE,
    "adaptive": _SKY,
    "treiber": _RED,
    "magazines": _GREEN,
    "no-lock": _BLACK,
    "async-lock": _RED,
    "thread-lock": _BLUE,
    "async-lock-prefix": _PINK,
    # Ids of other widths.
    "row-16": _GREEN,
    "row-32": _BLUE,
    "row-64": _RED,
    # Ways to divide memory.
    "reserve": _RED,
    "first-fit": _ORANGE,
    "buddy": _PINK,
    "paged": _BLUE,
    "paged-shared": _GREEN,
    # Forms of a batch.
    "padded": _BLUE,
    "padded-max": _RED,
    "ragged": _GREEN,
    "changed-rows": _SKY,
    "changed-cells": _ORANGE,
    "one-per-sequence": _PURPLE,
    # What several threads write.
    "counter": _BLUE,
    "atomic-counter": _RED,
    "ref-counts": _GREEN,
    "atomic-ref-counts": _PINK,
    # Known mistakes.
    "copy-by-number": _RED,
    "shared-table": _PURPLE,
    "allocating-append": _ORANGE,
    "searching-pool": _BLUE,
    "copy-per-sequence": _PINK,
}
# For schemes that blockmark has not named: users' own.
_OTHERS = (_SKY, _PINK, _BROWN, _BLACK, _PURPLE, _TEAL)

Dash = Literal["-", "none"] | tuple[float, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Look:
    """How one implementation is drawn; controls are hollow."""

    color: str
    marker: str
    line: Dash
    filled: bool


@dataclass(frozen=True, slots=True)
class _Tier:
    """Marker, dash by who loops, and the word of a legend."""

    marker: str
    line: Dash
    per_op: Dash
    per_step: Dash
    word: str


_TIERS = {
    "cpp": _Tier("o", "-", (0, (9, 1.5)), (0, (9, 1.5, 1.5, 1.5)), "C++"),
    "py": _Tier("s", (0, (5, 1.6)), (0, (5, 1.6)), (0, (2, 2.5)), "Python"),
    "numpy": _Tier("^", (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1)), (0, (6, 1.5, 1, 1.5)), "numpy"),
}
_OTHER_TIER = _Tier("D", (0, (1.2, 1.2)), (0, (1.2, 1.2)), (0, (1, 3)), "other")
_CONTROL: Dash = (0, (4, 2))
# Of a parameter that is not who loops.
_VARIANT_SHADE = -0.45


def looks(infos: Iterable[ImplementationInfo]) -> dict[str, Look]:
    """How each implementation of a run is drawn, by name.

    A scheme that blockmark does not name gets a colour by its name, or the next free one if
    another unnamed scheme of the run has that already.
    """
    found = list(infos)
    colors: dict[str, str] = {}
    taken: set[str] = set()
    for scheme in sorted({info.scheme for info in found}):
        color = _known_color(scheme)
        if color is None:
            start = hashlib.sha256(scheme.encode()).digest()[0] % len(_OTHERS)
            turned = (*_OTHERS[start:], *_OTHERS[:start])
            color = next((other for other in turned if other not in taken), turned[0])
            taken.add(color)
        colors[scheme] = color
    return {info.name: _look(info, colors[info.scheme]) for info in found}


def tier_markers(infos: Iterable[ImplementationInfo]) -> list[tuple[str, str]]:
    """(marker, word) of each tier that is there, for a legend."""
    known = dict.fromkeys(_TIERS.get(info.tier, _OTHER_TIER) for info in infos)
    order = [*_TIERS.values(), _OTHER_TIER]
    return [(tier.marker, tier.word) for tier in order if tier in known]


def _look(info: ImplementationInfo, color: str) -> Look:
    tier = _TIERS.get(info.tier, _OTHER_TIER)
    parameters = info.name.partition("[")[2].rstrip("]").split(",")
    line = tier.line
    for each in filter(None, parameters):
        key, _, value = each.partition("=")
        if key == "call_style":
            line = {"per-op": tier.per_op, "per-step": tier.per_step}.get(value, tier.line)
        else:
            color = _shaded(color, _VARIANT_SHADE) if color != _BLACK else _shaded(color, 0.45)
    if info.kind == "control":
        return Look(color, tier.marker, _CONTROL if line == tier.line else line, False)
    return Look(color, tier.marker, line, True)


def _known_color(scheme: str) -> str | None:
    if scheme in _COLORS:
        return _COLORS[scheme]
    table, _, pool = _NAMED.get(scheme, scheme).partition("+")
    base = _TABLES.get(table)
    if base is None or pool not in (*_SHADES, ""):
        return None
    if pool in ("", _USUAL_POOL.get(table, "list")):
        return base
    return _shaded(base, _SHADES[pool])


def _shaded(color: str, amount: float) -> str:
    """Towards white by a positive amount of at most 1, towards black by a negative one."""
    goal = 255 if amount > 0 else 0
    parts = (int(color[index : index + 2], 16) for index in (1, 3, 5))
    mixed = (round(part + (goal - part) * abs(amount)) for part in parts)
    return "#" + "".join(f"{part:02x}" for part in mixed)
