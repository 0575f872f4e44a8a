"""Numbers that a fault of size depends on: those around powers of two, and around the sizes of
what the number is held against.

A field that is too narrow, a page, a word of a bitmap, a vector's width: each goes wrong at a
power of two or one beside it. Where a size is no power of two, the multiple of it is the edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

# Powers of two from 2**0 to 2**16: as many as a prime, see `pairs`.
LEVELS = 17


def around(rng: random.Random, limit: int, beside: Sequence[int] = ()) -> int:
    """A number from 1 to `limit`: half of them at a power of two or one beside it, a quarter
    at a number of `beside` or one beside it, a quarter spread over all magnitudes.
    """
    # Drawn often, so from random() alone, which is several times as quick as randrange().
    draw = rng.random
    kind, beside_it = draw(), (-1, 0, 0, 1)[int(4 * draw())]
    if kind < 0.5 or (kind < 0.75 and not beside):
        number = (1 << int(max(1, limit.bit_length()) * draw())) + beside_it
    elif kind < 0.75:
        number = beside[int(len(beside) * draw())] + beside_it
    else:
        number = int(2 ** (max(1, limit.bit_length()) * draw()))
    return min(max(number, 1), max(limit, 1))


def at_level(level: int, turn: int) -> int:
    """A number at the power 2**level: the power, one more, one less, and 3/4 of it by turns."""
    power = 1 << level
    return max(1, (power, power + 1, power - 1, power - power // 4)[turn % 4])


def pairs(columns: int) -> Iterator[tuple[int, ...]]:
    """Rows of levels in which every two columns hold every pair of levels just once.

    An orthogonal array of strength 2 over the integers modulo a prime p: row (i, j) has i in
    its first column and j + k * i in the others (Bose 1938; Bush, "Orthogonal arrays of index
    unity", 1952). p**2 rows cover up to p + 1 columns.
    """
    if columns > LEVELS + 1:
        raise ValueError(f"{columns} columns are more than {LEVELS + 1}")
    for i in range(LEVELS):
        for j in range(LEVELS):
            yield (i, *((j + k * i) % LEVELS for k in range(columns - 1)))
