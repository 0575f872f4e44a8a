"""Every mistake, in the order of tables: a manager, what is wrong with it, and the right one
that it is measured against.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..contract import Profile, ReuseOrder
from ..core import core, core_missing, sizes_of
from ..entry import ANY_WIDTH, MODELS, CallStyle, Entry, Facts, TargetError, member

if TYPE_CHECKING:
    from ..contract import PoolConfig
    from ..entry import Parameters

Fault = Literal["copies", "shared-table", "allocations", "search", "transfers"]
"""The one way in which a mistake may differ from the contract:

`copies`: copy-on-write also where nobody shares; `shared-table`: one table, so that mixed
updates lose entries; `allocations`: one in each append; `search`: over the free blocks;
`transfers`: one for each packed row.
"""

Work = Literal["append", "step", "pack"]
"""What the mistake makes slower: appends alone, whole steps, or packing."""


# Whoever measures a pool alone has nothing to ask a mistake.
_MODELS = MODELS - {"pool"}


@dataclass(frozen=True)
class MistakeFacts(Facts):
    """`right` is the target that it is measured against."""

    fault: Fault = "copies"
    work: Work = "append"
    right: str = ""


def _native(
    name: str,
    summary: str,
    class_name: str,
    fault: Fault,
    work: Work,
    *,
    ids: str = "uint16",
    order: ReuseOrder = "LIFO",
) -> Entry:
    """A class of the core, which stores ids of one width."""
    styles: tuple[CallStyle, ...] = ("native", "per-op")
    facts = MistakeFacts(
        _MODELS, styles, order, Profile(id_type=ids), fault=fault, work=work, right="flat-stack/cpp"
    )

    def make(parameters: Parameters, config: PoolConfig) -> Any:
        if ids == "uint16" and config.total_blocks > 1 << 16:
            raise TargetError(
                f"a mistake is compiled with 16-bit ids alone, too few for {config.total_blocks:,} "
                "blocks; set total_blocks to at most 65,536"
            )
        return getattr(core(), class_name)(*sizes_of(config))

    return Entry(f"{name}/cpp", "mistake", summary, facts, make, unavailable=core_missing)


def _python(
    name: str, summary: str, made: str, fault: Fault, work: Work, order: ReuseOrder
) -> Entry:
    """A class of this package, named `module:Class`."""
    facts = MistakeFacts(
        _MODELS,
        ("per-op",),
        order,
        Profile(id_type=ANY_WIDTH),
        fault=fault,
        work=work,
        right="flat-stack/py",
    )
    return Entry(
        f"{name}/py",
        "mistake",
        summary,
        facts,
        lambda parameters, config: member(f"mistakes.{made}")(config),
        call_style="per-op",
    )


_BY_NUMBER = "copy-on-write by equal logical number instead of ref count"
_SEARCH = "free blocks found by a search over all of them"

ROWS = (
    _native("copy-by-number", _BY_NUMBER, "CopyByNumber", "copies", "append", order="unspecified"),
    _python(
        "copy-by-number",
        _BY_NUMBER,
        "copy_by_number:CopyByNumberManager",
        "copies",
        "append",
        "unspecified",
    ),
    _native(
        "shared-table",
        "one hash map for the blocks of all sequences",
        "SharedTableManager",
        "shared-table",
        "step",
        ids="int32",
    ),
    _native(
        "allocating-append",
        "a heap allocation in every append",
        "AllocatingAppend",
        "allocations",
        "step",
    ),
    _native("searching-pool", _SEARCH, "SearchingPool", "search", "step", order="lowest"),
    _python(
        "searching-pool",
        _SEARCH,
        "searching_pool:SearchingPoolManager",
        "search",
        "step",
        "lowest",
    ),
    _native(
        "copy-per-sequence",
        "block tables copied row by row instead of one flattened batch",
        "CopyPerSequence",
        "transfers",
        "pack",
    ),
)
