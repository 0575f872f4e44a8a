"""Rows that a manager packs, and arrays that it is given, held against what they must be.

The rows lie between guard rows in one buffer, so that a row written beyond its end shows
wherever it lands; now and then they are a part of wider rows, with guards at both sides.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    Row = tuple[int, Sequence[int]]

_UNTOUCHED = -7


class Arrays:
    """The caller's arrays: some of them used again with other numbers, as an engine does.

    What was written into is kept for a while: nobody writes there any more.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._again: dict[tuple[str, int], Any] = {}
        self._done: deque[tuple[str, Any]] = deque(maxlen=6)

    def of(self, what: str, numbers: Sequence[int]) -> Any:
        """An int32 array of these numbers."""
        import numpy as np

        if self._rng.random() < 0.3:
            return np.array(numbers, dtype=np.int32)
        array = self._again.setdefault((what, len(numbers)), np.empty(len(numbers), np.int32))
        array[:] = numbers
        return array

    def done_with(self, what: str, array: Any) -> None:
        """The call that wrote into an array is over, and its answer was read."""
        array[:] = _UNTOUCHED
        self._done.append((what, array))

    def late_fault(self) -> str:
        """What was written into since it was done with; empty if nothing."""
        for what, array in self._done:
            if (array != _UNTOUCHED).any():
                return f"the array that {what} wrote into was written into again by a later call"
        return ""


class _Buffer:
    """`out` and `lengths` for some rows, and the guards around them."""

    def __init__(self, count: int, width: int, margin: int) -> None:
        import numpy as np

        self.rows = np.full((count + 2, width + 2 * margin), _UNTOUCHED, dtype=np.int32)
        # Beside wider rows, lengths that are every other entry of an array.
        step = 2 if margin else 1
        self.sizes = np.full(step * (count + 2), _UNTOUCHED, dtype=np.int32)
        self.out = self.rows[1 : count + 1, margin : margin + width]
        self.lengths = self.sizes[step : step * (count + 1) : step]

    def wrote_outside(self) -> bool:
        """Whether a guard has changed. What lies between them is lost."""
        self.out[:] = _UNTOUCHED
        self.lengths[:] = _UNTOUCHED
        return bool((self.rows != _UNTOUCHED).any() or (self.sizes != _UNTOUCHED).any())


def packed_fault(
    manager: Any, rows: Sequence[Row], width: int, arrays: Arrays, margin: int = 0
) -> str | None:
    """What `write_block_tables` gets wrong; None if nothing.

    `rows`: (sequence, physical blocks with 0 for the dropped ones). `width`: columns.
    `margin`: columns at both sides that belong to others. Rows are packed twice, into what
    was written over in between.
    """
    import numpy as np

    named = [seq for seq, _ in rows]
    seqs = arrays.of("write_block_tables", named)
    if margin:
        seqs = np.repeat(seqs, 2)[::2]
    buffer = _Buffer(len(rows), width, margin)
    wanted = np.zeros((len(rows), width), dtype=np.int32)
    for line, (_, blocks) in zip(wanted, rows, strict=True):
        line[: len(blocks)] = blocks
    totals = np.array([len(blocks) for _, blocks in rows], dtype=np.int32)
    for again in ("", " the second time, with nothing changed in between"):
        try:
            manager.write_block_tables(seqs, buffer.out, buffer.lengths)
        except (TypeError, ValueError):
            if not margin:
                raise
            # It writes whole arrays only, and says so.
            return _outside(buffer, rows, width)
        if not (np.array_equal(buffer.out, wanted) and np.array_equal(buffer.lengths, totals)):
            return _difference(buffer, rows, wanted) + again
        if fault := _outside(buffer, rows, width):
            return fault + again
        if seqs.tolist() != named:
            return "write_block_tables changed the sequences that it was given"
    seqs[:] = _UNTOUCHED
    arrays.done_with("write_block_tables", buffer.rows)
    return None


def refused_fault(manager: Any, seqs: Sequence[int], width: int, error: type[Exception]) -> str:
    """What `write_block_tables` gets wrong where it has to raise `error`; empty if nothing.

    The last of `seqs` is the one that can't be packed.
    """
    import numpy as np

    buffer = _Buffer(len(seqs), width, 0)
    named = np.array(seqs, dtype=np.int32)
    what = f"write_block_tables of sequence {seqs[-1]} into rows of {width}"
    try:
        manager.write_block_tables(named, buffer.out, buffer.lengths)
    except error:
        if named.tolist() != list(seqs):
            return what + " changed the sequences that it was given"
        return what + " wrote outside them" if buffer.wrote_outside() else ""
    except Exception as other:  # whatever a user's class raises is its answer
        return f"{what} raised {other!r} where the contract says {error.__name__}"
    return f"{what} raised nothing where the contract says {error.__name__}"


def _outside(buffer: _Buffer, rows: Sequence[Row], width: int) -> str | None:
    if buffer.wrote_outside():
        return f"write_block_tables wrote outside its {len(rows)} rows of {width}"
    return None


def _difference(buffer: _Buffer, rows: Sequence[Row], wanted: Any) -> str:
    for (seq, blocks), row, length, right in zip(
        rows, buffer.out.tolist(), buffer.lengths.tolist(), wanted.tolist(), strict=True
    ):
        if row != right or length != len(blocks):
            at = next((i for i, (x, y) in enumerate(zip(row, right, strict=True)) if x != y), 0)
            from_column = f" from column {at} on" if at > 4 else ""
            at = at if at > 4 else 0
            return (
                f"write_block_tables wrote {shown(row[at:])}{from_column} with length {length} "
                f"for sequence {seq}, not {shown(right[at:])} with {len(blocks)}"
            )
    return "write_block_tables wrote other rows"


def shown(items: Sequence[Any], most: int = 8) -> str:
    """A list, cut where it gets long."""
    head = ", ".join(map(str, items[:most]))
    return f"[{head}{', ...' if len(items) > most else ''}]"
