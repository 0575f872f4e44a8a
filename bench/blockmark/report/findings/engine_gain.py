"""What an engine's manager takes of a step now, and the most that a structure could win back."""

from __future__ import annotations

from blockmark.report.facts.numbers import percent, with_unit
from blockmark.report.facts.order import value_of
from blockmark.report.findings.compared import shown_less
from blockmark.report.findings.headline import Finding
from blockmark.runs.model import Run, Setting

# The lengths of an engine's step that shares are told of, in ms, and the metric of each.
_STEPS = ((1, "share_of_1ms_step"), (10, "share_of_10ms_step"), (30, "share_of_30ms_step"))


def engine_gains(run: Run, setting: Setting) -> tuple[Finding, ...]:
    """A sentence for each engine whose step was measured in the setting.

    The bound is the whole share: no structure wins back more than the manager takes. Where
    scheduling overlaps the GPU, a shorter step of the host shortens nothing.
    """
    found = []
    for cell in run.cells_of(setting.key):
        engine = run.implementation_by_name[cell.impl].engine
        cost = value_of(cell, "step_ns")
        if not engine or not cost:
            continue
        shares = [(ms, value_of(cell, metric)) for ms, metric in _STEPS]
        told = [(ms, share) for ms, share in shares if share is not None]
        taken = ", ".join(
            f"{percent(share)} of a {ms} ms step" if share < 1 else f"more than a {ms} ms step"
            for ms, share in told
        )
        cheapest = min(
            (
                each
                for each in run.cells_of(setting.key)
                if each.kind == "manager" and not run.implementation_by_name[each.impl].engine
                if value_of(each, "step_ns")
            ),
            key=lambda each: value_of(each, "step_ns") or 0.0,
            default=None,
        )
        text = f"{cell.impl} ({engine}) takes {with_unit(cost, 'ns')}: {taken}."
        text += " No structure can win back more than that"
        if cheapest is not None and shown_less(cheapest, cell, "step_ns"):
            left = with_unit(value_of(cheapest, "step_ns"), "ns")
            text += f", and {cheapest.impl}, the cheapest one here, still takes {left}"
        text += "; where scheduling overlaps the GPU, nothing is won."
        found.append(Finding("What an engine could gain", text))
    return tuple(found)
