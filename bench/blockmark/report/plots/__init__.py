"""The pictures of a report, one file a kind; `draw_pictures` makes all of them."""

from __future__ import annotations

import re

from blockmark.report.picture import Picture
from blockmark.report.setting import setting_name
from blockmark.runs.model import Run

_CAPTIONS = {
    "cost": (
        "Cost by implementation",
        "Each row is an implementation, each panel a cost on a logarithmic axis. The dashed line "
        "is the floor of its group: the same work on a plain array, or else the empty loop.",
    ),
    "latency": (
        "Step latency",
        "Which share of the steps takes longer than the time on the axis, all rounds together; "
        "a curve further left is faster, one that falls steeply is steadier. Marks stand at the "
        "median and at the slowest step seen.",
    ),
    "share": (
        "Share of one core",
        "Step time x step rate, an estimate: no pacing, packing or anything else of the engine "
        "in it. Dotted lines are the rates of engines whose steps take 1, 10 and 30 ms.",
    ),
}


def draw_pictures(run: Run) -> list[Picture]:
    """All pictures that the run has values for, setting by setting; may be none.

    The same run gives the same bytes with the same version of matplotlib.
    """
    from blockmark.report.plots.cost import draw_costs
    from blockmark.report.plots.latency import draw_latencies
    from blockmark.report.plots.share import draw_shares
    from blockmark.report.plots.style import drawing

    draw = {"cost": draw_costs, "latency": draw_latencies, "share": draw_shares}
    pictures: list[Picture] = []
    taken: set[str] = set()
    if not any(cell.ok and cell.metrics for cell in run.cells):
        return pictures
    with drawing():
        for setting in run.settings:
            name = setting_name(run, setting)
            place = ", ".join(part for part in (setting.scenario, name) if part)
            tail = _free_slug("-".join([*_of_many(run, setting.scenario), name]), taken)
            for kind, function in draw.items():
                title, caption = _CAPTIONS[kind]
                data = function(run, setting, f"{title}: {place}")
                if data is not None:
                    file = f"{kind}{tail}.png"
                    pictures.append(Picture(file, f"{title}: {place}", caption, setting.key, data))
    return pictures


def _of_many(run: Run, scenario: str) -> list[str]:
    return [scenario] if len(run.scenarios) > 1 else []


def _free_slug(text: str, taken: set[str]) -> str:
    """`-block_size-16`: safe in a file name, and not used before; empty for empty text."""
    words = re.findall(r"[A-Za-z0-9_]+", text)
    slug = "".join(f"-{word}" for word in words)[:80]
    free, number = slug, 2
    while free in taken:
        free, number = f"{slug}-{number}", number + 1
    taken.add(free)
    return free
