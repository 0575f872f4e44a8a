"""A part of a trace, as people write it."""

from __future__ import annotations

from blockmark.workload.errors import ConfigError


def time_window(name: str, text: str) -> tuple[float, float] | None:
    """Seconds from and to, of `START:END` where either may be left out; None for empty text.

    `name` is what the error calls it. Raises ConfigError.
    """
    if not text:
        return None
    start, sign, end = text.partition(":")
    try:
        window = float(start or 0), float(end or "inf")
    except ValueError:
        sign, window = "", (0.0, 0.0)
    if not sign or not 0 <= window[0] < window[1]:
        raise ConfigError(
            f"{name} {text}: must be START:END in seconds, such as 0:3600, 3600: or :600"
        )
    return window
