"""Free pools alone as implementations: no tables, no ref counts.

Which structure holds the free blocks is a question of its own, and a manager around it
hides most of the answer. They serve the models `pool` and `free_space`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .contract import Profile
from .registry import row
from .sources import (
    POOL_MODELS,
    REUSE_ORDERS,
    CallStyle,
    Parameter,
    TargetError,
    core,
    core_missing,
)

if TYPE_CHECKING:
    from .contract import PoolConfig, ReuseOrder
    from .sources import Parameters

# 8 bytes are two links; 64 are an object for each block, with its links in it.
_NODE_BYTES = Parameter("node_bytes", words=("8", "64"))


@dataclass(frozen=True)
class PoolSource:
    """Base of the sources of pools alone."""

    scheme: str
    missing_operations: tuple[str, ...] = ()
    models: frozenset[str] = POOL_MODELS

    @property
    def reuse_order(self) -> ReuseOrder:
        return REUSE_ORDERS[self.scheme]

    def manager(self, config: PoolConfig, parameters: Parameters) -> Any:
        raise TargetError(
            f"{self.scheme} is a pool alone; name it with a table, such as flat+{self.scheme}"
        )


@dataclass(frozen=True)
class NativePoolSource(PoolSource):
    """A pool of the core."""

    # It stores ids of the width asked for; else int32 links, or none.
    wide: bool = False
    default_style: CallStyle = "native"
    call_styles: tuple[CallStyle, ...] = ("native", "per-op")
    known_parameters: tuple[Parameter, ...] = ()

    @property
    def unavailable(self) -> str | None:
        return core_missing()

    def load(self) -> None:
        core()

    def profile(self, id_bits: int) -> Profile:
        return Profile(ref_counts=False, id_type=f"uint{id_bits}" if self.wide else "int32")

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        large = parameters.get("node_bytes") == "64"
        return core().pool_class(f"{self.scheme}-64" if large else self.scheme, id_bits)(
            total_blocks
        )


@dataclass(frozen=True)
class PythonPoolSource(PoolSource):
    """A class of this package, named `module:Class` below `blockmark_impls.python`."""

    pool_class: str = ""
    default_style: CallStyle = "per-op"
    call_styles: tuple[CallStyle, ...] = ("per-op",)
    known_parameters: tuple[Parameter, ...] = ()
    unavailable: str | None = None

    def load(self) -> None:
        self._class()

    def profile(self, id_bits: int) -> Profile:
        return Profile(ref_counts=False, id_type="int object")

    def pool(self, total_blocks: int, id_bits: int, parameters: Parameters) -> Any | None:
        return self._class()(total_blocks)

    def _class(self) -> Any:
        module, _, name = self.pool_class.partition(":")
        return getattr(import_module(f"blockmark_impls.python.{module}"), name)


ROWS = [
    row(
        "list/py",
        PythonPoolSource("list", pool_class="list_pool:ListPool"),
        "pool alone: a growing list, last in first out",
    ),
    row(
        "list/cpp",
        NativePoolSource("list", wide=True),
        "pool alone: a growing vector, last in first out",
    ),
    row(
        "stack/py",
        PythonPoolSource("stack", pool_class="stack_pool:StackPool"),
        "pool alone: a preallocated stack, last in first out",
    ),
    row(
        "stack/cpp",
        NativePoolSource("stack", wide=True),
        "pool alone: a preallocated stack, last in first out",
    ),
    row(
        "lru/cpp",
        NativePoolSource("lru"),
        "pool alone: a doubly linked list, its links in two arrays, first in first out",
    ),
    row(
        "linked-list/py",
        PythonPoolSource("linked-list", pool_class="linked_list_pool:LinkedListPool"),
        "pool alone: a doubly linked list of an object a block, first in first out",
    ),
    row(
        "linked-list/cpp",
        NativePoolSource("linked-list", known_parameters=(_NODE_BYTES,)),
        "pool alone: a doubly linked list of a node a block, first in first out",
    ),
    row(
        "bitmap/py",
        PythonPoolSource("bitmap", pool_class="bitmap_pool:BitmapPool"),
        "pool alone: a bit a block, words that sum up words, next fit",
    ),
    row(
        "bitmap/cpp",
        NativePoolSource("bitmap"),
        "pool alone: a bit a block, words that sum up words, next fit",
    ),
]
