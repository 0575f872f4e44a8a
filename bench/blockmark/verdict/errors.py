"""Why runs could not be compared. Each message is one line."""

from __future__ import annotations


class CompareError(Exception):
    """Base of the errors that a comparison knows."""


class NothingInCommon(CompareError):  # noqa: N818 - the name says it all
    """There is no pair of measured values to set side by side."""


class UnknownName(CompareError):  # noqa: N818
    """An implementation or a metric was named that the run does not have."""
