"""The model `rate`: the load's steps in a real-time loop, as an engine takes them.

Three loops at the step rate: around the steps, around the steps with packing behind them,
and around nothing, for what pacing itself takes. Then short ones with nothing between the
steps, in search of the highest rate that is held.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from blockmark.workload.packing import packed_bytes

from ..probes import pace_shares
from ..probes.between import BetweenError, make_between
from ..probes.collector import CollectorLog
from ..probes.pace import Pace
from ..probes.pacing import pace_nothing, step_after
from ..probes.rate_search import (
    deserves_another_try,
    falls_far_behind,
    highest_rate,
    is_held,
)
from ..probes.timing import Cursor, warm_up
from ..process.reading import Reading, Readings
from ..replay import MissingOperationsError, bind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from blockmark.workload.program import Program

    from ..probes.pace import Between, Paced
    from ..process.task import TimedProgram
    from .setup import SubjectSetup

_STEP_METRICS = (
    "busy_share",
    "thread_cpu_share",
    "lateness_ns",
    "paced_latency_ns",
    "missed_deadlines",
    "achieved_rate",
    "highest_rate",
)
_PACK_METRICS = ("busy_share_with_pack", "copy_share")
_NOOP_METRICS = ("noop_busy_share", "noop_cpu_share")

_WARM_UP_NS = 60_000_000
_LEAST_NOOP_S = 0.2
# Loops of the search, so short that some are never pre-empted, but as long as a period of
# the load, which may do more in one step than in another.
_SEARCH_LOOP_NS, _SEARCH_LONGEST_NS = 3_000_000, 50_000_000
_SEARCH_LEAST_STEPS = 20
_SEARCH_S = 1.5
# A process's times are counted in steps of 10 ms: 0.1 % of this.
_PSUTIL_FROM_S = 10


class Body:
    """A load on a manager, and where its cyclic body stands."""

    def __init__(self, manager: Any, program: Program, call_style: str) -> None:
        """Set it up and warm it. Raises MissingOperationsError."""
        self.program = program
        self._replay = bind(manager, program, call_style)
        self._replay.setup()
        cursor = Cursor(self._replay, program)
        warm_up(cursor, _WARM_UP_NS)
        self._at = cursor.advance(0)

    def run(self, pace: Pace) -> Paced:
        """Go on from where the last loop ended."""
        paced = self._replay.run_paced(self._at, pace)
        self._at = step_after(self.program, self._at, paced)
        return paced


def measure_rate(subject: SubjectSetup, programs: list[TimedProgram]) -> Readings:
    """Metric name -> what was found, as a round keeps it.

    `programs` are the load, and of the load with packing.
    """
    names = [*_STEP_METRICS, *_PACK_METRICS, *_NOOP_METRICS]
    params = subject.params
    if params["cache"] != "hot":
        reason = f"cache = {params['cache']} is for back-to-back steps; set between = stream"
        return dict.fromkeys(names, Reading.missing(reason))
    native = subject.call_style == "native"
    interval = interval_of(params["step_rate"])
    try:
        between, streamed = make_between(
            params["between"],
            params["between_bytes"],
            interval,
            params["concurrency"],
            native=native,
        )
    except BetweenError as error:
        return dict.fromkeys(names, Reading.missing(str(error)))
    pace = _pace(params, interval, params["rate_seconds"], between)
    load, packed = (each.load() for each in programs)
    try:
        found = _measure_steps(subject, load, pace)
    except MissingOperationsError as lacking:
        # A control that has no such operation has no such floor; nothing is missed.
        lack = Reading.missing(str(lacking))
        return {} if subject.impl.kind == "control" else dict.fromkeys(names, lack)
    found |= _measure_packing(subject, packed, pace)
    seconds = max(_LEAST_NOOP_S, params["rate_seconds"] / 3)
    found |= pace_shares.noop_shares(
        _pace_nothing(_pace(params, interval, seconds, between), native=native)
    )
    if params["between"] == "stream":
        found["streamed_bytes"] = Reading(streamed)
    return found


def extra_time_s(params: Mapping[str, Any]) -> float:
    """Seconds that a round in a cell needs for its paced loops, if it has any, at most.

    Two loops, each perhaps once more, the empty one, and the search.
    """
    if "rate" not in params["models"]:
        return 0.0
    seconds: float = params["rate_seconds"]
    return 4 * seconds + max(_LEAST_NOOP_S, seconds / 3) + _SEARCH_S


def interval_of(step_rate: float) -> int:
    """ns from one intended start to the next, of a rate in 1/s."""
    return max(1, round(1e9 / step_rate))


def _pace(
    params: Mapping[str, Any], interval_ns: int, seconds: float, between: Between | None
) -> Pace:
    # Whole intervals, so that a loop that keeps up has the very rate.
    ticks = max(1, round(seconds * 1e9 / interval_ns))
    return Pace(interval_ns, ticks * interval_ns, params["pacing"], between)


def _measure_steps(subject: SubjectSetup, load: Program, pace: Pace) -> Readings:
    manager = subject.manager_of_load()
    body = Body(manager, load, subject.call_style)
    if subject.params["gc"] == "freeze":
        # As an engine does when it has started: what is there now is looked at no more.
        gc.collect()
        gc.freeze()
    paced, found = _paced_steps(body, pace, subject)
    if deserves_another_try(paced):
        again = _paced_steps(body, pace, subject)
        paced, found = max((paced, found), again, key=lambda run: run[0].ticks)
    found["highest_rate"] = _search(body, paced)
    subject.free_all(manager)
    return found


def _paced_steps(body: Body, pace: Pace, subject: SubjectSetup) -> tuple[Paced, Readings]:
    with CollectorLog() as log:
        paced, psutil = _cross_checked(body, pace, subject.params["rate_seconds"])
    found = pace_shares.step_shares(paced) | psutil
    if subject.call_style != "native":
        found |= pace_shares.collector_shares(log, paced)
    return paced, found


def _cross_checked(body: Body, pace: Pace, seconds: float) -> tuple[Paced, Readings]:
    """The loop, and what psutil says of it where it is long enough."""
    name = "psutil_cpu_share"
    if seconds < _PSUTIL_FROM_S:
        reason = f"psutil counts in steps of 10 ms; set rate_seconds to at least {_PSUTIL_FROM_S}"
        return body.run(pace), {name: Reading.missing(reason)}
    import psutil

    process = psutil.Process()
    before, start = process.cpu_times(), perf_counter()
    paced = body.run(pace)
    after, wall = process.cpu_times(), perf_counter() - start
    used = after.user + after.system - before.user - before.system
    return paced, {name: Reading(used / wall)}


def _search(body: Body, paced: Paced) -> Reading:
    if not paced.ticks:
        return Reading.missing("no step was begun within the loop")

    def holds(rate: float) -> bool:
        interval = interval_of(rate)
        period = min(body.program.period, _SEARCH_LONGEST_NS // interval)
        ticks = max(_SEARCH_LEAST_STEPS, _SEARCH_LOOP_NS // interval, period)
        return is_held(body.run(Pace(interval, ticks * interval)))

    deadline = perf_counter() + _SEARCH_S
    # Where nothing lies between the steps they are quicker than in the loop, if anything.
    guess = paced.ticks * 1e9 / max(1, paced.busy1_ns)
    rate = highest_rate(holds, guess, lambda: perf_counter() > deadline)
    if rate is None:
        return Reading.missing(f"no rate was held within {_SEARCH_S:g} s of searching")
    return Reading(rate)


def _measure_packing(subject: SubjectSetup, packed: Program, pace: Pace) -> Readings:
    """The loop with packing; a copy of as many bytes in it, where there is time for both."""
    manager = subject.manager_of_load()
    try:
        body = Body(manager, packed, subject.call_style)
    except MissingOperationsError as lacking:
        subject.free_all(manager)
        lack = Reading.missing(str(lacking))
        return {} if subject.impl.kind == "control" else dict.fromkeys(_PACK_METRICS, lack)
    native = subject.call_style == "native"
    paced = body.run(replace(pace, copy_bytes=packed_bytes(packed) if native else 0))
    if not native:
        found = {"copy_share": Reading.missing("the copy is timed in the native loop alone")}
    elif falls_far_behind(paced):
        reason = "with packing and a copy in every step the loop does not hold its rate"
        found = {"copy_share": Reading.missing(reason)}
    else:
        found = pace_shares.copy_share(paced)
    if deserves_another_try(paced):
        again = body.run(pace)  # without the copy, which takes its time too
        paced = max(paced, again, key=lambda run: run.ticks)
    subject.free_all(manager)
    if not falls_far_behind(paced):
        return found | pace_shares.pack_shares(paced)
    reason = (
        f"saturated with packing: {pace_shares.achieved_rate(paced):,.0f} steps a second of "
        f"{1e9 / pace.interval_ns:,.0f}"
    )
    return found | {"busy_share_with_pack": Reading.missing(reason)}


def _pace_nothing(pace: Pace, *, native: bool) -> Paced:
    if not native:
        return pace_nothing(pace)
    from blockmark_impls import _native

    # What a native loop has between its ticks is the core's own, or nothing.
    stream = cast("_native.Evictor | None", pace.between)
    return _native.pace_nothing(pace.interval_ns, pace.duration_ns, pace.pacing, stream)
