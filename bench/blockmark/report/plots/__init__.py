"""The pictures of a report, one file a kind; `draw_pictures` makes all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from blockmark.report.facts.counter_source import source_words
from blockmark.report.facts.picture import Picture
from blockmark.report.facts.rates import rate_sweeps
from blockmark.report.facts.setting import setting_name
from blockmark.report.facts.sweep import MOST_SHOWN, Sweep, in_run_order, sweeps
from blockmark.report.study import StudyView, view_of
from blockmark.runs.model import CallStyle, Run, Setting
from blockmark.verdict.compare import RunComparison

_CAPTIONS = {
    "cost": (
        "Cost by implementation",
        "Each row is an implementation, each panel a cost on a logarithmic axis. The dashed line "
        "is the floor of its group: the same work on a plain array, or else the empty loop. One "
        "star: not told from the empty loop; two: below the floor. Letters in brackets, where "
        "they differ, are the profile: work of another kind, so that no ratio is formed.",
    ),
    "latency": (
        "Step latency",
        "Which share of the steps takes longer than the time on the axis, all rounds together; "
        "a curve further left is faster, one that falls steeply is steadier. Marks stand at the "
        "median and at the slowest step seen.",
    ),
}
_MISSES = (
    "L1D misses per operation",
    "Loads that the first-level data cache did not hold, for each operation and for a whole step, "
    "on logarithmic axes; a word stands where there is no value above zero. Misses are {}.",
)
_BEFORE_AFTER = (
    "Before and after",
    "Each row is an implementation, each panel a metric, on an axis of ratios that all panels "
    "share. Hollow: run {}, before; filled: run {}, now; beside them the change, and for "
    "counts a thin line for its range. Pale: no difference, or a floor. Of times that is no "
    "verdict: two runs are of two states of a machine.",
)
_GROWTH = (
    "Growth",
    "Each line is an implementation, each panel a cost, against what the settings differ in. "
    "Grey: the floor, which is the same work on a plain array, or else the empty loop. Empty "
    "marks of a colour: not told from the empty loop, or below the floor. Bars are the "
    "ranges of the rounds, where they are wider than the mark.",
)
_RATE = (
    "Share of one core against step rate",
    "Each line is an implementation in a loop that takes its steps at the rate on the axis, with "
    "the ranges of the rounds where they are wider than the mark. A line ends at 100 % at "
    "the highest rate "
    "that was held, which stands behind the name. Pale marks: the loop fell behind a rate that "
    "short loops held, so something else kept it. Both axes are logarithmic.",
)
_HAND_OUTS = (
    "What a pool trades",
    "Each mark is a pool{}. Up is dearer; right is more contiguous, so that a hand-out moves to "
    "another device in fewer copies. One star: not told from the empty loop; two: below the "
    "floor. Both axes are logarithmic.",
)
_SCALES = "Both axes are logarithmic; a level line does not grow."
_STYLES: tuple[tuple[str, str, tuple[CallStyle, ...]], ...] = (
    ("", "native loop", ("native",)),
    ("python", "called from Python", ("per-op", "per-step")),
)


def draw_pictures(run: Run) -> list[Picture]:
    """All pictures that the run has values for, scenario by scenario; may be none.

    A scenario whose settings lie on one axis of numbers gets pictures of the growth along
    it; along step rates, at which no step costs more than at another, the share of a core
    in their place. Single settings have theirs unless there are too many of them, see
    `pictured`. The same run gives the same bytes with the same version of matplotlib.
    """
    from blockmark.report.plots.style import drawing

    pictures: list[Picture] = []
    taken: set[str] = set()
    if not any(cell.ok and cell.metrics for cell in run.cells):
        return pictures
    with drawing():
        for sweep in sweeps(run):
            if view := view_of(sweep):
                pictures += _of_study(run, sweep, view, taken)
                continue
            rates = list(_of_rates(run, sweep, taken))
            pictures += rates
            if not rates:
                pictures += _of_growth(run, sweep, taken)
            pictures += _of_pools(run, sweep, taken)
            for setting in pictured(run, sweep):
                pictures += _of_setting(run, setting, taken)
    return pictures


def pictured(run: Run, sweep: Sweep) -> Sequence[Setting]:
    """The settings of a scenario that have pictures of their own.

    None where the growth over many is drawn instead; else the first few, and the first
    alone in a run of many scenarios: nobody looks through forty pictures.
    """
    if sweep.is_long and sweep.is_line:
        return []
    return in_run_order(run, sweep)[: MOST_SHOWN if len(run.scenarios) <= MOST_SHOWN else 1]


def _of_setting(run: Run, setting: Setting, taken: set[str]) -> Iterator[Picture]:
    from blockmark.report.plots.settings import draw_costs, draw_latencies

    draw = {"cost": draw_costs, "latency": draw_latencies}
    name = setting_name(run, setting)
    place = ", ".join(part for part in (setting.scenario, name) if part)
    tail = _free_slug("-".join([*_of_many(run, setting.scenario), name]), taken)
    for kind, function in draw.items():
        title, caption = _CAPTIONS[kind]
        data = function(run, setting, f"{title}: {place}")
        if data is not None:
            file = f"{kind}{tail}.png"
            yield Picture(file, f"{title}: {place}", caption, setting.key, data)
        if kind == "cost":
            yield from _of_misses(run, setting, place, tail)


def _of_misses(run: Run, setting: Setting, place: str, tail: str) -> Iterator[Picture]:
    from blockmark.report.plots.settings import draw_misses, sources_to_draw

    kind, caption = _MISSES
    for number, source in enumerate(sources_to_draw(run, setting)):
        title = f"{_how_counted(source)} {kind}: {place}"
        data = draw_misses(run, setting, source, title)
        if data is not None:
            said = caption.format(source_words(run, source))
            name = f"misses-{source}" if number else "misses"
            yield Picture(f"{name}{tail}.png", title, said, setting.key, data)


def _how_counted(source: str) -> str:
    """What stands before a title, as a picture is shown without its caption."""
    return "Counted" if source.startswith("pmu") else "Simulated"


def draw_changes(comparison: RunComparison) -> list[Picture]:
    """Before and after, a picture a setting; may be none. Bytes as for `draw_pictures`."""
    from blockmark.report.plots.before_after import draw_before_after
    from blockmark.report.plots.style import drawing

    now = comparison.now
    kind, caption = _BEFORE_AFTER
    pictures: list[Picture] = []
    taken: set[str] = set()
    shown = [setting for sweep in sweeps(now) for setting in in_run_order(now, sweep)]
    with drawing():
        for setting in shown:
            name = setting_name(now, setting)
            place = ", ".join(part for part in (setting.scenario, name) if part)
            title = f"{kind}: {place}"
            data = draw_before_after(comparison, setting, title)
            if data is None:
                continue
            tail = _free_slug("-".join([*_of_many(now, setting.scenario), name]), taken)
            said = caption.format(comparison.before.run_id, now.run_id)
            pictures.append(Picture(f"before-after{tail}.png", title, said, setting.key, data))
            if len(pictures) == MOST_SHOWN:
                break
    return pictures


def _of_study(run: Run, sweep: Sweep, view: StudyView, taken: set[str]) -> Iterator[Picture]:
    for kind, title, caption, data in view.draw(run, sweep):
        slug = _free_slug("-".join([kind, *_of_many(run, sweep.scenario)]), taken)
        yield Picture(f"{slug[1:]}.png", title, caption, None, data, sweep.scenario)


def _of_growth(run: Run, sweep: Sweep, taken: set[str]) -> Iterator[Picture]:
    from blockmark.report.plots.growth import draw_growth, gaps, panels_of

    if not sweep.is_line:
        return
    kind, caption = _GROWTH
    for word, name, styles in _STYLES:
        panels = panels_of(run, sweep, styles)
        if not panels:
            continue
        title = f"{kind} over {sweep.axis}: {sweep.scenario}, {name}"
        slug = "-".join([kind, *_of_many(run, sweep.scenario), word])
        parts = [caption, _SCALES if sweep.is_logarithmic else "", gaps(sweep, panels)]
        yield Picture(
            f"{_free_slug(slug.lower(), taken)[1:]}.png",
            title,
            " ".join(part for part in parts if part),
            None,
            draw_growth(run, sweep, panels, title),
            sweep.scenario,
        )


def _of_pools(run: Run, sweep: Sweep, taken: set[str]) -> Iterator[Picture]:
    from blockmark.report.plots.hand_outs import draw_hand_outs, trails_of

    trails = trails_of(run, sweep)
    if not trails:
        return
    kind, caption = _HAND_OUTS
    where = setting_name(run, sweep.settings[-1])
    title = f"{kind}: {', '.join(part for part in (sweep.scenario, where) if part)}"
    data = draw_hand_outs(run, trails, title)
    if data is None:
        return
    slug = _free_slug("-".join(["hand-outs", *_of_many(run, sweep.scenario)]), taken)
    said = caption.format(f" at {where}" if where else "")
    yield Picture(f"{slug[1:]}.png", title, said, None, data, sweep.scenario)


def _of_rates(run: Run, sweep: Sweep, taken: set[str]) -> Iterator[Picture]:
    from blockmark.report.plots.rate import curves_of, draw_rates, gaps

    kind, caption = _RATE
    for name, rates in rate_sweeps(run, sweep):
        curves = curves_of(run, rates)
        if not curves:
            continue
        place = ", ".join(part for part in (sweep.scenario, name) if part)
        title = f"{kind}: {place}"
        slug = _free_slug("-".join(["rate", *_of_many(run, sweep.scenario), name]), taken)
        yield Picture(
            f"{slug[1:]}.png",
            title,
            " ".join(part for part in (caption, gaps(rates, curves)) if part),
            None,
            draw_rates(run, rates, curves, title),
            sweep.scenario,
        )


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
