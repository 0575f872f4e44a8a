"""The paced loop: facts that hold at any speed, and none about how fast this machine is.

A shared machine may stop a process for milliseconds at any time, so what needs a loop that
keeps up is tried again.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from blockmark_impls.contract import UnknownSequence
from native_programs import ALLOCATE, EXTEND, FREE, LOOKUP, PACK, Steps, flat, program

pytestmark = pytest.mark.alone

native = pytest.importorskip("blockmark_impls._native", reason="no C++ core was built")

MS = 1_000_000
PACINGS = ("sleep", "hybrid", "spin")
HEAVY = (LOOKUP, [(0, 0)] * 50_000)
LIGHT = (LOOKUP, [(0, 0)])
BEGIN: Any = (0, [(ALLOCATE, [(0, 1)])])


def ready(*body: Any) -> tuple[Any, Any]:
    """A manager with one sequence of one token, and the program whose body this is."""
    made, manager = program([BEGIN, *body], 1), flat(16, 1, 2, 16)
    manager.replay_setup(made)
    return manager, made


def undisturbed(measure: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    """The first of some results that holds what a quiet machine gives."""
    for _ in range(40):
        result = measure()
        if holds(result):
            return result
    pytest.fail("no undisturbed result in 40 attempts")


@pytest.mark.parametrize("pacing", PACINGS)
def test_a_gentle_rate_is_kept(pacing: str) -> None:
    manager, made = ready((1, [LIGHT]))

    def measure() -> Any:
        before = time.monotonic_ns()
        paced = manager.replay_paced(made, 0, MS, 50 * MS, pacing)
        took = time.monotonic_ns() - before
        # What always holds.
        assert paced.intended == 50
        assert 1 <= paced.ticks <= 50
        assert 50 * MS <= paced.elapsed_ns <= took
        assert paced.lateness.samples == paced.latency.samples == paced.ticks
        assert 0 < paced.busy1_ns < paced.elapsed_ns
        assert paced.latency.max_value >= paced.lateness.max_value >= 0
        # Missed: what lies beyond a latency of 1 ms, of which the bin is the one at 13 * 128 +
        # (10**6 >> 12) - 128, and what never ran.
        beyond = sum(samples for index, samples in paced.latency.counts() if index > 1780)
        around = dict(paced.latency.counts()).get(1780, 0)
        assert beyond <= paced.missed - (50 - paced.ticks) <= beyond + around
        assert (paced.off_clock_ns, paced.busy2_ns, paced.copy_ns) == (0, 0, 0)
        return paced

    # A crowded machine gives a loop that spins a quarter of its time: some ticks are in time.
    undisturbed(measure, lambda paced: paced.missed < 50)


def test_a_last_part_of_an_interval_has_a_tick() -> None:
    for interval, duration, intended in ((3, 9, 3), (3, 10, 4), (3, 11, 4), (7, 7, 1), (1, 1, 1)):
        paced = native.pace_nothing(interval, duration, "spin")
        assert paced.intended == intended
        assert paced.ticks <= intended
        assert paced.elapsed_ns >= duration


def test_a_rate_that_cannot_be_kept() -> None:
    manager, made = ready((1, [HEAVY]))

    def measure() -> Any:
        paced = manager.replay_paced(made, 0, 1, 100 * MS, "spin")
        assert paced.intended == 100 * MS
        assert 1 <= paced.ticks < paced.intended
        assert paced.missed == paced.intended
        assert paced.busy1_ns < paced.elapsed_ns
        assert paced.elapsed_ns >= 100 * MS
        assert paced.latency.max_value > paced.busy1_ns / paced.ticks
        return paced

    # The last tick began when much of the duration was over, having been intended in its
    # first milliseconds: a clock that started when the tick did would not show it.
    undisturbed(measure, lambda paced: paced.lateness.max_value > 20 * MS)


def test_packing_has_its_own_share() -> None:
    manager, made = ready((1, [LIGHT]), (2, [HEAVY]), (2, [(PACK, [(0,)])]))
    heavy_second = manager.replay_paced(made, 0, 2 * MS, 40 * MS, "hybrid")
    assert heavy_second.busy2_ns > 5 * heavy_second.busy1_ns > 0
    assert heavy_second.off_clock_ns == 0
    manager, made = ready((1, [HEAVY]), (2, [LIGHT]))
    heavy_first = manager.replay_paced(made, 0, 2 * MS, 40 * MS, "hybrid")
    assert heavy_first.busy1_ns > 5 * heavy_first.busy2_ns > 0
    # Busy time is within the latencies, each of them at most the greatest.
    whole = heavy_first.busy1_ns + heavy_first.busy2_ns
    assert whole <= heavy_first.ticks * heavy_first.latency.max_value


def test_steps_of_no_phase_shift_the_schedule() -> None:
    manager, made = ready((1, [LIGHT]), (2, [LIGHT]), (0, [HEAVY]), (2, [HEAVY]))
    # Both heavy steps: of phase 0, and of phase 2 without a tick that it could belong to.
    untimed = min(manager.replay(made, 3, 1)[1] for _ in range(20))

    def measure() -> Any:
        before = time.monotonic_ns()
        paced = manager.replay_paced(made, 0, untimed, 20 * untimed, "spin")
        took = time.monotonic_ns() - before
        assert paced.elapsed_ns + paced.off_clock_ns <= took
        assert paced.off_clock_ns > 20 * (paced.busy1_ns + paced.busy2_ns)
        return paced

    # Two intervals of work after each tick, none of it on the clock. A processor that was
    # slower when `untimed` was taken than it is now is a disturbance, too.
    kept = undisturbed(
        measure,
        lambda paced: paced.missed <= 2 and paced.off_clock_ns >= 19 * 2 * untimed * 0.9,
    )
    assert kept.ticks >= 18
    # Its CPU time is taken out: what is left is the loop's, which waited by spinning.
    assert kept.thread_cpu_ns <= 1.2 * kept.elapsed_ns


def test_a_copy_and_a_stream_come_after_the_tick() -> None:
    manager, made = ready((1, [LIGHT]))
    plain = manager.replay_paced(made, 0, MS, 20 * MS, "hybrid")
    copied = manager.replay_paced(made, 0, MS, 20 * MS, "hybrid", copy_bytes=1 << 16)
    assert plain.copy_ns == 0
    assert copied.copy_ns > copied.ticks * 500  # 64 KiB in 500 ns would be 131 GB/s
    assert copied.elapsed_ns > copied.copy_ns + copied.busy1_ns
    # A stream that takes longer than the interval: late, and not by work of the tick.
    evictor = native.Evictor(16 << 20)
    streamed = manager.replay_paced(made, 0, 10_000, 20 * MS, "spin", evictor, 4096)
    assert streamed.ticks < streamed.intended
    assert streamed.missed > streamed.intended // 2
    assert 20 * (streamed.busy1_ns + streamed.copy_ns) < streamed.elapsed_ns
    nothing = native.pace_nothing(10_000, 20 * MS, "spin", evictor)
    assert nothing.ticks < nothing.intended


def test_ticks_are_steps_of_the_body_in_order() -> None:
    steps: Steps = [(1, [(ALLOCATE, [(1, 2)])])]
    steps = [*steps, (1, [(EXTEND, [(1, 1)])]), (1, [(EXTEND, [(1, 1)])]), (1, [(FREE, [(1,)])])]

    def measure() -> Any:
        manager, made = ready(*steps)
        # From body step 4, which is step 0.
        paced = manager.replay_paced(made, 4, MS, 6 * MS, "hybrid")
        return paced, manager

    _, manager = undisturbed(measure, lambda result: result[0].ticks == 6)
    # Once around, and then allocated with 2 tokens and extended by 1.
    assert manager.num_tokens(1) == 3


@pytest.mark.parametrize("pacing", PACINGS)
def test_the_pace_of_nothing(pacing: str) -> None:
    paced = native.pace_nothing(MS, 20 * MS, pacing)
    assert paced.intended == 20
    assert paced.latency.samples == paced.lateness.samples == paced.ticks
    assert (paced.busy2_ns, paced.copy_ns, paced.off_clock_ns) == (0, 0, 0)
    assert 0 <= paced.busy1_ns < paced.elapsed_ns


def test_waiting_by_sleep_leaves_the_processor() -> None:
    slept, spun = (native.pace_nothing(5 * MS, 100 * MS, pacing) for pacing in ("sleep", "spin"))
    assert 0 < slept.thread_cpu_ns < spun.thread_cpu_ns / 3
    assert spun.thread_cpu_ns < 1.1 * spun.elapsed_ns
    # Two clocks of the kernel for the same time.
    assert 0.8 < (spun.user_ns + spun.kernel_ns) / spun.thread_cpu_ns < 1.25
    assert spun.user_ns >= 0
    assert spun.kernel_ns >= 0


@pytest.mark.parametrize(
    ("interval", "duration", "pacing", "copied", "message"),
    [
        (0, MS, "spin", 0, "interval_ns must be at least 1, not 0"),
        (-5, MS, "spin", 0, "interval_ns must be at least 1, not -5"),
        (10, 9, "spin", 0, "duration_ns must be at least the interval of 10, not 9"),
        (1, 10**14, "spin", 0, "duration_ns must be at most a day"),
        (1, 10, "busy", 0, "pacing must be sleep, hybrid or spin, not 'busy'"),
        (1, 10, "", 0, "pacing must be"),
        (1, 10, "spin", -1, "copy_bytes must not be negative, as -1 is"),
    ],
)
def test_wrong_arguments_are_refused(
    interval: int, duration: int, pacing: str, copied: int, message: str
) -> None:
    manager, made = ready((1, [LIGHT]))
    with pytest.raises(ValueError, match=message):
        manager.replay_paced(made, 0, interval, duration, pacing, copy_bytes=copied)
    if copied == 0:
        with pytest.raises(ValueError, match=message):
            native.pace_nothing(interval, duration, pacing)


def test_programs_that_have_no_ticks_are_refused() -> None:
    manager, made = ready((0, [LIGHT]), (2, [LIGHT]))
    with pytest.raises(ValueError, match="no step of phase 1"):
        manager.replay_paced(made, 0, MS, MS, "spin")
    manager, made = ready()
    with pytest.raises(ValueError, match="no steps after its set-up"):
        manager.replay_paced(made, 0, MS, MS, "spin")
    manager, made = ready((1, [LIGHT]))
    with pytest.raises(ValueError, match="negative"):
        manager.replay_paced(made, -1, MS, MS, "spin")
    for wrong in ((1.5, MS), (MS, "x"), (2**70, 2**70)):
        with pytest.raises(TypeError):
            manager.replay_paced(made, 0, *wrong, "spin")


def test_an_error_ends_the_loop() -> None:
    manager, made = ready((1, [(FREE, [(0,)])]))
    with pytest.raises(UnknownSequence, match=r"operation 1 \(FREE\)"):
        manager.replay_paced(made, 0, 1000, 1000 * MS, "spin")


@pytest.mark.parametrize("pacing", PACINGS)
@pytest.mark.parametrize("interval", [MS, 20_000 * MS])
def test_a_signal_ends_the_loop(pacing: str, interval: int) -> None:
    class AlarmError(Exception):
        pass

    def ring(*_: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(AlarmError):
            native.pace_nothing(interval, 20_000 * MS, pacing)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
