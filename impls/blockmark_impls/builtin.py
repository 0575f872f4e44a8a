"""Managers, controls and pools alone, in Python and in C++. A new structure is its file and
one row here; the order is that of every table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .contract import Profile
from .core import core, core_missing, sizes_of
from .entry import ANY_WIDTH, CALL_STYLES, MODELS, POOL_MODELS, Entry, Facts, Parameter, member
from .structures import POOLS, TABLES, Pool

if TYPE_CHECKING:
    from .contract import PoolConfig, ReuseOrder
    from .entry import CallStyle, Parameters

_ROW_PAD = Parameter("row_pad", "ids", 0, 65_536)
# 8 bytes are two links; 64 are an object for each block, with its links in it.
_NODE_BYTES = Parameter("node_bytes", words=("8", "64"))
_IN_PYTHON = "int object"


def _python(
    name: str,
    summary: str,
    manager: str,
    pool: str,
    *,
    ids: str = _IN_PYTHON,
    call_styles: tuple[CallStyle, ...] = ("per-op",),
    wide_pool: bool = False,
) -> Entry:
    """Classes in python/, each named `module:Class`; a pool takes `id_bits` if `wide_pool`."""

    def make_pool(parameters: Parameters, total_blocks: int, id_bits: int) -> Any:
        made = member(f"python.{pool}")
        return made(total_blocks, id_bits=id_bits) if wide_pool else made(total_blocks)

    return Entry(
        name,
        "manager",
        summary,
        Facts(MODELS, call_styles, "LIFO", Profile(id_type=ids)),
        lambda parameters, config: member(f"python.{manager}")(config),
        make_pool,
        call_styles[0],
    )


def native(name: str, summary: str, table: str, pool: str, refs: str = "array") -> Entry:
    """A manager of the core composed of a table, a pool and ref counts."""
    wide = TABLES[table]

    def make(parameters: Parameters, config: PoolConfig) -> Any:
        bits = config.id_bits if wide else 32
        return core().manager_class(table, pool, refs, bits)(*sizes_of(config), **_pad(parameters))

    def make_pool(parameters: Parameters, total_blocks: int, id_bits: int) -> Any:
        return core().pool_class(pool, id_bits if wide else 32)(total_blocks)

    return Entry(
        name,
        "manager",
        summary,
        Facts(
            MODELS,
            CALL_STYLES,
            POOLS[pool].reuse_order,
            Profile(id_type=ANY_WIDTH if wide else "int32"),
        ),
        make,
        make_pool,
        parameters=(_ROW_PAD,) if table == "flat" else (),
        unavailable=core_missing,
    )


def _pad(parameters: Parameters) -> dict[str, int | str]:
    return {"row_pad": parameters["row_pad"]} if "row_pad" in parameters else {}


_NULL_MODELS = MODELS - {"pack", "free_space"}

MANAGERS = (
    _python(
        "hash-map/py",
        "a dict per sequence, ref counts in a dict, a growing free list",
        "hash_map:HashMapManager",
        "list_pool:ListPool",
    ),
    native(
        "hash-map/cpp",
        "an unordered_map per sequence, ref counts in one too, a growing free list",
        "hash",
        "list",
        refs="hash",
    ),
    _python(
        "vector/py",
        "a growing list per sequence, a growing free list",
        "vector:VectorManager",
        "list_pool:ListPool",
    ),
    native("vector/cpp", "a growing vector per sequence, a growing free list", "vector", "list"),
    _python(
        "flat-stack/py",
        "one preallocated table, a row per sequence, a preallocated free stack",
        "flat_stack:FlatStackManager",
        "stack_pool:StackPool",
        ids=ANY_WIDTH,
    ),
    _python(
        "flat-stack/numpy",
        "flat-stack in NumPy arrays, whole steps as vector operations",
        "flat_stack_numpy:FlatStackNumpyManager",
        "stack_pool_numpy:NumpyStackPool",
        ids=ANY_WIDTH,
        call_styles=("per-step", "per-op"),
        wide_pool=True,
    ),
    native(
        "flat-stack/cpp",
        "one preallocated table, a row per sequence, a preallocated free stack",
        "flat",
        "stack",
    ),
    _python(
        "two-level/py",
        "a directory of pages per sequence, pages taken as needed, a preallocated free stack",
        "two_level:TwoLevelManager",
        "stack_pool:StackPool",
        ids=ANY_WIDTH,
    ),
    native(
        "two-level/cpp",
        "a directory of pages per sequence, pages taken as needed, a preallocated free stack",
        "two-level",
        "stack",
    ),
    Entry(
        "null/py",
        "control",
        "does nothing: what the loop and the calls cost",
        Facts(_NULL_MODELS, ("per-op", "per-step")),
        lambda parameters, config: member("python.null:NullManager")(config),
        lambda parameters, total_blocks, id_bits: member("python.null:NullPool")(total_blocks),
        "per-op",
    ),
    Entry(
        "null/cpp",
        "control",
        "does nothing: what the loop costs",
        Facts(_NULL_MODELS, CALL_STYLES),
        lambda parameters, config: core().null_manager_class(*sizes_of(config)),
        lambda parameters, total_blocks, id_bits: core().null_manager_class(total_blocks, 1, 1, 1),
        unavailable=core_missing,
    ),
    Entry(
        "raw-array/cpp",
        "control",
        "plain arrays without checks: what the machine allows",
        Facts(
            MODELS - {"step", "fork", "free_space"},
            reuse_order="LIFO",
            profile=Profile(ref_counts=False, id_type=ANY_WIDTH),
        ),
        lambda parameters, config: core().RawArray(
            *sizes_of(config), config.id_bits, **_pad(parameters)
        ),
        # The smallest table: only the index stack is used.
        lambda parameters, total_blocks, id_bits: core().RawArray(total_blocks, 1, 1, 1, id_bits),
        parameters=(_ROW_PAD,),
        unavailable=core_missing,
    ),
)


_ORDERS = {"LIFO": "last in first out", "FIFO": "first in first out", "next-fit": "next fit"}


def _pool_alone(
    name: str, words: str, order: ReuseOrder, ids: str, *call_styles: CallStyle, **more: Any
) -> Entry:
    return Entry(
        name,
        "manager",
        f"pool alone: {words}, {_ORDERS.get(order, order)}",
        Facts(POOL_MODELS, call_styles, order, Profile(ref_counts=False, id_type=ids)),
        None,
        call_style=call_styles[0],
        **more,
    )


def _python_pool(name: str, words: str, order: ReuseOrder, made: str) -> Entry:
    def make_pool(parameters: Parameters, total_blocks: int, id_bits: int) -> Any:
        return member(f"python.{made}")(total_blocks)

    return _pool_alone(name, words, order, _IN_PYTHON, "per-op", make_pool=make_pool)


def _native_pool(name: str, pool: Pool) -> Entry:
    def make_pool(parameters: Parameters, total_blocks: int, id_bits: int) -> Any:
        node = f"{name}-64" if parameters.get("node_bytes") == "64" else name
        return core().pool_class(node, id_bits)(total_blocks)

    return _pool_alone(
        f"{name}/cpp",
        pool.words,
        pool.reuse_order,
        ANY_WIDTH if pool.any_width else "int32",
        "native",
        "per-op",
        make_pool=make_pool,
        parameters=(_NODE_BYTES,) if name == "linked-list" else (),
        unavailable=core_missing,
    )


_PYTHON_POOLS = (
    _python_pool("list/py", "a growing list", "LIFO", "list_pool:ListPool"),
    _python_pool("stack/py", "a preallocated stack", "LIFO", "stack_pool:StackPool"),
    _python_pool(
        "bitmap/py",
        "a bit a block, words that sum up words",
        "next-fit",
        "bitmap_pool:BitmapPool",
    ),
    _python_pool(
        "linked-list/py",
        "a doubly linked list of an object a block",
        "FIFO",
        "linked_list_pool:LinkedListPool",
    ),
)
_NATIVE_POOLS = tuple(_native_pool(name, pool) for name, pool in POOLS.items() if pool.tables)
_IN_ORDER = list(POOLS)


def _place(entry: Entry) -> int:
    scheme = entry.name.partition("/")[0]
    return _IN_ORDER.index(scheme) if scheme in _IN_ORDER else len(_IN_ORDER)


# Free pools alone: no tables, no ref counts. Which structure holds the free blocks is a question
# of its own, and a manager around it hides most of the answer.
POOLS_ALONE = sorted((*_PYTHON_POOLS, *_NATIVE_POOLS), key=_place)
