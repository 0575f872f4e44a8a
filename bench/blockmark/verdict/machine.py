"""Whether two runs may be set side by side: same machine, build, interpreter, program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from blockmark.runs.model import Run

Flag = Literal[
    "other machine", "other build", "other interpreter", "other reuse order", "quick", "incomplete"
]

# Facts that stay the same from boot to boot. Clock rates, bogomips, load and free
# memory do not: they differ between two runs on one machine.
_MACHINE = (
    "cpu_vendor",
    "cpu_model",
    "cpu_family",
    "cpu_model_number",
    "cpu_stepping",
    "architecture",
    "cores",
    "l1d_bytes",
    "l2_bytes",
    "l3_bytes",
    "virtual",
    "kernel",
)
_BUILD = ("native", "compiler", "flags", "cxx_standard", "build_type")
_INTERPRETER = ("python", "python_implementation", "numpy")
# As many parts of a version as have to agree; all of them where it is not listed.
_VERSION_PARTS = {"kernel": 1, "python": 2}


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that two runs do not share; `flag` is what follows from it."""

    flag: Flag
    fact: str
    before: Any
    now: Any


def differences(before: Run, now: Run) -> tuple[Difference, ...]:
    """What keeps a change between the runs from being the code's alone.

    A fact that only one run knows says nothing. Quick and incomplete runs are
    named here too.
    """
    found = [
        *_compare(before.machine, now.machine, _MACHINE, "other machine"),
        *_compare(before.build, now.build, _BUILD, "other build"),
        *_compare(before.machine, now.machine, _INTERPRETER, "other interpreter"),
    ]
    found += _reuse_orders(before, now)
    if before.quick or now.quick:
        found.append(Difference("quick", "quick", before.quick, now.quick))
    if not (before.complete and now.complete):
        found.append(Difference("incomplete", "complete", before.complete, now.complete))
    return tuple(found)


def _reuse_orders(before: Run, now: Run) -> list[Difference]:
    """Where an implementation declared another order in which blocks come back."""
    old, new = before.implementation_by_name, now.implementation_by_name
    return [
        Difference("other reuse order", name, old[name].reuse_order, new[name].reuse_order)
        for name in new
        if name in old and old[name].reuse_order != new[name].reuse_order
    ]


def _compare(
    before: Mapping[str, Any], now: Mapping[str, Any], facts: tuple[str, ...], flag: Flag
) -> list[Difference]:
    return [
        Difference(flag, fact, before[fact], now[fact])
        for fact in facts
        if before.get(fact) is not None
        and now.get(fact) is not None
        and _stable(fact, before[fact]) != _stable(fact, now[fact])
    ]


def _stable(fact: str, value: Any) -> str:
    """A fact as text, so that 25 and "25" agree; of a version only what matters."""
    parts = _VERSION_PARTS.get(fact)
    text = str(value)
    return text if parts is None else ".".join(text.split(".")[:parts])
