"""Rows that a manager packs, held against the tables they come from.

The rows lie between guard rows in one buffer, so that a row written beyond its end shows
wherever it lands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNTOUCHED = -7


def packed_fault(manager: Any, rows: Sequence[tuple[int, Sequence[int]]], width: int) -> str | None:
    """What `write_block_tables` gets wrong; None if nothing.

    `rows`: (sequence, physical blocks with 0 for the dropped ones). `width`: columns.
    """
    import numpy as np

    count = len(rows)
    seqs = np.array([seq for seq, _ in rows], dtype=np.int32)
    buffer = np.full((count + 2, width), _UNTOUCHED, dtype=np.int32)
    sizes = np.full(count + 2, _UNTOUCHED, dtype=np.int32)
    out, lengths = buffer[1 : count + 1], sizes[1 : count + 1]
    manager.write_block_tables(seqs, out, lengths)
    for (seq, blocks), row, length in zip(rows, out.tolist(), lengths.tolist(), strict=True):
        wanted = [*blocks, *[0] * (width - len(blocks))]
        if row != wanted or length != len(blocks):
            return (
                f"write_block_tables wrote {shown(row)} with length {length} for sequence "
                f"{seq}, not {shown(wanted)} with {len(blocks)}"
            )
    guards = [*buffer[0].tolist(), *buffer[-1].tolist(), int(sizes[0]), int(sizes[-1])]
    if any(value != _UNTOUCHED for value in guards):
        return f"write_block_tables wrote outside its {count} rows of {width}"
    if seqs.tolist() != [seq for seq, _ in rows]:
        return "write_block_tables changed the sequences that it was given"
    return None


def shown(items: Sequence[Any], most: int = 8) -> str:
    """A list, cut where it gets long."""
    head = ", ".join(map(str, items[:most]))
    return f"[{head}{', ...' if len(items) > most else ''}]"
