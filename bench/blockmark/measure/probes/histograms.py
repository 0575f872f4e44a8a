"""The histogram that times go to: the core's where it is built."""

from __future__ import annotations

from typing import Any


def new_histogram() -> Any:
    """The core's histogram, or the same in Python where the core is not built."""
    try:
        from blockmark_impls import _native
    except ImportError:
        from blockmark.runs.histogram import Histogram

        return Histogram()
    return _native.Histogram()
