"""Change points on made-up series, and which runs stand side by side in a history."""

from __future__ import annotations

import random
from typing import Any

import pytest

from blockmark.runs.codec import parse_run
from blockmark.runs.model import Run
from blockmark.verdict.change_points import change_points, exact_changes
from blockmark.verdict.errors import NothingInCommon, UnknownName
from blockmark.verdict.history import make_history
from run_factory import find_cell, make_run, scalar


def noisy(rng: random.Random, level: float, rounds: int = 5) -> list[float]:
    """Rounds of a least block: never below their level, now and then far above it."""
    return [
        level * (1.0 + 0.01 * rng.expovariate(1.0) + (rng.random() < 0.05) * rng.random())
        for _ in range(rounds)
    ]


@pytest.mark.parametrize("at", [1, 2, 5, 8, 9])
@pytest.mark.parametrize("factor", [1.08, 0.9])
def test_a_step_is_found_at_the_right_run(at: int, factor: float) -> None:
    rng = random.Random(at)
    rounds = [noisy(rng, 1000.0 * (factor if run >= at else 1.0), 8) for run in range(10)]
    [found] = change_points(rounds)
    assert found.index == at
    assert found.ratio == pytest.approx(factor, rel=0.02)
    assert found.p < 0.01


def test_two_runs_by_hand() -> None:
    # Five rounds above five: 1 of C(10, 5) = 252 orders, two-sided 2/252; one place was tried.
    [found] = change_points([[100.0, 101, 102, 103, 104], [110.0, 111, 112, 113, 114]])
    assert found.index == 1
    assert found.p == pytest.approx(2 / 252)
    # Lower quartiles 101 and 111.
    assert found.ratio == pytest.approx(111 / 101)
    # Three runs, the last one apart: 2 / C(15, 5) = 2/3003, times two places.
    [found] = change_points([[100.0] * 5, [100.0] * 5, [110.0] * 5])
    assert found.index == 2
    assert found.p == pytest.approx(2 * 2 / 3003)
    # Four rounds a side: 2/70 is more than one per cent.
    assert change_points([[100.0] * 4, [110.0] * 4]) == ()


def test_up_and_down_again_are_two_changes() -> None:
    rng = random.Random(3)
    levels = [100.0] * 5 + [115.0] * 4 + [100.0] * 6
    found = change_points([noisy(rng, level) for level in levels])
    assert [one.index for one in found] == [5, 9]
    assert [one.ratio for one in found] == pytest.approx([1.15, 1 / 1.15], rel=0.02)


def test_noise_is_no_change_even_without_a_margin() -> None:
    """About one per cent of the series; of 300 more than 10 have a chance below 0.1 %."""
    rng = random.Random(1)
    alarms = sum(
        bool(change_points([noisy(rng, 100.0) for _ in range(10)], margin=0.0)) for _ in range(300)
    )
    assert alarms <= 10


def test_a_change_within_the_margin_is_none() -> None:
    rounds = [[100.0] * 5] * 5 + [[102.0] * 5] * 5
    assert change_points(rounds) == ()
    [found] = change_points(rounds, margin=0.01)
    assert found.index == 5


def test_a_slow_drift_is_found_though_no_two_runs_differ() -> None:
    rng = random.Random(4)
    found = change_points([noisy(rng, 100.0 * 1.01**run) for run in range(20)])
    assert found
    assert all(one.ratio > 1.03 for one in found)


def test_long_series_and_odd_ones() -> None:
    rng = random.Random(2)
    levels = [100.0 if run < 40 else 90.0 for run in range(80)]
    [found] = change_points([noisy(rng, level, 12) for level in levels])
    assert found.index == 40
    assert change_points([]) == change_points([[5.0]]) == change_points([[0.0] * 9] * 9) == ()
    [found] = change_points([[0.0] * 9, [5.0] * 9])
    assert found.ratio == float("inf")
    [found] = change_points([[1.0] * 300] + [[2.0] * 5] * 2)
    assert found.index == 1
    with pytest.raises(ValueError, match="no rounds"):
        change_points([[1.0], []])


def test_counts_change_where_no_round_reaches_the_run_before() -> None:
    found = exact_changes([[4.0, 4.0], [4.0, 5.0], [6.0, 6.0], [6.0, 6.0], [3.0, 3.0]])
    assert [(one.index, one.ratio) for one in found] == [(2, 1.5), (4, 0.5)]
    assert exact_changes([[0.0], [0.0]]) == ()
    assert exact_changes([[0.0], [1.0]])[0].ratio == float("inf")


def run(day: int, step: float = 1000.0, impl: str = "vector/cpp", **changes: Any) -> Run:
    content = make_run(created=f"2026-11-{day:02d}T12:00:00+00:00", run_id=f"{day:04d}", **changes)
    find_cell(content, impl)["metrics"]["step_ns"] = scalar([step] * 5)
    return parse_run(content)


def test_runs_are_in_the_order_of_their_creation_and_a_change_is_at_its_run() -> None:
    runs = [run(day, 1000.0 if day < 4 else 1200.0) for day in (5, 2, 4, 1, 3)]
    history = make_history(runs, "step_ns", impls=["vector/cpp"])
    assert [one.run_id for one in history.runs] == ["0001", "0002", "0003", "0004", "0005"]
    first = history.series[0]
    assert first.cell.impl == "vector/cpp"
    [change] = first.changes
    assert change.index == 3
    assert change.ratio == pytest.approx(1.2)


def test_the_order_of_time_zones_is_that_of_time() -> None:
    early = parse_run(make_run(created="2026-11-02T01:00:00+09:00", run_id="early"))
    late = parse_run(make_run(created="2026-11-01T18:00:00+00:00", run_id="late"))
    history = make_history([late, early], "step_ns")
    assert [one.run_id for one in history.runs] == ["early", "late"]


def test_another_machine_and_the_same_run_twice_are_left_out() -> None:
    machine = make_run()["machine"] | {"cpu_model": "Other"}
    elsewhere = run(1, machine=machine)
    history = make_history([elsewhere, run(2), run(2), run(3)], "step_ns")
    assert [one.run_id for one in history.runs] == ["0002", "0003"]
    assert [(one.run_id, reason) for one, reason in history.left_out] == [
        ("0001", "other machine: cpu_model is Other there and AMD EPYC (Zen 3) in the last run"),
        ("0002", "named twice"),
    ]


def test_another_build_stays_and_is_told() -> None:
    build = make_run()["build"] | {"compiler": "g++ 14"}
    history = make_history([run(1, build=build), run(2)], "step_ns")
    assert len(history.runs) == 2
    [difference] = history.differences[0]
    assert (difference.flag, difference.before) == ("other build", "g++ 14")
    assert history.differences[1] == ()


def test_cells_of_another_program_have_no_value_and_a_reason() -> None:
    content = make_run(created="2026-11-01T12:00:00+00:00")
    content["settings"][0]["facts"]["program_digest"] = "other"
    history = make_history([parse_run(content), run(2)], "step_ns", impls=["vector/cpp"])
    first = next(one for one in history.series if '"block_size":16' in one.cell.setting.params)
    assert first.values[0] is None
    assert first.reasons == ("other program: other, not d0016", "")
    assert first.changes == ()


def test_a_cell_that_came_later_has_no_value_before() -> None:
    before = parse_run(make_run(impls=("vector/cpp",), created="2026-11-01T12:00:00+00:00"))
    history = make_history([before, run(2)], "step_ns", impls=["flat-stack/cpp"])
    assert {one.reasons for one in history.series} == {("not in this run", "")}


def test_controls_only_where_named_and_unknown_names_are_errors() -> None:
    names = {one.cell.impl for one in make_history([run(1)], "step_ns").series}
    assert "vector/cpp" in names
    assert "null/cpp" not in names
    named = make_history([run(1)], "step_ns", impls=["null/cpp"])
    assert {one.cell.impl for one in named.series} == {"null/cpp"}
    with pytest.raises(UnknownName, match="did you mean 'vector/cpp'"):
        make_history([run(1)], "step_ns", impls=["vectr/cpp"])
    with pytest.raises(UnknownName, match="no metric 'stepns'"):
        make_history([run(1)], "stepns")
    with pytest.raises(NothingInCommon, match="no value of step_ns"):
        make_history([run(1)], "step_ns", impls=["raw-array/cpp"])


def test_quantiles_and_counts_have_a_history_too() -> None:
    first, second = run(1), run(2)
    assert make_history([first, second], "step_latency_ns.p99").series
    content = make_run(created="2026-11-03T12:00:00+00:00")
    metrics = find_cell(content, "flat-stack/cpp")["metrics"]
    metrics["heap_allocations_per_step"] = scalar([1.0] * 5, "count", "count")
    history = make_history(
        [first, second, parse_run(content)], "heap_allocations_per_step", impls=["flat-stack/cpp"]
    )
    assert [len(one.changes) for one in history.series] == [1, 0]
    assert history.series[0].changes[0].index == 2
