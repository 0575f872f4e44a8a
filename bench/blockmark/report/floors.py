"""Which control is the floor of a cost, and the mark of a cost that can't be told from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from blockmark.runs.model import Cell, ImplementationInfo
from blockmark.verdict.resolution import SPREADS, below_resolution

MARK = "*"
BELOW_RESOLUTION = (
    f"{MARK} below resolution: above the empty loop by less than {SPREADS:.0f} times its spread."
)


def null_control(
    cell: Cell, cells: Iterable[Cell], implementations: Mapping[str, ImplementationInfo]
) -> Cell | None:
    """The empty loop that `cell` went through too: same call style, same language."""
    wanted = _is_native(cell, implementations)
    for other in cells:
        info = implementations.get(other.impl)
        if (
            info is not None
            and info.scheme == "null"
            and other.ok
            and other.call_style == cell.call_style
            and _is_native(other, implementations) == wanted
        ):
            return other
    return None


def resolution_mark(
    cell: Cell,
    metric: str,
    cells: Iterable[Cell],
    implementations: Mapping[str, ImplementationInfo],
) -> str:
    """`*` if the cell's cost can't be told from its empty loop among `cells`, else nothing.

    `cells` are those of one setting. Controls are floors and bear no mark.
    """
    if cell.kind == "control":
        return ""
    control = null_control(cell, cells, implementations)
    value = cell.metric(metric)
    floor = None if control is None else control.metric(metric)
    if value is None or floor is None or value.unit != "ns" or floor.unit != "ns":
        return ""
    return MARK if below_resolution(value, floor) else ""


def _is_native(cell: Cell, implementations: Mapping[str, ImplementationInfo]) -> bool:
    info = implementations.get(cell.impl)
    return info is not None and info.tier == "cpp"
