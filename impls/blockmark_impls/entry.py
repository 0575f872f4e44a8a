"""One implementation in the registry: its name, its kind, what is known of it, what makes it.

Nothing of it is imported before it is made, so that a list of names costs nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from .contract import Profile, ReuseOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Parameters = Mapping[str, int | str]

CallStyle = Literal["native", "per-op", "per-step"]
CALL_STYLES: tuple[CallStyle, ...] = ("native", "per-op", "per-step")

# What is asked of a free pool alone; the rest needs a manager.
POOL_MODELS = frozenset({"pool", "free_space"})
MODELS = frozenset({"lookup", "alloc_free", "step", "pack", "pack_step", "fork"}) | POOL_MODELS

# What `make` of an entry makes. `manager`, `control`, `mistake` (a manager that is wrong on
# purpose): a manager for a PoolConfig, which replays Programs. The others are what a study
# measures: `shared-pool` a pool that threads share, or an engine in Python; `counter-layout`
# windows in which threads count; `policy` a MemoryPolicy; `layout` a slab of rows or a batch to
# pack. Which arguments they take is said where their rows are.
Kind = Literal["manager", "control", "mistake", "shared-pool", "counter-layout", "policy", "layout"]

# How an implementation is proved. `contract`: like any manager, against the oracle.
# `hand-outs`: a pool whose hand-outs are objects of its own, compared by their ids.
# `invariants`: it decides for itself, so only what must always hold can be checked.
Proof = Literal["contract", "hand-outs", "invariants"]

# The id type of a structure that stores ids of the width that is asked for.
ANY_WIDTH = "uint"


class TargetError(ValueError):
    """A target that names no usable implementation: one line, with the mend if there is one."""

    # What a cell is whose process meets it.
    status = "unavailable"


class LoadError(TargetError):
    """A user's own code that can't be had: it is not there, does not compile, or fails as it is
    loaded. The target itself was well formed.
    """

    status = "failed"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in brackets: a whole number from `low` to `high`, or one of `words`."""

    name: str
    unit: str = ""
    low: int = 0
    high: int = 0
    words: tuple[str, ...] = ()

    def parse(self, name: str, text: str) -> int | str:
        """The checked value, of the implementation `name`. Raises TargetError."""
        if self.words:
            if text not in self.words:
                hint = nearest(text, self.words) or f"; there are {', '.join(self.words)}"
                raise TargetError(f'{name}: unknown {self.name} "{text}"{hint}')
            return text
        if not re.fullmatch(r"\d{1,18}", text) or not self.low <= int(text) <= self.high:
            unit = f" of {self.unit}" if self.unit else ""
            raise TargetError(
                f"{name}: {self.name} = {text} must be a whole number{unit}, "
                f"{self.low} to {self.high}"
            )
        return int(text)


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?`, or nothing if no known word is near."""
    found = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""


_NO_IDS = Profile(ref_counts=False, id_type="none")


@dataclass(frozen=True)
class Facts:
    """What is known of an implementation before one is made.

    `models` are those that it can serve, `call_styles` all by which it can be driven.
    `missing_operations` are those of the contract (of a pool's, for a pool alone) that it
    lacks. An id type of ANY_WIDTH stands for that of the width asked for.
    """

    models: frozenset[str] = frozenset()
    call_styles: tuple[CallStyle, ...] = ("native",)
    reuse_order: ReuseOrder = "unspecified"
    profile: Profile = _NO_IDS
    missing_operations: tuple[str, ...] = ()
    proof: Proof = "contract"


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Entry:
    """A row of the registry.

    `facts` is a function where a user's class has to be loaded to know them. `make(parameters,
    ...)` makes what its kind says; it is None for a pool alone. `make_pool(parameters,
    total_blocks, id_bits)` makes its pool, and is None where it has none of its own. Both import
    what they need, and raise TargetError where it can't be had. `call_style` is the one that it
    is driven by unless another is asked for, `parameters` what it takes in brackets besides.
    `unavailable` says why it can't be used here, and the mend; None if it can. `own` is a
    user's code: `module:Class`, or the file of a header or a module in C++; empty for ours.
    """

    name: str
    kind: Kind
    summary: str
    facts: Facts | Callable[[], Facts]
    make: Callable[..., Any] | None
    make_pool: Callable[[Parameters, int, int], Any] | None = None
    call_style: CallStyle = "native"
    parameters: tuple[Parameter, ...] = ()
    unavailable: Callable[[], str | None] = _nothing
    own: str = ""


def member(path: str) -> Any:
    """The class that `module:Class` names below this package, imported now."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
