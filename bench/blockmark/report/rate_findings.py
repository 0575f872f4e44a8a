"""What the paced loops of a setting say, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.findings import Finding
from blockmark.report.numbers import count, percent, significant
from blockmark.report.order import value_of
from blockmark.report.rates import is_disturbed, is_saturated
from blockmark.report.step_table import step_rate
from blockmark.runs.model import Cell, Run, Setting

# A sentence that lists more than this many is no longer read.
_MOST = 4


def rate_findings(run: Run, setting: Setting) -> tuple[Finding, ...]:
    """The least and the greatest busy share beside their estimates, and who can't keep up.

    Managers of every call style; empty without a paced loop.
    """
    paced = [
        (share, cell)
        for cell in run.cells_of(setting.key)
        if cell.kind == "manager" and (share := value_of(cell, "busy_share")) is not None
    ]
    if not paced:
        return ()
    # What fell behind for another reason is told only where there is nothing better.
    behind = [(share, cell) for share, cell in paced if not is_saturated(cell)]
    held = [(share, cell) for share, cell in behind if not is_disturbed(cell)] or behind
    held.sort(key=lambda pair: pair[0])
    rate = step_rate(setting)
    at = "at the step rate" if rate is None else f"at {count(rate)}/s"
    parts = []
    if held:
        ends = [held[0]] if len(held) == 1 else [held[0], held[-1]]
        shares = " and ".join(_share(share, cell) for share, cell in ends)
        parts.append(f"a core is busy {shares}")
    if saturated := [cell for _, cell in paced if is_saturated(cell)]:
        parts.append(_saturated(saturated))
    return (Finding("Paced", f"{at} {'; '.join(parts)}."),)


def _share(share: float, cell: Cell) -> str:
    text = f"{percent(share)} with {cell.impl}"
    estimated = value_of(cell, "busy_share_estimated")
    return text if estimated is None else f"{text} (estimated back to back {percent(estimated)})"


def _saturated(cells: Sequence[Cell]) -> str:
    named = []
    for cell in cells[:_MOST]:
        highest = value_of(cell, "highest_rate")
        limit = "" if highest is None else f" (holds {significant(highest)}/s)"
        named.append(f"{cell.impl}{limit}")
    if len(cells) > _MOST:
        named.append(f"{len(cells) - _MOST} more")
    listed = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return f"{listed} {'is' if len(cells) == 1 else 'are'} saturated"
