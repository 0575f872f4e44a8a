"""A pattern in the place of a target: `flat*`, `*/cpp`, `?ector/py`, as shells have them.

Brackets are parameters in a target, so `*` and `?` alone stand for letters. A pattern means
names among a scenario's own implementations first, and where none is so called, all that
could be measured there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from blockmark_impls.registry import (
    TargetError,
    builtin_names,
    more_names,
    pair_names,
    plugin_names,
    resolve,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def expand(targets: Sequence[str], own: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """The targets, with each pattern replaced by the names that it means.

    `own` are the targets of a scenario, `kinds` those that it can measure. Raises TargetError
    for a pattern that means none.
    """
    found: dict[str, None] = {}
    for target in targets:
        if is_pattern(target):
            found.update(dict.fromkeys(_meant(target, own, kinds)))
        else:
            found[target] = None
    return list(found)


def is_pattern(target: str) -> bool:
    """Whether it names several; `*` in a path is the shell's own."""
    body = target.partition("[")[0]
    return ("*" in body or "?" in body) and ":" not in body and "." not in body


def _meant(pattern: str, own: Sequence[str], kinds: Sequence[str]) -> list[str]:
    body, bracket, parameters = pattern.partition("[")
    alias, equals, body = body.rpartition("=")
    if equals:
        raise TargetError(f'"{pattern}": {alias} can be the name of one; leave it out')
    letters = {"*": ".*", "?": "."}
    expression = re.compile("".join(letters.get(one) or re.escape(one) for one in body))
    known = [each for target in own for each in resolve(target)]
    named = [each.target for each in known if expression.fullmatch(each.name)]
    if not named:
        every = [*builtin_names(), *pair_names(), *more_names(), *plugin_names()]
        named = [
            name for name in every if expression.fullmatch(name) and resolve(name)[0].kind in kinds
        ]
    if not named:
        raise TargetError(
            f'no implementation that can be measured here is called "{pattern}"; '
            "see blockmark list impls"
        )
    return [name + bracket + parameters for name in named] if bracket else named
