"""A real-time loop: a tick of work at a fixed rate, as an engine takes its steps.

The loop in Python, for programs that Python drives; the core's own (native/pacing.hpp) is
the same and has the same semantics:

Tick i is intended at start + i * interval. A *tick* is the next step of phase 1 and the
steps of phase 2 that follow it directly. Its lateness is actual less intended start, its
latency runs from the intended start to its end, so that waiting for a late predecessor
counts; busy time runs from the actual start. No tick is skipped: a late one starts at
once. All other steps are off the clock: the schedule is shifted by what they took.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

from .histograms import new_histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blockmark.workload.program import Program

    from ..replay.protocols import Call
    from .pace import Pace, Paced

# How long before a tick a hybrid wait begins to read the clock; as in the core.
_HYBRID_SPIN_NS = 100_000
_SPIN_NS = {"sleep": 0, "hybrid": _HYBRID_SPIN_NS, "spin": 1 << 62}
# Linux tells a thread's own use; elsewhere the process's is as near as one comes.
_WHO = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)


@dataclass(frozen=True, slots=True)
class PythonPaced:
    """The result of a loop in Python; `copy_ns` is always 0."""

    ticks: int
    intended: int
    elapsed_ns: int
    off_clock_ns: int
    busy1_ns: int
    busy2_ns: int
    missed: int
    thread_cpu_ns: int
    user_ns: int
    kernel_ns: int
    lateness: Any
    latency: Any
    copy_ns: int = 0


class Work(Protocol):
    """What a loop in Python asks for its ticks."""

    def has_untimed(self) -> bool:
        """Whether something must be done off the clock before the next tick."""

    def untimed(self) -> None:
        """Do it."""

    def tick(self) -> tuple[Sequence[Call], Sequence[Call]]:
        """The calls of the next tick's two phases; the second may be empty.

        Asked for ahead of time, so that finding them is part of no tick.
        """


class _Nothing:
    def has_untimed(self) -> bool:
        return False

    def untimed(self) -> None:
        pass

    def tick(self) -> tuple[Sequence[Call], Sequence[Call]]:
        return (), ()


def _usage() -> tuple[int, int, int]:
    """(CPU time of this thread, its user part, its kernel part); ns."""
    used = resource.getrusage(_WHO)
    return time.thread_time_ns(), round(used.ru_utime * 1e9), round(used.ru_stime * 1e9)


def run_ticks(pace: Pace, work: Work) -> PythonPaced:
    """Run until the duration is over, waiting for its end if the work keeps up."""
    lateness, latency = new_histogram(), new_histogram()
    interval, duration, spin = pace.interval_ns, pace.duration_ns, _SPIN_NS[pace.pacing]
    between = pace.between
    intended = (duration - 1) // interval + 1
    ticks = busy1 = busy2 = overran = 0
    off_clock = (0, 0, 0)
    before = _usage()
    # The start of the schedule, shifted by all that was off the clock so far.
    start = origin = perf_counter_ns()
    while ticks < intended:
        if work.has_untimed():
            stopped, used = perf_counter_ns(), _usage()
            work.untimed()
            off_clock = _sum(off_clock, _sum(_usage(), used, -1))
            origin += perf_counter_ns() - stopped
        one, two = work.tick()
        due = origin + ticks * interval
        started = _wait(due, spin)
        if started - origin >= duration:
            break
        for execute, a, b, c in one:
            execute(a, b, c)
        middle = ended = perf_counter_ns()
        if two:
            for execute, a, b, c in two:
                execute(a, b, c)
            ended = perf_counter_ns()
        busy1 += middle - started
        busy2 += ended - middle
        lateness.record(started - due)
        latency.record(ended - due)
        overran += ended - due > interval
        ticks += 1
        if between is not None:
            between.run()
    end = _wait(origin + duration, spin)
    cpu, user, kernel = _sum(_sum(_usage(), before, -1), off_clock, -1)
    return PythonPaced(
        ticks=ticks,
        intended=intended,
        elapsed_ns=end - origin,
        off_clock_ns=origin - start,
        busy1_ns=busy1,
        busy2_ns=busy2,
        missed=overran + intended - ticks,
        thread_cpu_ns=cpu,
        user_ns=user,
        kernel_ns=kernel,
        lateness=lateness,
        latency=latency,
    )


def pace_nothing(pace: Pace) -> PythonPaced:
    """The same loop around ticks that do nothing: what pacing from Python costs."""
    return run_ticks(pace, _Nothing())


def _wait(due: int, spin: int) -> int:
    """The clock once it has reached `due`, at once if it has already."""
    now = perf_counter_ns()
    while now < due:
        if due - now > spin:
            time.sleep((due - now - spin) * 1e-9)
        now = perf_counter_ns()
    return now


def _sum(one: tuple[int, int, int], two: tuple[int, int, int], sign: int = 1) -> Any:
    return tuple(a + sign * b for a, b in zip(one, two, strict=True))


def step_after(program: Program, first: int, paced: Paced) -> int:
    """Where the body stands after a loop that began with body step `first`.

    A loop that ran out of time had already done what was off the clock before the tick
    that never ran; one that kept up had not.
    """
    body = program.phases[program.setup_steps :]
    at, left = first, paced.ticks
    starts = [step for step, phase in enumerate(body) if phase == 1]
    if len(starts) == len(body):
        return (first + left) % len(body)
    if left:
        number = sum(step < first for step in starts) + left - 1
        at = (starts[number % len(starts)] + 1) % len(body)
        while body[at] == 2:
            at = (at + 1) % len(body)
    if paced.ticks < paced.intended:
        while body[at] != 1:
            at = (at + 1) % len(body)
    return at
