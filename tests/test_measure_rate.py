"""Paced loops: exact on a clock of the test's own, and facts that hold at any speed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from blockmark.measure.inside import rate
from blockmark.measure.probes import pace_shares
from blockmark.measure.probes.between import BetweenError, Objects, bytes_that_fit, make_between
from blockmark.measure.probes.collector import CollectorLog
from blockmark.measure.probes.pace import Pace
from blockmark.measure.probes.pacing import PythonPaced, pace_nothing, step_after
from blockmark.measure.probes.rate_search import (
    deserves_another_try,
    falls_far_behind,
    highest_rate,
    is_held,
)
from blockmark.measure.process.reading import Reading
from blockmark.measure.proof.checker import check_state
from blockmark.measure.replay import PythonReplay, bind
from blockmark.runs.histogram import Histogram
from blockmark.workload.build import build_load
from blockmark.workload.packing import with_packing
from blockmark.workload.program import Op, Program, ProgramBuilder
from blockmark.workload.scenario import parse_scenario
from blockmark_impls.registry import resolve

pytestmark = pytest.mark.alone

LOOP = "blockmark.measure.probes.pacing"


class Clock:
    """Time that moves only where something is said to take it, or sleeps."""

    def __init__(self) -> None:
        self.now = 5_000_000

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(f"{LOOP}.perf_counter_ns", lambda: made.now)
    fake = SimpleNamespace(sleep=made.sleep, thread_time_ns=lambda: made.now // 2)
    monkeypatch.setattr(f"{LOOP}.time", fake)
    return made


class Manager:
    """Each can_allocate(n) takes n ns, and is written down."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.calls: list[int] = []

    def can_allocate(self, blocks: int) -> bool:
        self.clock.now += blocks
        self.calls.append(blocks)
        return True


def program(*steps: tuple[int, int]) -> Program:
    """Body steps of (phase, ns)."""
    builder = ProgramBuilder()
    builder.step()
    builder.end_setup()
    for phase, ns in steps:
        builder.step(phase)
        builder.run(Op.CAN_ALLOCATE, ns)
    return builder.build(units={})


def paced_by(
    clock: Clock, pace: Pace, *steps: tuple[int, int], first: int = 0
) -> tuple[Any, list[int]]:
    manager = Manager(clock)
    replay = PythonReplay(manager, program(*steps), per_step=False)
    return replay.run_paced(first, pace), manager.calls


def values(histogram: Any) -> list[int]:
    """Small values back out of their buckets, which hold one value each below 256."""
    return [index for index, count in histogram.counts() for _ in range(count)]


def test_a_loop_that_keeps_up(clock: Clock) -> None:
    paced, calls = paced_by(clock, Pace(1_000, 5_000, "sleep"), (1, 200), (1, 100))
    assert calls == [200, 100, 200, 100, 200]
    assert (paced.ticks, paced.intended, paced.missed) == (5, 5, 0)
    assert (paced.elapsed_ns, paced.off_clock_ns) == (5_000, 0)
    assert (paced.busy1_ns, paced.busy2_ns, paced.copy_ns) == (800, 0, 0)
    assert values(paced.lateness) == [0] * 5
    assert values(paced.latency) == [100, 100, 200, 200, 200]
    assert paced.thread_cpu_ns == 2_500


def test_a_late_tick_starts_at_once_and_counts_from_its_intended_start(clock: Clock) -> None:
    paced, _ = paced_by(clock, Pace(100, 400, "sleep"), (1, 150), (1, 30), (1, 20), (1, 10))
    # Intended at 0, 100, 200, 300; the second starts at 150 and ends at 180.
    assert values(paced.lateness) == [0, 0, 0, 50]
    assert values(paced.latency) == [10, 20, 80, 150]
    assert (paced.ticks, paced.missed, paced.busy1_ns) == (4, 1, 210)


def test_a_loop_that_cannot_keep_up_stops_when_its_time_is_over(clock: Clock) -> None:
    paced, _ = paced_by(clock, Pace(100, 1_000, "sleep"), (1, 200))
    # Starts at 0, 200, 400, 600 and 800; at 1,000 the time is over.
    assert (paced.ticks, paced.intended, paced.missed) == (5, 10, 10)
    assert (paced.elapsed_ns, paced.busy1_ns) == (1_000, 1_000)
    # Tick i was due at 100 i.
    assert (paced.lateness.samples, paced.lateness.max_value) == (5, 400)
    assert paced.latency.max_value == 600


def test_only_steps_of_a_phase_are_on_the_clock(clock: Clock) -> None:
    steps = (1, 10), (2, 7), (2, 1), (0, 5_000), (2, 300)
    paced, calls = paced_by(clock, Pace(100, 300, "sleep"), *steps)
    # The last step is of phase 2, but of no tick.
    assert calls == [10, 7, 1, 5_000, 300, 10, 7, 1, 5_000, 300, 10, 7, 1]
    assert (paced.busy1_ns, paced.busy2_ns) == (30, 24)
    assert (paced.off_clock_ns, paced.elapsed_ns) == (10_600, 300)
    assert (paced.ticks, paced.missed) == (3, 0)
    assert values(paced.latency) == [18] * 3
    # Of CPU time, which is half of all time here, what was off the clock is taken out.
    assert paced.thread_cpu_ns == 150


def test_what_runs_between_is_not_busy_but_takes_its_time(clock: Clock) -> None:
    class Rest:
        def run(self) -> None:
            clock.now += 95

    paced, _ = paced_by(clock, Pace(100, 300, "sleep", Rest()), (1, 10))
    assert paced.busy1_ns == 30
    assert values(paced.lateness) == [0, 5, 10]
    assert paced.missed == 0


def test_ticks_that_do_nothing(clock: Clock) -> None:
    paced = pace_nothing(Pace(100, 1_000, "sleep"))
    assert (paced.ticks, paced.intended, paced.busy1_ns, paced.missed) == (10, 10, 0, 0)


@pytest.mark.parametrize("pacing", ["sleep", "hybrid", "spin"])
def test_every_pacing_waits_for_the_intended_start(pacing: str) -> None:
    paced = pace_nothing(Pace(500_000, 20_000_000, pacing))
    assert paced.intended == 40
    assert 1 <= paced.ticks <= 40
    assert paced.elapsed_ns >= 20_000_000
    assert paced.lateness.samples == paced.latency.samples == paced.ticks
    assert paced.busy1_ns < paced.elapsed_ns


def test_a_program_without_a_tick_is_refused(clock: Clock) -> None:
    with pytest.raises(ValueError, match="no step of phase 1"):
        paced_by(clock, Pace(100, 300), (0, 1), (2, 1))


def ran(ticks: int, intended: int, **more: int) -> PythonPaced:
    counts = {
        "elapsed_ns": 0,
        "off_clock_ns": 0,
        "busy1_ns": 0,
        "busy2_ns": 0,
        "missed": 0,
        "thread_cpu_ns": 0,
        "user_ns": 0,
        "kernel_ns": 0,
    }
    histograms = {"lateness": Histogram(), "latency": Histogram()}
    return PythonPaced(ticks, intended, **{**counts, **more}, **histograms)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "ticks", "intended", "after"),
    [
        (0, 1, 1, 3),  # with the packings behind it
        (0, 1, 2, 5),  # and, out of time, what is off the clock before the next
        (0, 2, 2, 6),
        (0, 2, 3, 0),
        (6, 1, 1, 3),
        (5, 1, 1, 6),
        (0, 5, 5, 3),  # twice round and one more
        (3, 0, 1, 5),
    ],
)
def test_where_a_body_stands_after_a_loop(
    first: int, ticks: int, intended: int, after: int
) -> None:
    body = program((1, 1), (2, 1), (2, 1), (0, 1), (2, 1), (1, 1), (0, 1))
    assert step_after(body, first, ran(ticks, intended)) == after


@pytest.mark.parametrize("target", ["flat-stack/cpp", "vector/cpp", "vector/py"])
@pytest.mark.parametrize("workload", ["decode", "serving"])
def test_loops_go_on_where_the_last_one_ended(target: str, workload: str) -> None:
    """Held and saturated loops in turn, with packing; the tables are then the oracle's."""
    text = f'workload = "{workload}"\ntotal_blocks = 512\nmax_blocks_per_seq = 16\n'
    text += "concurrency = 16\nblock_size = 4\n"
    if workload == "serving":
        text += "requests = 40\nprompt_tokens = 20\noutput_tokens = 12"
    cell = parse_scenario(text, "s", "s").cells()[0]
    packed = with_packing(build_load(cell).program)
    impl = resolve(target)[0]
    manager = impl.make_manager(cell.pool_config)
    replay = bind(manager, packed, impl.call_style)
    replay.setup()
    at = 0
    for interval in (1, 1_000_000, 1, 500_000):
        at = step_after(packed, at, replay.run_paced(at, Pace(interval, 7_000_000)))
    # The oracle has no packing, which changes no table.
    body = range(packed.setup_steps, packed.setup_steps + at)
    order = [step for step in (*range(packed.setup_steps), *body) if packed.phases[step] != 2]
    check_state(manager, cell.pool_config, packed, order)


def test_shares_by_hand() -> None:
    paced = ran(
        90,
        100,
        elapsed_ns=1_000_000,
        off_clock_ns=500_000,
        busy1_ns=20_000,
        busy2_ns=30_000,
        missed=12,
        thread_cpu_ns=400_000,
        user_ns=300_000,
        kernel_ns=100_000,
    )
    paced.lateness.record(7)
    found = pace_shares.step_shares(paced)
    assert found["lateness_ns"] == Reading(histogram={"counts": [(7, 1)], "max": 7, "samples": 1})
    assert {name: entry.value for name, entry in found.items() if entry.value is not None} == {
        "busy_share": 0.02,
        "thread_cpu_share": 0.4,
        "user_cpu_share": pytest.approx(0.3),
        "kernel_cpu_share": pytest.approx(0.1),
        "missed_deadlines": 12,
        "achieved_rate": pytest.approx(90_000),
    }
    assert pace_shares.pack_shares(paced) == {"busy_share_with_pack": Reading(0.05)}
    assert pace_shares.noop_shares(paced) == {
        "noop_busy_share": Reading(0.02),
        "noop_cpu_share": Reading(0.4),
    }


def test_a_split_of_no_ticks_is_no_split() -> None:
    found = pace_shares.step_shares(ran(1, 1, elapsed_ns=10, thread_cpu_ns=5))
    assert found["thread_cpu_share"] == Reading(0.5)
    assert found["user_cpu_share"] == found["kernel_cpu_share"]
    assert found["user_cpu_share"].unavailable


def test_collections_are_counted_while_the_log_is_open() -> None:
    gc.disable()
    try:
        with CollectorLog() as log:
            gc.collect()
            gc.collect(0)
        gc.collect()
    finally:
        gc.enable()
    assert log.collections == 2
    assert 0 < log.longest_ns < log.total_ns
    log.total_ns, log.longest_ns = 300, 200
    assert pace_shares.collector_shares(log, ran(1, 1, elapsed_ns=900, off_clock_ns=100)) == {
        "gc_collections": Reading(2),
        "gc_pause_share": Reading(0.3),
        "gc_longest_pause_ns": Reading(200),
    }


def test_objects_between_steps_give_the_collector_work() -> None:
    objects = Objects(512)
    before = gc.get_threshold()
    # Other versions wait for other numbers of new objects.
    gc.set_threshold(700)
    try:
        with CollectorLog() as log:
            for _ in range(200):
                objects.run()
    finally:
        gc.set_threshold(*before)
    assert gc.isenabled()
    assert log.collections > 10


def test_a_loop_is_held_from_99_in_100_on() -> None:
    assert is_held(ran(99, 100))
    assert not is_held(ran(98, 100))
    assert deserves_another_try(ran(98, 100))
    # What is far too slow is not tried again, nor what was held.
    assert not deserves_another_try(ran(49, 100))
    assert not deserves_another_try(ran(99, 100))
    assert not falls_far_behind(ran(9, 10))
    assert falls_far_behind(ran(89, 100))


@pytest.mark.parametrize("limit", [3.0, 777.0, 123_456.0])
@pytest.mark.parametrize("guess", [1.0, 1_000.0, 1e7])
def test_the_search_comes_within_three_percent_below_the_limit(limit: float, guess: float) -> None:
    found = highest_rate(lambda rate: rate <= limit, guess, lambda: False)
    assert found is not None
    assert limit / 1.03 <= found <= limit


def test_a_loop_that_fails_by_chance_does_not_mislead_the_search() -> None:
    luck = iter(range(10_000))

    def holds(rate: float) -> bool:
        return rate <= 500 and next(luck) % 5 == 4  # four of five loops are pre-empted

    found = highest_rate(holds, 100.0, lambda: False)
    assert found is not None
    assert 500 / 1.03 <= found <= 500


def test_a_search_out_of_time_tells_what_it_has() -> None:
    left: Iterator[bool] = iter([False, False, True])
    assert highest_rate(lambda rate: True, 100.0, lambda: next(left)) == 125.0
    assert highest_rate(lambda rate: True, 100.0, lambda: True) is None


def test_streamed_bytes_fit_the_time() -> None:
    assert bytes_that_fit(4096, 5_000, lambda size: size) == 4096
    assert bytes_that_fit(4096, 1_500, lambda size: size) == 1024
    assert bytes_that_fit(4096, 10, lambda size: size) == 0


def test_what_may_lie_between_steps() -> None:
    assert make_between("idle", 0, 1_000, 8, native=True) == (None, 0)
    with pytest.raises(BetweenError, match="per-op or per-step"):
        make_between("objects", 0, 1_000, 8, native=True)
    between, streamed = make_between("stream", 1 << 16, 10**9, 8, native=True)
    assert (between.bytes, streamed) == (1 << 16, 1 << 16)  # type: ignore[union-attr]


def test_intervals_of_rates() -> None:
    assert [rate.interval_of(one) for one in (0.001, 2_000, 1e6, 3e6, 1e7)] == [
        10**12,
        500_000,
        1_000,
        333,
        100,
    ]


def test_a_round_may_take_as_long_as_its_loops() -> None:
    assert rate.extra_time_s({"models": ("step",)}) == 0
    # Twice a loop with its second try, a third of one without steps, 1.5 s of searching.
    params = {"models": ("step", "rate"), "rate_seconds": 30}
    assert rate.extra_time_s(params) == 4 * 30 + 10 + 1.5


def test_psutil_is_asked_of_a_loop_that_is_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    class Process:
        times = iter([(1.0, 0.5), (1.6, 0.9)])

        def cpu_times(self) -> SimpleNamespace:
            user, system = next(self.times)
            return SimpleNamespace(user=user, system=system)

    monkeypatch.setattr(psutil, "Process", Process)
    monkeypatch.setattr(rate, "perf_counter", iter([10.0, 30.0]).__next__)
    body: Any = SimpleNamespace(run=lambda pace: "ran")
    paced, found = rate._cross_checked(body, Pace(1, 1), 20)
    assert paced == "ran"
    assert found["psutil_cpu_share"].number == pytest.approx(0.05)
    _, short = rate._cross_checked(body, Pace(1, 1), 9.9)
    assert short["psutil_cpu_share"].unavailable.endswith("set rate_seconds to at least 10")
