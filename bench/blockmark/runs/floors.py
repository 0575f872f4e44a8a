"""Whether a cost is above that of the loop around it.

Nothing is ever subtracted from a printed value. What it has above the control (the empty
loop, the same way of calling, the same language) is only told apart from noise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from blockmark.runs.estimate import spread
from blockmark.runs.model import Cell, ImplementationInfo, MetricValue

# A cost that is above its control by less than this many spreads of the control says nothing.
SPREADS = 3.0
Standing = Literal["above", "in its noise", "below"]


def stands(value: MetricValue, control: MetricValue) -> Standing | None:
    """How a cost stands to its control, by lower quartiles and the control's rounds.

    `below` is what is less than the least round of the control. None if it cannot be known:
    either was not measured, or the control has only one round and the cost is not below it.
    Raises ValueError if the two have different units.
    """
    if value.value is None or control.value is None:
        return None
    if value.unit != control.unit:
        raise ValueError(f"{value.unit} against {control.unit} tells nothing")
    if value.value < min(control.values):
        return "below"
    noise = spread(control.values)
    if noise is None:
        return None
    above = value.value - control.value
    return "in its noise" if above < SPREADS * noise or above <= 0 else "above"


def standing(
    cell: Cell,
    metric: str,
    cells: Collection[Cell],
    implementations: Mapping[str, ImplementationInfo],
) -> Standing | None:
    """How a cell's cost stands to its floor among `cells`, those of its setting.

    The floor is the empty loop, or, for what that has nothing to do with (packing), the same
    work on a plain array, which a structure may well reach: then only `below` tells it apart.
    None for controls, for what is not timed, and where there is no floor.
    """
    value = cell.metric(metric) if cell.kind != "control" else None
    if value is None or value.unit != "ns":
        return None
    for scheme in ("null", "raw-array"):
        control = control_of(scheme, cell, cells, implementations)
        floor = None if control is None else control.metric(metric)
        if floor is not None and floor.unit == "ns" and floor.value is not None:
            found = stands(value, floor)
            return "above" if found == "in its noise" and scheme != "null" else found
    return None


def control_of(
    scheme: str,
    cell: Cell,
    cells: Iterable[Cell],
    implementations: Mapping[str, ImplementationInfo],
) -> Cell | None:
    """The control of a scheme that was called as `cell` was, in the same language."""
    wanted = _is_native(cell, implementations)
    for other in cells:
        info = implementations.get(other.impl)
        if (
            info is not None
            and info.scheme == scheme
            and other.ok
            and other.call_style == cell.call_style
            and _is_native(other, implementations) == wanted
        ):
            return other
    return None


def _is_native(cell: Cell, implementations: Mapping[str, ImplementationInfo]) -> bool:
    info = implementations.get(cell.impl)
    return info is not None and info.tier == "cpp"
