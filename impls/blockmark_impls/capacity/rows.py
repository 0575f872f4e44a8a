"""Every memory policy, in the order of tables.

`make(parameters, tokens, max_len, max_new)` makes a MemoryPolicy with nothing running for
`tokens` of memory, given the lengths that an engine allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..entry import Entry, Facts, Parameter
from .buddy import Buddy
from .first_fit import FirstFit
from .paged import Paged
from .reserve import Reserve

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..entry import Parameters
    from .contract import MemoryPolicy

_BLOCK_SIZE = Parameter("block_size", "tokens", 1, 65_536)
_LENGTH = Parameter("length", words=("exact", "limit"))
DEFAULT_BLOCK_SIZE = 16


def _row(
    name: str,
    make: Callable[[Parameters, int, int, int], MemoryPolicy],
    summary: str,
    *parameters: Parameter,
) -> Entry:
    return Entry(name, "policy", summary, Facts(), make, parameters=parameters)


def _block_size(parameters: Parameters) -> int:
    return int(parameters.get("block_size", DEFAULT_BLOCK_SIZE))


ROWS = (
    _row(
        "reserve",
        lambda _, tokens, max_len, max_new: Reserve(tokens, max_len),
        "a slot of the maximum length for each request",
    ),
    _row(
        "first-fit",
        lambda given, tokens, max_len, max_new: FirstFit(
            tokens, max_new if given.get("length") == "limit" else None
        ),
        "one piece of the request's final length (limit: of prompt and max_new_tokens)",
        _LENGTH,
    ),
    _row(
        "buddy",
        lambda _, tokens, max_len, max_new: Buddy(tokens),
        "one piece of the final length, rounded up to a power of two",
    ),
    _row(
        "paged",
        lambda given, tokens, max_len, max_new: Paged(tokens, _block_size(given), sharing=False),
        "blocks of one size, taken as the request grows",
        _BLOCK_SIZE,
    ),
    _row(
        "paged-shared",
        lambda given, tokens, max_len, max_new: Paged(tokens, _block_size(given), sharing=True),
        "the same, and full prompt blocks shared among running requests",
        _BLOCK_SIZE,
    ),
)
