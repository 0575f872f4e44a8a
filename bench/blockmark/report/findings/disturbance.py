"""Whether other work disturbed a run, in one sentence with what to do about it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from blockmark.report.facts.numbers import counted, percent, significant
from blockmark.report.facts.setting import number
from blockmark.runs.model import Run

# Of all processors; one of two that are busy slows the other down.
_MOST_OF_OTHERS = 0.25
# A measured process that got less than this of a core had to share it.
_OWN_CORE = 0.9
# Rounds of one program on a quiet machine differ by a few per cent.
_SPREAD = 0.25
_MEND = (
    "stop other work or measure elsewhere, and take more rounds (blockmark doctor says what "
    "this machine can tell)"
)


def disturbance(run: Run) -> str:
    """`Disturbed: other work used 1.7 of 2 cores, ...; stop it ...`; empty where nothing shows.

    By the processors that other work used meanwhile, by the share of a core that the measured
    processes got, and by how far the rounds of a cell lie apart (the median over cells of
    greatest / least - 1).
    """
    signs = [*_others(run), *_share_of_a_core(run), *_spread(run)]
    return f"Disturbed: {', '.join(signs)}; {_MEND}." if signs else ""


def _others(run: Run) -> Iterable[str]:
    used, cores = number(run.machine, "other_cores"), number(run.machine, "all_cores")
    if used is not None and cores and used > _MOST_OF_OTHERS * cores:
        yield f"other work used {significant(used, 2)} of {counted(cores, 'core')}"


def _share_of_a_core(run: Run) -> Iterable[str]:
    shares = [
        value
        for cell in run.cells
        if (found := cell.metric("cpu_share_of_wall")) is not None
        for value in found.values
    ]
    if shares and (mean := statistics.fmean(shares)) < _OWN_CORE:
        yield f"processes got {percent(mean)} of a core"


def _spread(run: Run) -> Iterable[str]:
    spreads = [
        max(step.values) / min(step.values) - 1.0
        for cell in run.cells
        if (step := cell.metric("step_ns")) is not None and len(step.values) > 1
        if min(step.values) > 0
    ]
    if spreads and (middle := statistics.median(spreads)) > _SPREAD:
        yield f"rounds of a cell differ by {percent(middle)}"
