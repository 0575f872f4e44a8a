"""The structures that the C++ core is compiled from, as native/structures.txt lists them.

The core itself is not asked: names must be known where it is not built, and without loading it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .contract import ReuseOrder

_LIST = Path(__file__).with_name("native") / "structures.txt"


class Pool(NamedTuple):
    """`any_width`: it has a choice of id width, else it stores int32. `tables`: those that it is
    compiled with. `words`: what it is.
    """

    any_width: bool
    reuse_order: ReuseOrder
    tables: tuple[str, ...]
    words: str


def _rows(kind: str) -> Iterator[list[str]]:
    for line in _LIST.read_text("utf-8").splitlines():
        if line.startswith(f"{kind} "):
            yield line.split(maxsplit=7)[1:]


# Each table, and whether it has a choice of id width; else it stores int32.
TABLES: Mapping[str, bool] = {name: ids != "32" for name, _, _, ids in _rows("table")}


def _tables(said: str) -> tuple[str, ...]:
    named = said.split(",")
    return tuple(name for name in TABLES if said == "all" or name in named)


POOLS: Mapping[str, Pool] = {
    name: Pool(ids != "32", cast("ReuseOrder", order), _tables(tables), words)
    for name, _, _, ids, order, tables, words in _rows("pool")
}
