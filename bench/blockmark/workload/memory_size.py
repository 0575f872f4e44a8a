"""Sizes of memory as people write them: `45GiB`, `80GB`, `512 MiB`."""

from __future__ import annotations

import re

from .errors import ConfigError

_UNITS = {
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGT", start=1)},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", start=1)},
}
_SPELLING = re.compile(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]+)\s*", re.ASCII)


def memory_size(name: str, text: str) -> int:
    """Bytes. GB are thousands, GiB are 1,024s. Raises ConfigError that names the key."""
    found = _SPELLING.fullmatch(text)
    unit = _UNITS.get(found.group(2)) if found else None
    if found is None or unit is None:
        raise ConfigError(
            f'{name} = "{text}" must be a number with a unit, such as 45GiB; units are '
            f"{', '.join(_UNITS)}"
        )
    return int(float(found.group(1)) * unit)
