"""Calling what changes between releases: by what its signature takes, or not at all."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from ..entry import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def call_fitting(make: Callable[..., Any], known: Mapping[str, Any], what: str) -> Any:
    """`make(...)` with those of `known` that it takes.

    Raises TargetError where it asks for something else (a release that is too new), or
    lacks one of the names that begin with `=` in `known` (too old): those it must take.
    """
    values = {name.lstrip("="): value for name, value in known.items()}
    takes = signature(make).parameters
    lost = [name[1:] for name in known if name.startswith("=") and name[1:] not in takes]
    if lost:
        raise TargetError(f"{what}: it does not take {', '.join(lost)}, which this adapter sets")
    asked = [
        each.name
        for each in takes.values()
        if each.kind in _NAMED and each.default is Parameter.empty and each.name not in values
    ]
    if asked:
        raise TargetError(f"{what}: it asks for {', '.join(asked)}, which this adapter can't give")
    return make(**{name: value for name, value in values.items() if name in takes})


def must_have(owner: Any, names: tuple[str, ...], what: str) -> None:
    """Raises TargetError if the engine's object lacks one of the methods that are called."""
    lost = [name for name in names if not hasattr(owner, name)]
    if lost:
        raise TargetError(f"{what}: it has no {', '.join(lost)}, which this adapter calls")
