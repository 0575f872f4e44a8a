"""Implementations within one run, and the same cells in two runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blockmark.runs.codec import parse_run
from blockmark.runs.model import CellKey
from blockmark.verdict.compare import (
    CellChange,
    ImplementationComparison,
    ImplementationRatio,
    compare_implementations,
    compare_runs,
)
from blockmark.verdict.errors import NothingInCommon, UnknownName
from run_factory import find_cell, make_run, scalar

Content = dict[str, Any]
CPP = ("hash-map/cpp", "vector/cpp", "flat-stack/cpp", "null/cpp")


def key(impl: str, block_size: int = 16) -> CellKey:
    params = {"block_size": block_size, "total_blocks": 65_536, "concurrency": 256}
    return CellKey.of("decode", params, impl)


def set_rounds(content: Content, impl: str, metric: str, values: list[float]) -> None:
    """Give a metric these rounds in the first setting, as a run would hold them."""
    old = find_cell(content, impl)["metrics"][metric]
    find_cell(content, impl)["metrics"][metric] = scalar(values, old["unit"], old["source"])


# Within one run.


def row_of(comparison: ImplementationComparison, impl: str, metric: str) -> ImplementationRatio:
    (found,) = (
        row
        for row in comparison.rows
        if (row.impl, row.metric, row.setting) == (impl, metric, key(impl).setting)
    )
    return found


def test_each_implementation_is_set_against_the_reference() -> None:
    content = make_run(impls=CPP)
    set_rounds(content, "flat-stack/cpp", "step_ns", [1000.0, 1010.0, 1020.0, 1000.0, 1000.0])
    set_rounds(content, "hash-map/cpp", "step_ns", [15000.0, 15100.0, 15000.0, 15000.0, 16000.0])
    set_rounds(content, "vector/cpp", "step_ns", [990.0, 1200.0, 1010.0, 1000.0, 1005.0])
    comparison = compare_implementations(parse_run(content))
    assert comparison.reference == "flat-stack/cpp"
    dear = row_of(comparison, "hash-map/cpp", "step_ns")
    assert dear.ratio.value == 15.0
    assert dear.reading == "worse"
    assert dear.reference_value.value == 1000.0
    assert dear.value.value == 15000.0
    near = row_of(comparison, "vector/cpp", "step_ns")
    assert near.ratio.value == 1.0
    assert near.reading == "unclear"
    assert all(row.impl != "flat-stack/cpp" for row in comparison.rows)


def test_every_setting_and_every_judged_metric_has_its_row() -> None:
    comparison = compare_implementations(parse_run(make_run(impls=CPP)))
    vector = [row for row in comparison.rows if row.impl == "vector/cpp"]
    # 15 costs that are not derived, p50 to p99.9, 2 counts, 3 sizes, in 2 settings.
    assert len(vector) == 2 * (15 + 4 + 2 + 3)
    assert "step_latency_ns.p99" in comparison.metrics
    assert "step_latency_ns.max" not in comparison.metrics
    for left_out in ("pool_run_length", "cpu_share_of_wall", "busy_share_estimated"):
        assert left_out not in comparison.metrics


def test_a_control_has_ratios_but_no_reading_whichever_side_it_is_on() -> None:
    run = parse_run(make_run(impls=CPP))
    floor = row_of(compare_implementations(run), "null/cpp", "step_ns")
    assert floor.control
    assert floor.reading is None
    assert floor.ratio.value is not None
    assert floor.ratio.value < 0.5
    against = compare_implementations(run, reference="null/cpp", metrics=["step_ns"])
    assert {row.impl for row in against.rows} == set(CPP) - {"null/cpp"}
    assert all(row.control and row.reading is None for row in against.rows)
    assert all((row.ratio.value or 0) > 1 for row in against.rows)


def test_other_profiles_and_other_ways_of_calling_are_marked() -> None:
    comparison = compare_implementations(parse_run(make_run()), metrics=["step_ns"])
    marks = {
        row.impl: (row.same_profile, row.same_call_style)
        for row in comparison.rows
        if row.setting == key("").setting
    }
    assert marks["vector/cpp"] == (True, True)
    assert marks["open-hash+lru/cpp"] == (False, True)
    assert marks["vector/py"] == (True, False)
    assert marks["null/cpp"] == (False, True)


def test_what_was_not_measured_is_listed_with_its_reason() -> None:
    comparison = compare_implementations(parse_run(make_run()))
    left = {(entry.cell, entry.metric): entry.reason for entry in comparison.not_compared}
    assert left[key("mine"), None].startswith("wrong: step 12, operation 3104")
    assert left[key("mine", 1), None].startswith("failed: round 2")
    assert left[key("open-hash+lru/cpp", 1), None].startswith("timeout: ")
    assert left[key("prefix-tree"), None].startswith("unavailable: it has no `fork`")
    assert left[key("vector/py"), "step_latency_ns.p99.9"].startswith("needs 10000 samples")
    # A floor that serves only some models is no failure.
    assert not any(cell.impl == "raw-array/cpp" for cell, _ in left)


def test_a_reference_that_failed_in_one_setting_is_used_in_the_other() -> None:
    run = parse_run(make_run())
    comparison = compare_implementations(run, reference="open-hash+lru/cpp")
    assert {row.setting for row in comparison.rows} == {key("").setting}
    reasons = {entry.cell: entry.reason for entry in comparison.not_compared if not entry.metric}
    assert reasons[key("open-hash+lru/cpp", 1)] == "timeout: round 1: no answer within 60 s"


def test_two_sources_of_one_metric_are_not_compared() -> None:
    content = make_run(impls=CPP)
    find_cell(content, "vector/cpp")["metrics"]["minor_faults"]["source"] = "pmu"
    comparison = compare_implementations(parse_run(content), metrics=["minor_faults"])
    left = [(entry.cell, entry.reason) for entry in comparison.not_compared]
    assert left == [(key("vector/cpp"), "pmu against software")]


def test_the_reference_is_the_fastest_tier_of_flat_stack_or_the_first_measured() -> None:
    def reference(*impls: str) -> str:
        return compare_implementations(parse_run(make_run(impls=impls))).reference

    assert reference("vector/py", "flat-stack/numpy", "flat-stack/py") == "flat-stack/numpy"
    assert reference("null/cpp", "mine", "vector/cpp", "hash-map/cpp") == "vector/cpp"


def test_unknown_names_are_errors_with_the_nearest_one() -> None:
    run = parse_run(make_run(impls=CPP))
    for call, message in (
        ({"reference": "vectr/cpp"}, "no implementation 'vectr/cpp' in run 0001; did you mean"),
        ({"metrics": ["step_us"]}, "no metric 'step_us' in the run; did you mean 'step_ns'"),
        ({"metrics": ["step_latency_ns.p98"]}, "no quantile 'p98'"),
        ({"metrics": ["step_ns.p99"]}, "it has no quantiles"),
        ({"metrics": ["zzz"]}, "no metric 'zzz' in the run$"),
    ):
        with pytest.raises(UnknownName, match=message):
            compare_implementations(run, **call)


@pytest.mark.parametrize("impls", [("vector/cpp",), ("mine",), ("null/cpp", "raw-array/cpp")])
def test_a_run_with_nothing_to_compare_says_so(impls: tuple[str, ...]) -> None:
    with pytest.raises(NothingInCommon, match="run 0001"):
        compare_implementations(parse_run(make_run(impls=impls)))


def test_the_same_run_gives_the_same_intervals() -> None:
    run = parse_run(make_run(impls=CPP))
    assert compare_implementations(run) == compare_implementations(run)


# Two runs.


def change(before: Content, now: Content, metric: str = "step_ns") -> CellChange:
    comparison = compare_runs(parse_run(before), parse_run(now), metrics=[metric])
    (found,) = (row for row in comparison.rows if row.cell == key("vector/cpp"))
    return found


def two_runs(metric: str, old: list[float], new: list[float]) -> tuple[Content, Content]:
    before, now = make_run(impls=CPP), make_run(impls=CPP, run_id="0002")
    set_rounds(before, "vector/cpp", metric, old)
    set_rounds(now, "vector/cpp", metric, new)
    return before, now


SEVEN = [100.0, 101.0, 100.5, 102.0, 100.2, 103.0, 100.9]


@pytest.mark.parametrize(
    ("metric", "reference", "own", "ratio", "reading"),
    [
        # slower, faster, no difference to be seen, identical
        ("step_ns", SEVEN, [value * 1.2 for value in SEVEN], 1.2, "worse"),
        ("step_ns", SEVEN, [value * 0.5 for value in SEVEN], 0.5, "better"),
        ("step_ns", SEVEN, SEVEN[::-1], 1.0, "unclear"),
        ("step_ns", [5.0] * 5, [5.0] * 5, 1.0, "same"),
        # without variance, and 2 % apart
        ("step_ns", [100.0] * 5, [102.0] * 5, 1.02, "worse"),
        # too few rounds: a ratio and nothing to judge it by
        ("step_ns", [100.0], [150.0], 1.5, None),
        ("step_ns", SEVEN, [200.7], 2.0, None),
        ("step_ns", [100.0] * 3, [150.0] * 3, 1.5, None),
        ("step_ns", [100.0] * 4, [150.0] * 4, 1.5, None),
        # unequal rounds: 2 / C(15, 3) is below one in a hundred
        ("step_ns", [100.0] * 3, [50.0] * 12, 0.5, "better"),
        # zeros
        ("step_ns", [0.0] * 5, [5.0] * 5, None, None),
        ("step_ns", [5.0] * 5, [0.0] * 5, None, None),
        ("step_ns", [0.0] * 5, [0.0] * 5, 1.0, "same"),
    ],
)
def test_golden_pairs_of_one_run(
    metric: str,
    reference: list[float],
    own: list[float],
    ratio: float | None,
    reading: str | None,
) -> None:
    content = make_run(impls=CPP)
    set_rounds(content, "flat-stack/cpp", metric, reference)
    set_rounds(content, "vector/cpp", metric, own)
    found = row_of(compare_implementations(parse_run(content)), "vector/cpp", metric)
    assert found.ratio.value == (None if ratio is None else pytest.approx(ratio, rel=1e-3))
    assert found.reading == reading
    if ratio is None:
        assert found.ratio.reason in ("a side is below resolution", "the reference is zero")


@pytest.mark.parametrize(
    ("metric", "old", "new", "ratio", "reading"),
    [
        # A time reads as nothing: the machine of another hour is another machine.
        ("step_ns", SEVEN, [value * 1.2 for value in SEVEN], 1.2, None),
        ("step_ns", [100.0] * 30, [150.0] * 30, 1.5, None),
        ("heap_allocations_per_step", [0.0] * 5, [5.0] * 5, None, "worse"),
        ("heap_allocations_per_step", [5.0] * 5, [0.0] * 5, 0.0, "better"),
        ("heap_allocations_per_step", [0.0], [0.0], 1.0, "same"),
        ("heap_allocations_per_step", [16.0], [17.0], 1.0625, "worse"),
        ("minor_faults", [1.0, 5.0, 2.0], [2.0, 3.0, 9.0], 1.5, "unclear"),
        ("table_bytes", [4096.0] * 2, [2048.0] * 4, 0.5, "better"),
        # a proof is never judged
        ("pool_run_length", [1.0, 1.0], [2.0, 2.0], 2.0, None),
    ],
)
def test_golden_pairs_of_two_runs(
    metric: str, old: list[float], new: list[float], ratio: float | None, reading: str | None
) -> None:
    found = change(*two_runs(metric, old, new), metric)
    assert found.ratio is not None
    assert found.ratio.value == (None if ratio is None else pytest.approx(ratio, rel=1e-3))
    assert found.reading == reading
    assert found.incomparable is None
    if metric == "step_ns":
        assert (found.ratio.low, found.ratio.high) == (None, None)
    if ratio is None:
        assert found.ratio.reason == "the reference is zero"


def test_a_quantile_is_compared_by_its_own_rounds() -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP, slowdown={"vector/cpp": 2.0})
    found = change(before, now, "step_latency_ns.p99")
    expected = [
        find_cell(run, "vector/cpp")["metrics"]["step_latency_ns"]["quantiles"]["p99"]["value"]
        for run in (now, before)
    ]
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(expected[0] / expected[1])


def test_a_ratio_says_how_its_lower_side_stands_to_the_empty_loop() -> None:
    content = make_run(impls=CPP)
    set_rounds(content, "null/cpp", "step_ns", [300.0, 305.0, 310.0, 315.0, 320.0])
    set_rounds(content, "flat-stack/cpp", "step_ns", [1000.0] * 5)
    set_rounds(content, "vector/cpp", "step_ns", [299.0] * 5)
    set_rounds(content, "hash-map/cpp", "step_ns", [330.0] * 5)
    comparison = compare_implementations(parse_run(content), metrics=["step_ns"])
    floors = {impl: row_of(comparison, impl, "step_ns").floor for impl in CPP[:2]}
    assert floors == {"vector/cpp": "below", "hash-map/cpp": "in its noise"}


def test_a_reuse_order_that_changed_is_told() -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP)
    for info in now["implementations"]:
        if info["name"] == "vector/cpp":
            info["reuse_order"] = "FIFO"
    comparison = compare_runs(parse_run(before), parse_run(now), metrics=["step_ns"])
    told = [(one.flag, one.fact, one.now) for one in comparison.differences]
    assert told == [("other reuse order", "vector/cpp", "FIFO")]


def test_cells_of_one_run_alone_are_listed() -> None:
    before = make_run(impls=("vector/cpp", "hash-map/cpp"))
    now = make_run(impls=("vector/cpp", "flat-stack/cpp"))
    comparison = compare_runs(parse_run(before), parse_run(now))
    assert comparison.only_before == (key("hash-map/cpp"), key("hash-map/cpp", 1))
    assert comparison.only_now == (key("flat-stack/cpp"), key("flat-stack/cpp", 1))
    assert {row.cell.impl for row in comparison.rows} == {"vector/cpp"}
    assert comparison.flags == ()


def test_a_cell_that_is_not_ok_in_one_run_is_listed_and_not_compared() -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP)
    find_cell(now, "vector/cpp").update(status="wrong", reason="step 3", metrics={})
    find_cell(before, "hash-map/cpp").update(status="timeout", reason="slow", metrics={})
    comparison = compare_runs(parse_run(before), parse_run(now), metrics=["step_ns"])
    left = {entry.cell: entry.reason for entry in comparison.not_compared}
    assert left == {
        key("vector/cpp"): "now: wrong: step 3",
        key("hash-map/cpp"): "before: timeout: slow",
    }
    assert key("vector/cpp") not in {row.cell for row in comparison.rows}


def test_a_metric_of_one_run_alone_is_listed() -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP)
    del find_cell(before, "vector/cpp")["metrics"]["append_ns"]
    find_cell(now, "hash-map/cpp")["metrics"]["append_ns"] = {
        "value": None,
        "unit": "ns",
        "source": "clock",
        "unavailable": "no append",
    }
    comparison = compare_runs(parse_run(before), parse_run(now), metrics=["append_ns"])
    left = {entry.cell: (entry.metric, entry.reason) for entry in comparison.not_compared}
    assert left == {
        key("vector/cpp"): ("append_ns", "before: not measured"),
        key("hash-map/cpp"): ("append_ns", "now: no append"),
    }


def spoil_digest(content: Content) -> None:
    content["settings"][0]["facts"]["program_digest"] = "other"


def spoil_source(content: Content) -> None:
    find_cell(content, "vector/cpp")["metrics"]["step_ns"]["source"] = "pmu"


def spoil_call_style(content: Content) -> None:
    find_cell(content, "vector/cpp")["call_style"] = "per-op"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (spoil_digest, "other program: digest d0016 before, other now"),
        (spoil_source, "source clock before, pmu now"),
        (spoil_call_style, "called native before, per-op now"),
        (lambda c: c["build"].update(replay_version=2), "other replay: version 1 before, 2 now"),
    ],
)
def test_what_did_not_do_the_same_work_is_incomparable(
    spoil: Callable[[Content], None], reason: str
) -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP)
    before["build"]["replay_version"] = now["build"]["replay_version"] = 1
    assert change(before, now).incomparable is None
    spoil(now)
    found = change(before, now)
    assert found.incomparable == reason
    assert (found.ratio, found.reading) == (None, None)
    assert found.before.value is not None


def test_another_program_in_one_setting_leaves_the_other_comparable() -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP)
    spoil_digest(now)
    comparison = compare_runs(parse_run(before), parse_run(now), metrics=["step_ns"])
    assert {row.cell.setting: row.incomparable is None for row in comparison.rows} == {
        key("").setting: False,
        key("", 1).setting: True,
    }


def test_on_another_machine_times_have_ratios_but_only_counts_are_read() -> None:
    before, now = two_runs("heap_allocations_per_step", [1.0] * 5, [2.0] * 5)
    set_rounds(now, "vector/cpp", "step_ns", [9e9] * 5)
    now["machine"]["cpu_model"] = "another"
    assert compare_runs(parse_run(before), parse_run(now)).flags == ("other machine",)
    timing = change(before, now)
    assert timing.ratio is not None
    assert timing.ratio.value is not None
    assert timing.reading is None
    assert change(before, now, "heap_allocations_per_step").reading == "worse"


def test_controls_have_no_reading_across_runs() -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP, run_id="0002")
    metric = "heap_allocations_per_step"
    comparison = compare_runs(parse_run(before), parse_run(now), metrics=[metric])
    for row in comparison.rows:
        assert row.control == (row.cell.impl == "null/cpp")
        assert (row.reading is None) == row.control


def test_a_quick_run_is_flagged() -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP, quick=True)
    assert compare_runs(parse_run(before), parse_run(now)).flags == ("quick",)


def other_params(content: Content, **params: Any) -> Content:
    for entry in (*content["settings"], *content["cells"]):
        entry["params"] |= params
    return content


def renamed_scenario(content: Content) -> Content:
    content["scenarios"][0]["name"] = "beam"
    for entry in (*content["settings"], *content["cells"]):
        entry["scenario"] = "beam"
    return content


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (other_params(make_run(impls=CPP), concurrency=512), "concurrency = 256 before, 512 now"),
        (other_params(make_run(impls=CPP), heap="aged"), "heap = nothing before, aged now"),
        (renamed_scenario(make_run(impls=CPP)), "scenario decode before, beam now"),
        (
            make_run(impls=("vector/py", "hash-map/py")),
            "implementations flat-stack/cpp, hash-map/cpp, null/cpp, vector/cpp before, "
            "hash-map/py, vector/py now",
        ),
        (make_run(cells=[]), "run 0001 has no cell at all"),
    ],
)
def test_runs_without_a_common_cell_say_what_keeps_them_apart(now: Content, why: str) -> None:
    with pytest.raises(NothingInCommon) as caught:
        compare_runs(parse_run(make_run(impls=CPP)), parse_run(now))
    assert str(caught.value) == f"runs 0001 and 0001 have no cell in common: {why}"


def test_runs_that_share_cells_but_nothing_measured_say_so() -> None:
    run = parse_run(make_run(impls=("mine",)))
    with pytest.raises(
        NothingInCommon, match=r"have cells in common \(2\), but nothing .*\(before: wrong: "
    ):
        compare_runs(run, run)


def test_a_metric_that_neither_run_has_is_an_error() -> None:
    run = parse_run(make_run(impls=CPP))
    with pytest.raises(UnknownName, match="did you mean 'take_ns'"):
        compare_runs(run, run, metrics=["tak_ns"])


def test_a_rate_is_compared_by_its_best_quarter_and_more_is_better() -> None:
    now = make_run(impls=CPP)
    before = make_run(impls=CPP)
    for content, rates in (
        (before, [1000.0, 1000.0, 1000.0, 600.0]),
        (now, [2000.0, 2000.0, 2000.0, 100.0]),
    ):
        for cell in content["cells"]:
            if cell["impl"] == "flat-stack/cpp" and cell["status"] == "ok":
                cell["metrics"]["highest_rate"] = scalar(rates, "1/s", "clock")
    rows = compare_runs(parse_run(before), parse_run(now), metrics=["highest_rate"]).rows
    # The disturbed last round has no say: an upper quartile of 2,000 over one of 1,000.
    assert rows[0].ratio is not None
    assert rows[0].ratio.value == pytest.approx(2.0)


def test_counts_of_other_simulated_caches_are_not_compared() -> None:
    before, now = make_run(impls=CPP), make_run(impls=CPP)
    for content, size in ((before, "32768,8,64"), (now, "49152,12,64")):
        content["counters"] = {"source": "callgrind", "d1": size}
        for cell in content["cells"]:
            if cell["impl"] == "flat-stack/cpp" and cell["status"] == "ok":
                value = scalar([0.03], "count", "callgrind-net")
                cell["metrics"]["lookup_ordered_l1d_misses_per_op"] = value
    names = ["lookup_ordered_l1d_misses_per_op"]
    rows = compare_runs(parse_run(before), parse_run(now), metrics=names).rows
    assert rows[0].ratio is None
    assert rows[0].incomparable == "other simulation: d1 was 32768,8,64, is 49152,12,64"
    now["counters"]["d1"] = "32768,8,64"
    (same, *_) = compare_runs(parse_run(before), parse_run(now), metrics=names).rows
    assert same.ratio is not None
    assert same.ratio.value == 1.0
