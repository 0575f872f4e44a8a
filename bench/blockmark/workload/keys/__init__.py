"""The scenario keys: the words of TOML files, `--set` and run files.

One row a key, with the range that is accepted. A value is checked here once, so
that every later line may trust it. The keys of the replayed workloads stand in one file,
those of each study in its folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...rooms import STUDIES as _NAMES
from ...rooms import part_of
from ..errors import ConfigError
from .key import Key, Value, nearest
from .replayed import DEFAULT_MODELS, MODELS, REPLAYED, ROWS
from .study_keys import StudyKeys

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEFAULT_MODELS",
    "KEYS",
    "MODELS",
    "REPLAYED",
    "STUDIES",
    "WORKLOADS",
    "ConfigError",
    "Key",
    "Value",
    "nearest",
    "parse",
    "without_effect",
]

# A study is a workload that measures something else than the replay of a Program.
STUDIES: dict[str, StudyKeys] = {name: part_of(name, "keys").KEYS for name in _NAMES}
WORKLOADS = (*REPLAYED, *STUDIES)

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key("workload", "decode", "what the engine does", choices=WORKLOADS),
        *ROWS,
        *(row for study in STUDIES.values() for row in study.rows),
    )
}


def readers(key: Key) -> tuple[str, ...]:
    """The workloads that read a key."""
    own = key.workloads or (WORKLOADS if key.name == "workload" else REPLAYED)
    sharing = (name for name, study in STUDIES.items() if key.name in study.shared)
    return (*own, *sharing)


def without_effect(key: Key, given: Mapping[str, Value]) -> str:
    """Why a key has no effect beside the values given for others; empty if it has one."""
    workload = _of(given, "workload")
    if workload not in readers(key):
        return (
            f'{key.name} has no effect on workload = "{workload}"; it is for '
            f"{', '.join(readers(key))}"
        )
    if not key.models:
        return ""
    models = _of(given, "models")
    assert isinstance(models, tuple)
    if not set(key.models) & set(models):
        return (
            f"{key.name} has no effect on models = {', '.join(models)}; it is for "
            f"{', '.join(key.models)}"
        )
    return ""


def _of(given: Mapping[str, Value], name: str) -> Value | None:
    return given.get(name, KEYS[name].default)


def parse(name: str, value: Any, where: str) -> Value:
    """Check one key and value. Raises ConfigError."""
    if name not in KEYS:
        raise ConfigError(f'{where}: unknown key "{name}"{nearest(name, list(KEYS))}')
    return KEYS[name].parse(value, where)
