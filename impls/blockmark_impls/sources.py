"""Where implementations come from: modules of this package, and the C++ core.

A source makes managers and pools, and says what they are without importing them, so
that a list of names costs nothing. `user.py` has the source for a user's own class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol

from .contract import Profile, ReuseOrder
from .python.sizes import id_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .contract import PoolConfig

    Parameters = Mapping[str, int | str]

CallStyle = Literal["native", "per-op", "per-step"]
CALL_STYLES: tuple[CallStyle, ...] = ("native", "per-op", "per-step")

# What is asked of a free pool alone; the rest needs a manager.
POOL_MODELS = frozenset({"pool", "free_space"})
MODELS = frozenset({"lookup", "alloc_free", "step", "pack", "pack_step", "fork"}) | POOL_MODELS

_CORE = "blockmark_impls._native"
# Tables of the core that have a choice of id width; the others store int32.
_ANY_WIDTH = ("flat", "two-level")
# The order in which each pool of the core hands freed blocks out again.
REUSE_ORDERS: Mapping[str, ReuseOrder] = {
    "list": "LIFO",
    "stack": "LIFO",
    "lru": "FIFO",
    "bitmap": "next-fit",
    "linked-list": "FIFO",
}
NATIVE_MISSING = (
    "the C++ core is not built: install a C++ compiler (g++ or clang++), then install blockmark "
    "again (`pip install --force-reinstall --no-cache-dir blockmark`, in a checkout "
    "`pip install --force-reinstall --no-deps -e .`)"
)


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


ROW_PAD = Parameter("row_pad", "ids", 0, 65_536)


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?`, or nothing if no known word is near."""
    found = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""


class Source(Protocol):
    """What stands behind one implementation."""

    @property
    def reuse_order(self) -> ReuseOrder:
        """The order in which freed blocks are handed out again."""

    @property
    def models(self) -> frozenset[str]:
        """The models that it can serve."""

    @property
    def default_style(self) -> CallStyle:
        """The call style it is driven by unless another is asked for; loads nothing."""

    @property
    def call_styles(self) -> tuple[CallStyle, ...]:
        """Every call style that it can be driven by."""

    @property
    def known_parameters(self) -> tuple[Parameter, ...]:
        """Parameters in brackets that it takes besides `call_style`."""

    @property
    def unavailable(self) -> str | None:
        """Why it can't be used here, and the mend; None if it can."""

    @property
    def missing_operations(self) -> tuple[str, ...]:
        """Operations of the contract that it lacks."""

    def load(self) -> None:
        """Import what it needs. Raises TargetError."""

    def profile(self, id_bits: int) -> Profile:
        """What its operations include, with ids of `id_bits` bits if it has a choice."""

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        """A new manager. Raises TargetError if it makes none."""

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        """A new pool, or None if it has no pool of its own."""


@dataclass(frozen=True)
class StudySource:
    """Base of the sources of a study: it makes what the study measures, and no manager."""

    known_parameters: tuple[Parameter, ...] = ()
    reuse_order: ReuseOrder = "unspecified"
    call_style: CallStyle = "native"
    unavailable: str | None = None
    missing_operations: tuple[str, ...] = ()
    models: frozenset[str] = frozenset()

    @property
    def default_style(self) -> CallStyle:
        return self.call_style

    @property
    def call_styles(self) -> tuple[CallStyle, ...]:
        return (self.call_style,)

    def load(self) -> None:
        """Nothing to import by default."""

    def profile(self, id_bits: int) -> Profile:
        return Profile(ref_counts=False, id_type="none")

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        raise TargetError("it is no block manager")

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        return None


class _Complete:
    """A source with the whole contract."""

    missing_operations: tuple[str, ...] = ()


@dataclass(frozen=True)
class PythonSource(_Complete):
    """Classes of this package, each named `module:Class` below `blockmark_impls.python`.

    `ids` is the profile's id type, None where the width of ids can be chosen. A pool
    takes `id_bits` too if `wide_pool`.
    """

    manager_class: str
    pool_class: str | None
    ids: str | None = "int object"
    reuse_order: ReuseOrder = "LIFO"
    call_styles: tuple[CallStyle, ...] = ("per-op",)
    models: frozenset[str] = MODELS
    ref_counts: bool = True
    wide_pool: bool = False
    known_parameters: tuple[Parameter, ...] = ()
    unavailable: str | None = None

    @property
    def default_style(self) -> CallStyle:
        return self.call_styles[0]

    def load(self) -> None:
        _member(self.manager_class)

    def profile(self, id_bits: int) -> Profile:
        return Profile(ref_counts=self.ref_counts, id_type=self.ids or id_type(id_bits))

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        return _member(self.manager_class)(config)

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        if self.pool_class is None:
            return None
        width = {"id_bits": id_bits} if self.wide_pool else {}
        return _member(self.pool_class)(total_blocks, **width)


def _member(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(f"blockmark_impls.python.{module}"), name)


@cache
def core_missing() -> str | None:
    """Why there is no C++ core, or None. Looks for it once, and does not load it."""
    return None if find_spec(_CORE) else NATIVE_MISSING


def core() -> Any:
    """The C++ core. Raises TargetError with reason and mend if it isn't here or doesn't load."""
    if reason := core_missing():
        raise TargetError(reason)
    try:
        return import_module(_CORE)
    except ImportError as error:
        raise TargetError(f"the C++ core can't be loaded ({error}); build it again") from None


class _InCore(_Complete):
    """A source in the C++ core."""

    default_style: CallStyle = "native"

    @property
    def unavailable(self) -> str | None:
        return core_missing()

    def load(self) -> None:
        core()


def sizes_of(config: PoolConfig) -> tuple[int, int, int, int]:
    """What the constructor of a native manager takes."""
    return (config.total_blocks, config.block_size, config.max_seqs, config.max_blocks_per_seq)


@dataclass(frozen=True)
class NativeSource(_InCore):
    """A manager of the core composed of a table, a pool and ref counts."""

    table: str
    pool_kind: str
    refs: str = "array"
    call_styles: tuple[CallStyle, ...] = CALL_STYLES
    models: frozenset[str] = MODELS

    @property
    def reuse_order(self) -> ReuseOrder:
        return REUSE_ORDERS[self.pool_kind]

    @property
    def known_parameters(self) -> tuple[Parameter, ...]:
        return (ROW_PAD,) if self.table == "flat" else ()

    def profile(self, id_bits: int) -> Profile:
        return Profile(id_type=id_type(id_bits) if self.table in _ANY_WIDTH else "int32")

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        bits = self._bits(config.id_bits)
        made = core().manager_class(self.table, self.pool_kind, self.refs, bits)
        pad = {"row_pad": parameters["row_pad"]} if "row_pad" in parameters else {}
        return made(*sizes_of(config), **pad)

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        return core().pool_class(self.pool_kind, self._bits(id_bits))(total_blocks)

    def _bits(self, id_bits: int) -> int:
        return id_bits if self.table in _ANY_WIDTH else 32


@dataclass(frozen=True)
class NullSource(_InCore):
    """The core's null manager: what the native loop itself costs."""

    reuse_order: ReuseOrder = "unspecified"
    call_styles: tuple[CallStyle, ...] = CALL_STYLES
    models: frozenset[str] = MODELS - {"pack", "free_space"}
    known_parameters: tuple[Parameter, ...] = ()

    def profile(self, id_bits: int) -> Profile:
        return Profile(ref_counts=False, id_type="none")

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        return core().null_manager_class(*sizes_of(config))

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        return core().null_manager_class(total_blocks, 1, 1, 1)


@dataclass(frozen=True)
class RawArraySource(_InCore):
    """The core's floors: plain arrays without a check, of the sizes that are measured."""

    reuse_order: ReuseOrder = "LIFO"
    call_styles: tuple[CallStyle, ...] = ("native",)
    models: frozenset[str] = MODELS - {"step", "fork", "free_space"}
    known_parameters: tuple[Parameter, ...] = (ROW_PAD,)

    def profile(self, id_bits: int) -> Profile:
        return Profile(ref_counts=False, id_type=id_type(id_bits))

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        pad = {"row_pad": parameters["row_pad"]} if "row_pad" in parameters else {}
        return core().RawArray(*sizes_of(config), config.id_bits, **pad)

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        # The smallest table: only the index stack is used.
        return core().RawArray(total_blocks, 1, 1, 1, id_bits)
