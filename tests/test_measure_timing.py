"""Calibration, least blocks, latency: against a replay whose times are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from blockmark.measure.probes.memory import contiguity, peak_rss_bytes
from blockmark.measure.probes.timing import (
    Budget,
    Cursor,
    calibrate,
    measure_cold,
    measure_costs,
    measure_latency,
    warm_up,
)
from blockmark.runs.histogram import Histogram
from blockmark.workload.program import Op, Program, ProgramBuilder


def program(*, period: int = 4, body: int = 8, phases: int = 1, units: Any = None) -> Program:
    builder = ProgramBuilder()
    builder.step()
    builder.end_setup()
    for step in range(body):
        builder.step(phase=1 + step % phases)
        builder.run(Op.APPEND, 0)
    return builder.build(period=period, units=units or {1: float(period)})


@dataclass
class FakeReplay:
    """Every step takes `ns`; every call takes `noise` more, in turn."""

    ns: int = 1000
    noise: tuple[int, ...] = (0,)
    phases: int = 1
    calls: list[tuple[int, int]] = field(default_factory=list)

    def setup(self) -> None: ...

    def run(self, first: int, steps: int) -> tuple[int, int]:
        extra = self.noise[len(self.calls) % len(self.noise)]
        self.calls.append((first, steps))
        if self.phases == 2:
            return steps // 2 * self.ns + extra, steps // 2 * 3 * self.ns + extra
        return steps * self.ns + extra, 0

    def run_each(self, first: int, steps: int, one: Any, two: Any) -> None:
        self.calls.append((first, steps))
        for _ in range(steps):
            one.record(self.ns)

    def run_cold(self, first: int, steps: int, evictor: Any) -> list[int]:
        for _ in range(steps):
            evictor.run()
        return [self.ns] * steps

    def allocations(self, first: int, steps: int) -> tuple[int, int]:
        return 0, 0


def test_a_block_is_whole_periods_of_about_the_wanted_length() -> None:
    cursor = Cursor(FakeReplay(ns=1000), program(period=4))
    # 1,000 steps of 1 us, a multiple of 4.
    assert calibrate(cursor, 1_000_000) == (1000, 1_000_000)
    slow = FakeReplay(ns=5_000_000)
    assert calibrate(Cursor(slow, program(period=4)), 1_000_000) == (4, 20_000_000)
    assert len(slow.calls) == 1, "a long period is run once"


def test_the_least_block_is_per_unit_and_noise_stays_in_the_mean() -> None:
    replay = FakeReplay(ns=1000, noise=(0, 600_000))
    cost = measure_costs(Cursor(replay, program(period=4)), 10, 1_000_000, 10)[1]
    # 1,000 steps a block, one unit a step: 1,000 ns, and half of the blocks 600 ns more.
    assert cost.least == pytest.approx(1000.0)
    assert cost.mean == pytest.approx(1300.0)


def test_two_phases_have_their_own_units() -> None:
    two = program(period=4, phases=2, units={1: 2.0, 2: 4.0})
    costs = measure_costs(Cursor(FakeReplay(phases=2), two), 3, 1_000_000, 3)
    # Per period: two steps of 1,000 ns for 2 units, two of 3,000 ns for 4 units.
    assert costs[1].least == pytest.approx(1000.0)
    assert costs[2].least == pytest.approx(1500.0)


def test_the_cursor_goes_round_the_body() -> None:
    replay = FakeReplay()
    cursor = Cursor(replay, program(body=8))
    for steps in (4, 8, 4, 12, 4):
        cursor.run(steps)
    assert [first for first, _ in replay.calls] == [0, 4, 4, 0, 4]


def test_warm_up_is_one_turn_or_the_time_allowed() -> None:
    replay = FakeReplay()
    warm_up(Cursor(replay, program(period=4, body=64)), 10**10)
    assert sum(steps for _, steps in replay.calls) == 64
    replay = FakeReplay()
    warm_up(Cursor(replay, program(period=4, body=64)), 0)
    assert replay.calls == []


@pytest.mark.parametrize(
    ("step_ns", "least", "most"),
    [
        (1_000.0, 20_000, 20_010),  # never more than most_steps
        (40_000.0, 1_000, 1_110),  # as long as the time allows
        (100_000.0, 1_100, 1_110),  # at least enough for p99, if six times the time does
        (1_000_000.0, 240, 250),
    ],
)
def test_a_distribution_has_as_many_steps_as_the_time_allows(
    step_ns: float, least: int, most: int
) -> None:
    replay, histogram = FakeReplay(ns=777), Histogram()
    measure_latency(Cursor(replay, program()), Budget(), step_ns, histogram)
    assert least <= histogram.samples <= most
    assert histogram.max_value == 777


def test_a_cold_sample_is_one_step() -> None:
    class Evictor:
        runs = 0

        def run(self) -> None:
            self.runs += 1

    evictor, histogram = Evictor(), Histogram()
    cursor = Cursor(FakeReplay(ns=500), program(period=4))
    costs = measure_cold(cursor, Budget(cold_blocks=3), evictor, histogram)
    assert costs[1].least == pytest.approx(500.0)
    assert evictor.runs == histogram.samples == 12


@pytest.mark.parametrize(
    ("tables", "length", "descriptors"),
    [
        ([[0, 1, 2, 3]], 4.0, 1.0),
        ([[3, 2, 1, 0]], 1.0, 4.0),
        ([[0, 1], [2, 3]], 2.0, 1.0),  # a run ends with its table
        ([[5, 6, 9, 10, 11, 2]], 2.0, 3.0),
        ([[5, 6], [9, 3, 4], []], 5 / 3, 1.5),
    ],
)
def test_contiguity_by_hand(tables: list[list[int]], length: float, descriptors: float) -> None:
    assert contiguity(tables) == (length, descriptors)


def test_contiguity_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no block"):
        contiguity([[], []])


def test_peak_is_this_process_and_grows(tmp_path: Any) -> None:
    before = peak_rss_bytes()
    block = bytearray(64 << 20)
    block[::4096] = b"x" * len(block[::4096])
    after = peak_rss_bytes()
    assert before is not None
    assert after is not None
    assert after >= before
    assert after > len(block)
    assert peak_rss_bytes(tmp_path / "none") is None


def test_long_blocks_are_fewer_but_never_less_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr("blockmark.measure.probes.timing.perf_counter_ns", lambda: now[0])

    class Slow(FakeReplay):
        def run(self, first: int, steps: int) -> tuple[int, int]:
            now[0] += steps * self.ns
            return super().run(first, steps)

    # A period takes 6 ms where blocks of 4 ms were wanted: 36 of 60 ms are over after six.
    slow = Slow(ns=1_500_000)
    measure_costs(Cursor(slow, program(period=4)), 10, 4_000_000, 3)
    assert len(slow.calls) == 3 + 10  # three to calibrate
    slow = Slow(ns=1_900_000)
    measure_costs(Cursor(slow, program(period=4)), 10, 4_000_000, 3)
    assert 3 + 3 <= len(slow.calls) < 3 + 10
    quick = Slow(ns=1000)
    measure_costs(Cursor(quick, program(period=4)), 10, 1_000_000, 3)
    assert [steps for _, steps in quick.calls].count(1000) == 10


def test_a_long_period_is_timed_in_segments_each_at_its_least() -> None:
    class Uneven(FakeReplay):
        """Step i takes i ms, and every third call loses 50 ms."""

        def run(self, first: int, steps: int) -> tuple[int, int]:
            self.calls.append((first, steps))
            lost = 50_000_000 if len(self.calls) % 3 == 0 else 0
            return sum(((first + i) % 8 + 1) * 1_000_000 for i in range(steps)) + lost, 0

    replay = Uneven()
    whole = program(period=8, body=8, units={1: 8.0})
    cost = measure_costs(Cursor(replay, whole), 10, 5_000_000, 4)[1]
    # 1 + 2 + ... + 8 = 36 ms a period, in 8 segments of one step; none is left disturbed.
    assert cost.least == pytest.approx(36_000_000 / 8)
    assert cost.mean > cost.least
    assert {steps for _, steps in replay.calls[3:]} == {1}
