"""Every layout, in the order of tables: widths of ids in a row, and forms of a packed batch.

Of a width, `make(parameters, rows, offset)` makes rows of 32 ids, the first `offset` bytes
behind the start of a cache line, and raises ValueError for an offset that is no multiple of
the id's width. Of a form, `make(parameters, table, lengths, changed)` makes the batch to pack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..contract import Profile
from ..core import core, core_missing
from ..entry import Entry, Facts
from ..python.sizes import id_type

if TYPE_CHECKING:
    from ..entry import Parameters


@dataclass(frozen=True)
class LayoutFacts(Facts):
    """`family` says which study measures it; `id_bits` is the width of ids in a row."""

    family: Literal["rows", "pack"] = "rows"
    id_bits: int = 16


def _rows(bits: int) -> Entry:
    facts = LayoutFacts(profile=_ids(bits), id_bits=bits)
    return Entry(
        f"row-{bits}/cpp",
        "layout",
        f"rows of 32 {id_type(bits)} ids, {4 * bits} bytes each",
        facts,
        lambda parameters, rows, offset: getattr(core(), f"RowSlab{bits}")(rows, offset),
        unavailable=core_missing,
    )


def _form(form: str, summary: str) -> Entry:
    facts = LayoutFacts(profile=_ids(16), family="pack")
    return Entry(f"{form}/cpp", "layout", summary, facts, _batch, unavailable=core_missing)


def _ids(bits: int) -> Profile:
    return Profile(ref_counts=False, id_type=id_type(bits))


def _batch(parameters: Parameters, table: Any, lengths: Any, changed: Any) -> Any:
    return core().PackBatch(table, lengths, changed)


ROWS = (
    *(_rows(bits) for bits in (16, 32, 64)),
    _form("padded", "all columns of the table, zeros behind each row; one copy"),
    _form("padded-max", "columns up to the batch's longest row; one copy"),
    _form("ragged", "rows end to end with offsets (indptr, as FlashInfer takes); one copy"),
    _form("changed-rows", "whole rows that changed, to be scattered; one copy"),
    _form("changed-cells", "the new id of each row that changed, to be scattered; one copy"),
    _form("one-per-sequence", "each row in a copy of its own"),
)
