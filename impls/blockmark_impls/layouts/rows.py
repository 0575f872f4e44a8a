"""Every layout, in the order of tables: widths of ids in a row, and forms of a packed batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..contract import Profile
from ..python.sizes import id_type
from ..registry import row
from ..sources import StudySource, core, core_missing

if TYPE_CHECKING:
    from ..registry import Implementation

Family = Literal["rows", "pack"]


@dataclass(frozen=True)
class LayoutSource(StudySource):
    """A layout in the core. `family` says which study measures it."""

    family: Family = "rows"
    id_bits: int = 16
    form: str = ""
    unavailable: str | None = field(default_factory=core_missing)

    def load(self) -> None:
        core()

    def profile(self, id_bits: int) -> Profile:
        return Profile(ref_counts=False, id_type=id_type(self.id_bits))

    def slab(self, rows: int, offset: int) -> Any:
        """Rows of 32 ids, the first `offset` bytes behind the start of a cache line.

        Raises ValueError for an offset that is no multiple of the id's width, TargetError
        without the core.
        """
        return getattr(core(), f"RowSlab{self.id_bits}")(rows, offset)


def _rows(bits: int) -> tuple[str, Implementation]:
    summary = f"rows of 32 {id_type(bits)} ids, {4 * bits} bytes each"
    return row(f"row-{bits}/cpp", LayoutSource(family="rows", id_bits=bits), summary, "layout")


def _form(form: str, summary: str) -> tuple[str, Implementation]:
    return row(f"{form}/cpp", LayoutSource(family="pack", form=form), summary, "layout")


ROWS: tuple[tuple[str, Implementation], ...] = (
    *(_rows(bits) for bits in (16, 32, 64)),
    _form("padded", "all columns of the table, zeros behind each row; one copy"),
    _form("padded-max", "columns up to the batch's longest row; one copy"),
    _form("ragged", "rows end to end with offsets (indptr, as FlashInfer takes); one copy"),
    _form("changed-rows", "whole rows that changed, to be scattered; one copy"),
    _form("changed-cells", "the new id of each row that changed, to be scattered; one copy"),
    _form("one-per-sequence", "each row in a copy of its own"),
)
