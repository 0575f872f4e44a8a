"""Times as users write them."""

from __future__ import annotations

import re

from blockmark.workload.keys import ConfigError

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str, option: str) -> float:
    """The seconds of `90`, `90s`, `5m` or `1h`. Raises ConfigError, which names the option."""
    match = re.fullmatch(r"(\d{1,7}(?:\.\d{1,3})?)([smh]?)", text.strip())
    if match is None:
        raise ConfigError(f"{option} {text[:40]} must be a time such as 90s, 5m or 1h")
    return float(match[1]) * _UNITS[match[2]]
