"""The text of a target taken apart: `NAME=BODY[key=value,...]`."""

from __future__ import annotations

import re

from .entry import TargetError

_TARGET = re.compile(
    # Parameters are the brackets at its end; others are part of a path.
    r"(?:(?P<alias>[^=\[\]:]*)=)?(?P<body>.+?)(?:\[(?P<parameters>[^\[\]]*)\])?"
)


def parse_target(target: str) -> tuple[str | None, str, dict[str, str]]:
    """(name in front or None, what stands between, parameters in brackets).

    Raises TargetError for a text that is none.
    """
    match = _TARGET.fullmatch(target)
    body = match["body"].strip() if match else ""
    in_pairs = body.count("[") == body.count("]") and not re.fullmatch(r"\[.*\]", body)
    if match is None or not in_pairs:
        raise TargetError(
            f'"{target}" is not a target: it must look like flat-stack/cpp[row_pad=32], '
            "module:Class or NAME=TARGET"
        )
    alias = match["alias"]
    if alias is not None and not re.fullmatch(r"\w[\w./-]{0,99}", alias):
        raise TargetError(
            f'"{target}": the name may have letters, digits and . _ - / alone, at most 100'
        )
    parameters: dict[str, str] = {}
    for item in (match["parameters"] or "").split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not item.strip() and match["parameters"] is None:
            continue
        if not equals or not key or not value or key in parameters:
            raise TargetError(f'"{target}": brackets must hold key=value, each key once')
        parameters[key] = value
    return alias, body, parameters
