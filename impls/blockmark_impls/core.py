"""The C++ core: whether it is here, and why not."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .entry import TargetError

if TYPE_CHECKING:
    from .contract import PoolConfig

_CORE = "blockmark_impls._native"
NATIVE_MISSING = (
    "the C++ core is not built: install a C++ compiler (g++ or clang++), then install blockmark "
    "again (`pip install --force-reinstall --no-cache-dir blockmark`, in a checkout "
    "`pip install --force-reinstall --no-deps -e .`)"
)


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


def sizes_of(config: PoolConfig) -> tuple[int, int, int, int]:
    """What the constructor of a native manager takes."""
    return (config.total_blocks, config.block_size, config.max_seqs, config.max_blocks_per_seq)
