"""The view of the study of contention: threads, coroutines, or requests at a stated rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockmark.report.facts.numbers import count, percent, significant, with_unit
from blockmark.report.facts.order import value_of
from blockmark.report.facts.picture import Drawn
from blockmark.report.facts.setting import number
from blockmark.report.facts.sweep import Sweep
from blockmark.report.findings.compared import factor, ratio_between, shown_less
from blockmark.report.plots.tails import draw_tails, tails_of
from blockmark.report.tables.cells import study_table
from blockmark.report.tables.model import Table
from blockmark.runs.model import Run, Setting

from .charts import MOST_PANELS, LinePanel, draw_over

QUESTION = (
    "What does a pool of free blocks cost when several threads or coroutines share it, and which "
    "scheme keeps them least from their work?"
)
METHOD = (
    "Threads are pinned and start together in windows of about 150 us; only windows count in "
    "which every thread began at once, was never displaced by the kernel, and never stood still "
    "for longer than a limit. What is said of the whole stretch has all disturbances in it. "
    "Engines in Python are timed by the process's CPU time."
)
_THREADS = (
    "pairs_per_s", "pair_ns", "take_latency_undisturbed_ns.p50", "take_latency_undisturbed_ns.p99",
    "take_latency_undisturbed_ns.p99.9", "take_latency_ns.p99.9", "cpu_ns_per_pair", "fairness",
    "voluntary_switches_per_s", "kernel_share", "waited_share", "stranded_blocks", "overlap_share",
)  # fmt: skip
_COROUTINES = (
    "cpu_ns_per_pair", "pairs_per_s", "waited_share", "kernel_share", "take_latency_ns.p50",
    "take_latency_ns.p99", "take_latency_ns.p99.9",
)  # fmt: skip
_RATES = (
    "cpu_share_at_rate", "pairs_per_s", "take_latency_ns.p50", "take_latency_ns.p90",
    "take_latency_ns.p99", "voluntary_switches_per_s",
)  # fmt: skip
_LEGEND_THREADS = (
    "p50 to p99.9: time of a take in windows in which all threads ran, below 30 ns that of the "
    "clock; all: over the whole stretch, disturbances included, as is kernel. sleeps: context "
    "switches of threads that waited. overlap: windows in which all threads ran."
)


def load_words(settings: Sequence[Setting]) -> str:
    """`1 to 4 threads, batches of 1, think time 0 to 2,000 ns, 65,536 blocks`."""
    parts = []
    coroutines = _range(settings, "coroutines")
    if coroutines == "0":
        threads = _range(settings, "threads")
        parts.append(f"{threads} {'thread' if threads == '1' else 'threads'}")
    else:
        parts.append(f"{coroutines} {'coroutine' if coroutines == '1' else 'coroutines'}")
    parts.append(f"batches of {_range(settings, 'batch')}")
    if (think := _range(settings, "think_ns")) not in ("", "0"):
        parts.append(f"think time {think} ns")
    if (rate := _range(settings, "request_rate")) not in ("", "0"):
        parts.append(f"{rate} requests/s")
    parts.append(f"{_range(settings, 'total_blocks')} blocks")
    return ", ".join(parts)


def tables(run: Run, sweep: Sweep) -> list[Table]:
    """A table a think time with a group a number of threads; one of coroutines, one of rates."""
    made = []
    for caption, columns, settings in _parts(sweep.settings):
        notes = (_LEGEND_THREADS,) if columns is _THREADS else ()
        made.append(study_table(run, settings, columns, caption=caption, named=_title, notes=notes))
    return made


def sentences(run: Run, sweep: Sweep) -> list[str]:
    """The proof first, then who is ahead where, what a lock costs coroutines, what rates take."""
    said = [*_overlap(run, sweep), *_oversubscribed(sweep)]
    for setting in sweep.settings:
        if _is_threads(setting) and _number(setting, "threads") > 1:
            said += _ahead(run, setting)
    said += _coroutines(run, [one for one in sweep.settings if _number(one, "coroutines")])
    said += _rates(run, [one for one in sweep.settings if _number(one, "request_rate")])
    return said


def draw(run: Run, sweep: Sweep) -> Iterator[tuple[str, str, str, Drawn]]:
    """Throughput and latency of threads; cost and latency of coroutines; shares at rates."""
    place = sweep.scenario
    threads = [setting for setting in sweep.settings if _is_threads(setting)]
    panels = [
        LinePanel(
            caption,
            "threads",
            "pairs_per_s",
            tuple(group),
            "pairs a second",
            _most_at_once(group),
        )
        for caption, _, group in _parts(threads)
    ]
    title = f"Throughput against threads: {place}"
    if data := draw_over(run, panels, title):
        yield "throughput", title, _THROUGHPUT, data
    title = f"Time to get blocks: {place}"
    proved = [one for one in threads if not one.facts.get("oversubscribed")]
    most = max((_number(one, "threads") for one in proved), default=0)
    tails = [
        (
            f"{_title(one)}, think {count(_number(one, 'think_ns'))} ns",
            tails_of(run.cells_of(one.key), "take_latency_undisturbed_ns"),
        )
        for one in proved
        if _number(one, "threads") == most > 1
    ]
    shown = [panel for panel in tails if panel[1]][:MOST_PANELS]
    if data := draw_tails(run, shown, title, what="time to get blocks", thing="calls", clock=True):
        yield "latency", title, _TAILS, data
    yield from _draw_coroutines(run, sweep, place)


_THROUGHPUT = (
    "Batches that all threads together take and give back in a second, over windows in which all "
    "of them ran. Where it is grey there are more threads than processors: they take turns, and "
    "nothing proves overlap. "
    "Both axes are logarithmic: twice the threads at twice the height is a scheme that scales."
)
_TAILS = (
    "Which share of takes lasts longer than the time on the axis, all rounds together, over "
    "windows in which all threads ran. Below 30 ns, in grey, it is the clock that is measured."
)


def _draw_coroutines(run: Run, sweep: Sweep, place: str) -> Iterator[tuple[str, str, str, Drawn]]:
    found = tuple(one for one in sweep.settings if _number(one, "coroutines"))
    panels = [
        LinePanel("CPU time of a pair", "coroutines", "cpu_ns_per_pair", found, ""),
        LinePanel("median time to get blocks", "coroutines", "take_latency_ns.p50", found, ""),
    ]
    title = f"Coroutines behind one lock: {place}"
    if data := draw_over(run, panels, title):
        yield "coroutines", title, "On logarithmic axes, against the number of coroutines.", data


def _most_at_once(settings: Sequence[Setting]) -> float | None:
    """The most threads that had a processor each, if others had none."""
    beyond = [one for one in settings if one.facts.get("oversubscribed")]
    cores = number(beyond[0].facts, "cores_usable") if beyond else None
    return None if cores is None else float(cores)


def _parts(
    settings: Sequence[Setting],
) -> list[tuple[str, tuple[str, ...], list[Setting]]]:
    """Settings that belong in one table, with its caption and columns."""
    found: dict[tuple[str, tuple[str, ...]], list[Setting]] = {}
    for setting in settings:
        key: tuple[str, tuple[str, ...]]
        if _number(setting, "request_rate"):
            key = "At stated request rates", _RATES
        elif _number(setting, "coroutines"):
            key = "Coroutines of one event loop", _COROUTINES
        else:
            think = _number(setting, "think_ns")
            key = (f"Think time {count(think)} ns" if think else "No think time"), _THREADS
        found.setdefault(key, []).append(setting)
    return [(caption, columns, group) for (caption, columns), group in found.items()]


def _title(setting: Setting) -> str:
    if rate := _number(setting, "request_rate"):
        return f"{count(rate)} requests/s"
    if coroutines := _number(setting, "coroutines"):
        return f"{count(coroutines)} {'coroutine' if coroutines == 1 else 'coroutines'}"
    threads = _number(setting, "threads")
    text = f"{count(threads)} {'thread' if threads == 1 else 'threads'}"
    cores = number(setting.facts, "cores_usable")
    if setting.facts.get("oversubscribed") and cores is not None:
        text += f" (oversubscribed: {count(cores)} processors)"
    return text


def _is_threads(setting: Setting) -> bool:
    return not (_number(setting, "coroutines") or _number(setting, "request_rate"))


def _number(setting: Setting, name: str) -> float:
    return number(setting.params, name) or 0.0


def _range(settings: Sequence[Setting], name: str) -> str:
    numbers = [_number(setting, name) for setting in settings if name in setting.params]
    if not numbers:
        return ""
    return " to ".join(dict.fromkeys(count(end) for end in (min(numbers), max(numbers))))


def _overlap(run: Run, sweep: Sweep) -> list[str]:
    shares = [
        value
        for setting in sweep.settings
        if _is_threads(setting) and _number(setting, "threads") > 1
        for cell in run.cells_of(setting.key)
        if (value := value_of(cell, "overlap_share")) is not None
    ]
    if not shares:
        return []
    ends = dict.fromkeys(percent(end) for end in (min(shares), max(shares)))
    return [f"Proof of overlap: all threads ran at once in {' to '.join(ends)} of the windows."]


def _oversubscribed(sweep: Sweep) -> list[str]:
    beyond = [one for one in sweep.settings if one.facts.get("oversubscribed")]
    if not beyond:
        return []
    counts = sorted({_number(one, "threads") for one in beyond})
    words = ", ".join(count(each) for each in counts)
    cores = number(beyond[0].facts, "cores_usable") or 0
    return [
        f"Oversubscribed: {words} threads on {count(cores)} processors take turns, so nothing "
        "proves that they overlap, and single rounds differ much."
    ]


def _ahead(run: Run, setting: Setting) -> list[str]:
    """The scheme with the most pairs, if rounds show that it has; nothing if they can't."""
    metric = "pairs_per_s"
    ranked = sorted(
        (cell for cell in run.cells_of(setting.key) if value_of(cell, metric)),
        key=lambda cell: -(value_of(cell, metric) or 0.0),
    )
    if len(ranked) < 2 or any(
        ratio_between(ranked[0], other, metric).approximate for other in ranked[1:]
    ):
        return []
    first, second, last = ranked[0], ranked[1], ranked[-1]
    where = f"{_title(setting)}, think time {count(_number(setting, 'think_ns'))} ns"
    if factor(first, second, metric):
        who = f"{first.impl} does most"
    else:
        who = f"{first.impl} and {second.impl} do not differ for certain"
    text = f"{where}: {who}, {significant((value_of(first, metric) or 0.0) / 1e6)} million pairs/s"
    if more := factor(first, last, metric):
        text += f", {more} those of {last.impl}"
    return [f"{text}."]


def _coroutines(run: Run, settings: Sequence[Setting]) -> list[str]:
    said = []
    waits: dict[str, list[float]] = {}
    for setting in settings:
        for cell in run.cells_of(setting.key):
            if (share := value_of(cell, "waited_share")) is not None:
                waits.setdefault(cell.impl, []).append(share)
    for name, shares in waits.items():
        ends = dict.fromkeys(percent(end) for end in (min(shares), max(shares)))
        said.append(f"{name}: {' to '.join(ends)} of acquisitions waited.")
    for setting in settings[-1:]:
        metric = "cpu_ns_per_pair"
        cells = {cell.impl: cell for cell in run.cells_of(setting.key) if value_of(cell, metric)}
        free, locked = cells.get("no-lock/py"), cells.get("async-lock/py")
        if free and locked and shown_less(free, locked, metric):
            whole = value_of(locked, metric) or 0.0
            lock = whole - (value_of(free, metric) or 0.0)
            said.append(
                f"{_title(setting)}: the asyncio.Lock costs {with_unit(lock, 'ns')} of CPU a "
                f"pair, of {with_unit(whole, 'ns')}."
            )
    faults = settings[0].facts.get("known_faults") if settings else None
    if isinstance(faults, str) and faults:
        said.append(f"Known faults of the engines, each shown before anything was timed: {faults}.")
    return said


def _rates(run: Run, settings: Sequence[Setting]) -> list[str]:
    said = []
    for setting in settings:
        shares = [
            share
            for cell in run.cells_of(setting.key)
            if (share := value_of(cell, "cpu_share_at_rate")) is not None
        ]
        if shares:
            said.append(
                f"At {_title(setting)} the pool takes {percent(min(shares))} to "
                f"{percent(max(shares))} of a core, by scheme."
            )
    return said
