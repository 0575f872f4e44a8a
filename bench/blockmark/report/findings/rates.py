"""What the paced loops of a setting say, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from blockmark.report.facts.numbers import count, percent, significant
from blockmark.report.facts.order import value_of
from blockmark.report.facts.rates import is_disturbed, is_saturated
from blockmark.report.findings.compared import between
from blockmark.report.findings.headline import Finding
from blockmark.report.tables.cells import step_rate
from blockmark.runs.model import Cell, Run, Setting

# A sentence that lists more than this many is no longer read.
_MOST = 4


def rate_findings(run: Run, setting: Setting) -> tuple[Finding, ...]:
    """The least and the greatest busy share beside their estimates, and who can't keep up.

    Managers of every call style; empty without a paced loop.
    """
    paced = [
        cell
        for cell in run.cells_of(setting.key)
        if cell.kind == "manager" and value_of(cell, "busy_share") is not None
    ]
    if not paced:
        return ()
    # What fell behind for another reason is told only where there is nothing better.
    behind = [cell for cell in paced if not is_saturated(cell)]
    held = [cell for cell in behind if not is_disturbed(cell)] or behind
    rate = step_rate(setting)
    at = "at the step rate" if rate is None else f"at {count(rate)}/s"
    parts = []
    if held:
        parts.append(f"a core is busy {between(held, 'busy_share')}{_estimated(held)}")
    if saturated := [cell for cell in paced if is_saturated(cell)]:
        parts.append(_saturated(saturated))
    return (Finding("Paced", f"{at} {'; '.join(parts)}."),)


def _estimated(cells: Sequence[Cell]) -> str:
    """What steps back to back would let expect of the same cells; empty without estimates."""
    shares = [share for cell in cells if (share := value_of(cell, "busy_share_estimated"))]
    if not shares:
        return ""
    ends = dict.fromkeys(percent(share) for share in (min(shares), max(shares)))
    return f" (estimated back to back: {' to '.join(ends)})"


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
