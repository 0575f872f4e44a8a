"""Packed rows, written between guards and held against the tables before they are passed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .violation import ContractViolation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GUARD = -0x5EED


def write_checked_rows(
    manager: Any, call: str, tables: Mapping[int, Sequence[int]], seqs: Any, out: Any, lengths: Any
) -> None:
    """`manager.write_block_tables`; `out` and `lengths` are written if all is right.

    `tables`: the blocks of each live sequence, without the dropped ones. Raises
    ContractViolation.
    """
    import numpy as np

    count, width = out.shape
    # Rows of a C array lie one behind another, so a row that runs over ends in the next one
    # or in the guard behind the last.
    buffer = np.full((count + 2, width), _GUARD, dtype=np.int32)
    sizes = np.full(count + 2, _GUARD, dtype=np.int32)
    rows, filled = buffer[1 : count + 1], sizes[1 : count + 1]
    manager.write_block_tables(seqs, rows, filled)
    guards = np.concatenate([buffer[0], buffer[-1], sizes[[0, -1]]])
    if (guards != _GUARD).any():
        text = f"wrote outside the {count} rows of {width}"
        raise ContractViolation("row overrun", call, text)
    for seq, row, length in zip(seqs.tolist(), rows.tolist(), filled.tolist(), strict=True):
        if seq not in tables:
            raise ContractViolation("use after free", call, f"sequence {seq} does not exist")
        kept = list(tables[seq])
        dropped = length - len(kept)
        if not 0 <= dropped <= width - len(kept):
            text = f"sequence {seq} has a length of {length}, and {len(kept)} blocks are kept"
            raise ContractViolation("wrong row", call, text)
        if row != [0] * dropped + kept + [0] * (width - length):
            text = f"the row of sequence {seq} is {row}; its blocks are {kept}"
            raise ContractViolation("wrong row", call, text)
    out[...] = rows
    lengths[...] = filled
