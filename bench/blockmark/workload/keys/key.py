"""What one scenario key is: its range, its default, and who reads it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..distributions import canonical
from ..errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

Value = int | float | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One scenario key. Numbers have `low` and `high`, words have `choices`."""

    name: str
    default: Value | None
    meaning: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[int | str, ...] = ()
    many: bool = False  # a list of choices
    fraction: bool = False  # a real number; all others are whole
    spread: bool = False  # a whole number, or a distribution of them
    text: bool = False  # any text; the workload knows what it means
    workloads: tuple[str, ...] = ()  # those that read it; empty: all that are replayed
    models: tuple[str, ...] = ()  # one of these must be measured; empty: any

    def parse(self, value: Any, where: str) -> Value:
        """The checked value. `where` names its origin in the error."""
        if self.many:
            words = [value] if isinstance(value, str) else value
            if not isinstance(words, (list, tuple)) or not words:
                raise ConfigError(
                    f"{where}: {self.name} must be a list of names, such as "
                    f"{', '.join(map(str, self.choices[:2]))}"
                )
            return tuple(str(self._choice(word, where)) for word in words)
        if self.choices:
            return self._choice(value, where)
        if self.text:
            if not isinstance(value, str):
                raise ConfigError(f"{where}: {self.name} = {value!r} must be text")
            return value
        if self.spread and isinstance(value, str | dict):
            return canonical(value, f"{where}: {self.name}", int(self.low or 1))
        return self._number(value, where)

    def _choice(self, value: Any, where: str) -> int | str:
        if isinstance(value, bool) or value not in self.choices:
            known = [str(choice) for choice in self.choices]
            hint = nearest(str(value), known)
            raise ConfigError(
                f"{where}: {self.name} = {value!r} is not one of {', '.join(known)}{hint}"
            )
        return self.choices[self.choices.index(value)]

    def _number(self, value: Any, where: str) -> int | float:
        number = None if isinstance(value, bool) or not isinstance(value, int | float) else value
        if number is not None and not self.fraction:
            # Neither NaN nor an infinity is a whole number.
            whole = isinstance(number, int) or number.is_integer()
            number = int(number) if whole else None
        if number is None:
            wanted = "a number" if self.fraction else "a whole number"
            raise ConfigError(f"{where}: {self.name} = {value!r} must be {wanted}")
        assert self.low is not None
        assert self.high is not None
        if not self.low <= number <= self.high:
            raise ConfigError(
                f"{where}: {self.name} = {number} is out of range; "
                f"it must be between {self.low:,g} and {self.high:,.10g}"
            )
        return number


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?`, or nothing if no known word is near."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""
