"""Every mistake, in the order of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import row
from .source import NativeMistake, PythonMistake

if TYPE_CHECKING:
    from ..registry import Implementation

_NATIVE, _PYTHON = "flat-stack/cpp", "flat-stack/py"

ROWS: tuple[tuple[str, Implementation], ...] = (
    row(
        "copy-by-number/cpp",
        NativeMistake("copies", "append", _NATIVE, "unspecified", class_name="CopyByNumber"),
        "copy-on-write by equal logical number instead of ref count",
        "mistake",
    ),
    row(
        "copy-by-number/py",
        PythonMistake(
            "copies",
            "append",
            _PYTHON,
            "unspecified",
            class_name="copy_by_number:CopyByNumberManager",
        ),
        "copy-on-write by equal logical number instead of ref count",
        "mistake",
    ),
    row(
        "shared-table/cpp",
        NativeMistake(
            "shared-table", "step", _NATIVE, class_name="SharedTableManager", id_name="int32"
        ),
        "one hash map for the blocks of all sequences",
        "mistake",
    ),
    row(
        "allocating-append/cpp",
        NativeMistake("allocations", "step", _NATIVE, class_name="AllocatingAppend"),
        "a heap allocation in every append",
        "mistake",
    ),
    row(
        "searching-pool/cpp",
        NativeMistake("search", "step", _NATIVE, "lowest", class_name="SearchingPool"),
        "free blocks found by a search over all of them",
        "mistake",
    ),
    row(
        "searching-pool/py",
        PythonMistake(
            "search", "step", _PYTHON, "lowest", class_name="searching_pool:SearchingPoolManager"
        ),
        "free blocks found by a search over all of them",
        "mistake",
    ),
    row(
        "copy-per-sequence/cpp",
        NativeMistake("transfers", "pack", _NATIVE, class_name="CopyPerSequence"),
        "block tables copied row by row instead of one flattened batch",
        "mistake",
    ),
)
