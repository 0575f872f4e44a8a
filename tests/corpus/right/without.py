"""Managers that lack one operation which the contract lets them lack, and are right in the rest.

They do not derive from a manager that has it: what they have is put into a class of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from blockmark_impls.contract import Profile
from blockmark_impls.python.vector import VectorManager

_Made = TypeVar("_Made")
_OWN = ("__dict__", "__doc__", "__module__", "__qualname__", "__weakref__")


def _but(*lacks: str) -> Callable[[type[_Made]], type[_Made]]:
    """Gives a class all that VectorManager has, but what it lacks and what it has already."""

    def fill(made: type[_Made]) -> type[_Made]:
        for name, part in vars(VectorManager).items():
            if name not in (*_OWN, *lacks) and name not in vars(made):
                setattr(made, name, part)
        return made

    return fill


@_but(
    *("can_allocate", "drop_front", "extend", "fork", "lookup", "num_tokens", "pool_bytes"),
    *("ref_count", "table_bytes", "truncate", "usable_blocks", "write_block_tables"),
)
class OnlyWhatIsNeeded:
    """It allocates, appends, frees, and says what its tables and its free blocks are."""

    right = "no operation that may be missing"


@_but("fork")
class WithoutFork:
    """Nothing is ever shared."""

    right = "no fork"
    profile: ClassVar[Profile] = Profile(ref_counts=False, id_type="int object")


@_but("extend")
class WithoutExtend:
    """Tables grow a token at a time."""

    right = "no extend"


@_but("truncate")
class WithoutTruncate:
    """Tables never get shorter at their end."""

    right = "no truncate"


@_but("drop_front")
class WithoutDropFront:
    """There are no windows."""

    right = "no drop_front"


@_but("lookup")
class WithoutLookup:
    """Tables are read whole."""

    right = "no lookup"


@_but("write_block_tables")
class WithoutRows:
    """Nothing is packed for a kernel."""

    right = "no write_block_tables"


@_but("ref_count")
class WithoutRefCounts:
    """Blocks are shared, and how many read one is not said."""

    right = "no ref_count"


@_but("num_tokens")
class WithoutLengths:
    """How many tokens a sequence has is not said."""

    right = "no num_tokens"


@_but("table_bytes", "pool_bytes")
class WithoutBytes:
    """What it holds is not said in bytes."""

    right = "no table_bytes and no pool_bytes"


@_but("can_allocate", "usable_blocks")
class WithoutQuestions:
    """Whether blocks are to be had is found by trying."""

    right = "no can_allocate and no usable_blocks"


@_but("fork", "drop_front", "truncate")
class GrowsAndEnds:
    """A sequence grows until it ends, and is its own."""

    right = "no fork, no drop_front and no truncate"
    profile: ClassVar[Profile] = Profile(ref_counts=False, id_type="int object")
