"""What sets one format of traces apart from another: names of columns, and units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SECOND = 1_000_000_000  # in nanoseconds, as all stamps are kept
MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Format:
    """One format. `arrival`, `prompt`, `output` and `hash_ids` are names of columns.

    CSV has a header and is read by column name, in any case; JSON lines by exact
    key. `also` are columns that are known and not needed, `marks` those of them that
    tell this format from another with the same columns. `unit_ns`: nanoseconds in
    one unit of a plain number in `arrival`. `hash_block`: tokens that one hash id
    stands for.
    """

    name: str
    title: str
    kind: Literal["csv", "jsonl"]
    prompt: str
    output: str
    arrival: str | None = None
    hash_ids: str | None = None
    also: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    unit_ns: int = SECOND
    hash_block: int = 0

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which no row can be read."""
        names = (self.arrival, self.prompt, self.output, self.hash_ids)
        return tuple(name for name in names if name is not None)

    @property
    def described(self) -> str:
        """Name and columns, for a message."""
        return f"{self.name} ({', '.join((*self.marks, *self.needed))})"
