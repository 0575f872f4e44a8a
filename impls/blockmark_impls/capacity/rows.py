"""The policies by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..registry import row
from ..sources import Parameter, StudySource
from .buddy import Buddy
from .contract import MemoryPolicy
from .first_fit import FirstFit
from .paged import Paged
from .reserve import Reserve

_BLOCK_SIZE = Parameter("block_size", "tokens", 1, 65_536)
_LENGTH = Parameter("length", words=("exact", "limit"))
DEFAULT_BLOCK_SIZE = 16


@dataclass(frozen=True)
class PolicySource(StudySource):
    """Makes a policy for `tokens` of memory, given the lengths that an engine allows."""

    build: Callable[[int, dict[str, int | str], int, int], MemoryPolicy] | None = None

    def make(
        self, parameters: dict[str, int | str], *, tokens: int, max_len: int, max_new: int
    ) -> MemoryPolicy:
        """A new policy with nothing running."""
        assert self.build is not None
        return self.build(tokens, parameters, max_len, max_new)


def _block_size(parameters: dict[str, int | str]) -> int:
    return int(parameters.get("block_size", DEFAULT_BLOCK_SIZE))


ROWS = (
    row(
        "reserve",
        PolicySource(build=lambda tokens, _, max_len, __: Reserve(tokens, max_len)),
        "a slot of the maximum length for each request",
        "policy",
    ),
    row(
        "first-fit",
        PolicySource(
            (_LENGTH,),
            build=lambda tokens, given, _, max_new: FirstFit(
                tokens, max_new if given.get("length") == "limit" else None
            ),
        ),
        "one piece of the request's final length (limit: of prompt and max_new_tokens)",
        "policy",
    ),
    row(
        "buddy",
        PolicySource(build=lambda tokens, *_: Buddy(tokens)),
        "one piece of the final length, rounded up to a power of two",
        "policy",
    ),
    row(
        "paged",
        PolicySource(
            (_BLOCK_SIZE,),
            build=lambda tokens, given, *_: Paged(tokens, _block_size(given), sharing=False),
        ),
        "blocks of one size, taken as the request grows",
        "policy",
    ),
    row(
        "paged-shared",
        PolicySource(
            (_BLOCK_SIZE,),
            build=lambda tokens, given, *_: Paged(tokens, _block_size(given), sharing=True),
        ),
        "the same, and full prompt blocks shared among running requests",
        "policy",
    ),
)
