"""What was found of one metric: in a measured process, and as a line of `cells.jsonl` has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Reading:
    """A number, maybe with its mean; or a histogram; or, in `unavailable`, why there is neither.

    `source` is what counted, where that may differ.
    """

    value: float | None = None
    mean: float | None = None
    histogram: Mapping[str, Any] | None = None
    source: str = ""
    unavailable: str = ""

    @classmethod
    def missing(cls, reason: str, source: str = "") -> Reading:
        """That there is no number, and why."""
        return cls(unavailable=reason, source=source)

    @classmethod
    def of(cls, found: float | str, source: str = "") -> Reading:
        """A number, or the reason why there is none."""
        return cls.missing(found, source) if isinstance(found, str) else cls(found, source=source)

    @classmethod
    def spread(cls, histogram: Any) -> Reading:
        """Of a histogram of either tier."""
        counts, most = histogram.counts(), histogram.max_value
        return cls(histogram={"counts": counts, "max": most, "samples": histogram.samples})

    @property
    def number(self) -> float:
        """The value. Raises ValueError, with the reason, where there is none."""
        if self.value is None:
            raise ValueError(self.unavailable or "a histogram is no number")
        return self.value

    def as_json(self) -> dict[str, Any]:
        """What of it is there."""
        found: dict[str, Any] = {"value": self.value, "mean": self.mean}
        found |= {"histogram": self.histogram, "source": self.source or None}
        found["unavailable"] = self.unavailable or None
        return {name: one for name, one in found.items() if one is not None}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Reading:
        """What `as_json` made of one."""
        return cls(**{name: content[name] for name in _PARTS if name in content})


_PARTS = [each.name for each in fields(Reading)]
Readings = dict[str, Reading]
"""By the metric's name."""
