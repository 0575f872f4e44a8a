"""The view of the study of false sharing: what neighbours on one cache line cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockmark.report.facts.numbers import count, counted, percent, with_unit
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import number
from blockmark.report.facts.sweep import Sweep
from blockmark.report.findings.compared import factor
from blockmark.report.plots.rows import draw_rows
from blockmark.report.tables.cells import study_table
from blockmark.report.tables.model import Table
from blockmark.runs.model import Run, Setting

QUESTION = "What does it cost when threads write their own counts on cache lines that they share?"
METHOD = (
    "Threads are pinned and start together in windows of about 150 us; only windows count in "
    "which every thread began at once, was never displaced, and never stood still. The same with "
    "one thread is measured in the same process."
)
_COLUMNS = (
    "write_ns",
    "write_alone_ns",
    "sharing_slowdown",
    "write_overlap_share",
)
# Two threads of one core hand a line over within their own first-level cache.
_ONE_CORE_NS = 40.0
_CAPTION = (
    "Each mark is how many times longer a write takes with all threads than with one alone, on a "
    "logarithmic axis, with the range of the rounds; at 1 there is no false sharing."
)


def load_words(settings: Sequence[Setting]) -> str:
    """`2 threads, each writing counts of its own`."""
    found = [number(setting.params, "threads") or 0 for setting in settings]
    words = " to ".join(dict.fromkeys(count(end) for end in (min(found), max(found))))
    return f"{words} threads, each writing counts of its own"


def tables(run: Run, sweep: Sweep) -> list[Table]:
    """One table, a group a number of threads."""
    return [study_table(run, sweep.settings, _COLUMNS)]


def sentences(run: Run, sweep: Sweep) -> list[str]:
    """The proof, the machine's hand-over, and packed against padded."""
    cells = [cell for setting in sweep.settings for cell in run.cells_of(setting.key)]
    said = []
    shares = [v for cell in cells if (v := value_of(cell, "write_overlap_share")) is not None]
    if shares:
        ends = dict.fromkeys(percent(end) for end in (min(shares), max(shares)))
        said.append(
            f"Proof of overlap: all threads ran at once in {' to '.join(ends)} of the windows."
        )
    pings = [v for cell in cells if (v := value_of(cell, "ping_pong_ns")) is not None]
    if pings:
        about = (
            "so both may be threads of one core, which share their caches and pay little"
            if min(pings) < _ONE_CORE_NS
            else "so they are cores of their own"
        )
        said.append(
            f"A line goes from one processor to the other and back in "
            f"{with_unit(min(pings), 'ns')} at best, {about}."
        )
    for setting in sweep.settings:
        said += _packed(run, setting)
    return said


def draw(run: Run, sweep: Sweep) -> Iterator[tuple[str, str, str, Drawn]]:
    """Marks of the setting with the most threads."""
    setting = max(sweep.settings, key=lambda one: number(one.params, "threads") or 0)
    title = f"Writes on common lines: {sweep.scenario}"
    panels = {"sharing_slowdown": "time of a write with all threads / with one alone"}
    if data := draw_rows(run, run.cells_of(setting.key), panels, title):
        yield "false-sharing", title, _CAPTION, data


def _packed(run: Run, setting: Setting) -> list[str]:
    """Counters 8 bytes apart against 64, where both were measured."""
    said = []
    cells = {cell.impl: cell for cell in run.cells_of(setting.key) if value_of(cell, "write_ns")}
    for name in ("counter", "atomic-counter"):
        packed = cells.get(f"{name}/cpp[stride=8]")
        padded = cells.get(f"{name}/cpp[stride=64]")
        if packed and padded and (told := factor(packed, padded, "write_ns")):
            threads = counted(number(setting.params, "threads") or 0, "thread")
            said.append(
                f"{name}, {threads}: 8 bytes apart a write takes {told} what it takes 64 bytes "
                "apart."
            )
    return said
