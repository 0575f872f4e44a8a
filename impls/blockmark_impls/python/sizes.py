"""Which sizes a manager accepts, and what each width of a block id can number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..contract import PoolConfig

# What each stored type can number. Ids start at 0, and no value is a sentinel.
ID_LIMITS = {
    "uint16": 1 << 16,
    "int32": 1 << 31,
    "uint32": 1 << 32,
    "uint64": 1 << 63,  # ids are signed 64-bit numbers everywhere else
    "int object": 1 << 31,  # any in the table, but packed rows are int32
}

# The unsigned items of an `array`, by their width in bits.
TYPECODES = {16: "H", 32: "I", 64: "Q"}


def id_type(id_bits: int) -> str:
    """The unsigned type of `id_bits` bits. Raises ValueError unless 16, 32 or 64."""
    if id_bits not in (16, 32, 64):
        raise ValueError(f"id_bits = {id_bits} must be 16, 32 or 64")
    return f"uint{id_bits}"


def check_total(total_blocks: int, stored: str) -> None:
    """Raises ValueError unless ids stored as `stored` can number `total_blocks` blocks."""
    if total_blocks < 1:
        raise ValueError(f"total_blocks = {total_blocks} must be at least 1")
    if total_blocks > ID_LIMITS[stored]:
        raise ValueError(
            f"total_blocks = {total_blocks:,} is more than {stored} ids can number "
            f"({ID_LIMITS[stored]:,})"
        )


def check_sizes(config: PoolConfig, stored: str) -> None:
    """Raises ValueError if a size is below one, or ids of type `stored` are too narrow."""
    for name in ("block_size", "max_seqs", "max_blocks_per_seq"):
        if getattr(config, name) < 1:
            raise ValueError(f"{name} = {getattr(config, name)} must be at least 1")
    check_total(config.total_blocks, stored)
