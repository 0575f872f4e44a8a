"""The gate on counts, against arithmetic done by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockmark.runs.counts import CellCounts, CostCounts, CountKey, SideCounts
from blockmark.verdict.change_kind import join, label
from blockmark.verdict.check import CellVerdict, CheckResult
from blockmark.verdict.deterministic import (
    allocations_verdict,
    instructions_verdict,
    judge_counts,
    misses_verdict,
)

KEY = CountKey("x86_64", "g++ 12.2.0", "glibc 2.36", "python 3.11", "valgrind 3.19.0")
STEP = CostCounts(units=64, instructions=(640_000,), l1d_misses=(64_000,))
CELL = CellCounts("decode", "block_size 16", "vector/cpp", {"step_ns": "a"}, {"step_ns": STEP}, 0.0)
SIDE = SideCounts(KEY, "-O3", 1, 1, "d1 32768,8,64", (CELL,))


def side(**changes: object) -> SideCounts:
    """The side with its only cell changed."""
    return replace(SIDE, cells=(replace(CELL, **changes),))  # type: ignore[arg-type]


def verdicts(before: SideCounts, after: SideCounts) -> dict[str, str]:
    return {cell.metric: cell.verdict for cell in judge_counts(before, after).cells}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (10_060, "regressed"),  # +0.6 %
        (10_005, "unchanged"),  # +0.05 %
        (10_049, "unchanged"),  # just below the margin
        (10_051, "regressed"),
        (9_940, "improved"),  # 10,000 is 0.604 % more than it
        (9_960, "unchanged"),  # and 0.402 % more than this
        (10_000, "unchanged"),
    ],
)
def test_instructions_have_a_margin_of_half_a_per_cent(new: float, expected: str) -> None:
    assert instructions_verdict((10_000,), (new,)) == expected


@pytest.mark.parametrize(
    ("old", "new", "units", "expected"),
    [
        (10.0, 10.4, 1000, "regressed"),  # +4 % and +400
        (10.0, 10.2, 1000, "unchanged"),  # +2 %
        (10.0, 10.4, 200, "unchanged"),  # +4 %, but 80 in all
        (10.0, 10.5, 200, "unchanged"),  # 100 in all: not more than that
        (10.0, 9.5, 1000, "improved"),
        (0.0, 0.2, 1000, "regressed"),  # from nothing to 200
        (0.0, 0.1, 1000, "unchanged"),
        (0.2, 0.0, 1000, "improved"),
        (0.0, 0.0, 1000, "unchanged"),
    ],
)
def test_misses_need_a_share_and_a_number(
    old: float, new: float, units: float, expected: str
) -> None:
    assert misses_verdict((old,), (new,), units) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((571, 582, 595), (571, 590, 596), "unchanged"),  # one map in other heaps
        ((571, 582, 595), (597, 598, 599), "unchanged"),  # above all, by 0.34 % of the most
        ((571, 582, 595), (599, 600, 610), "regressed"),  # 0.67 %
        ((599, 600, 610), (571, 582, 595), "improved"),
        ((571,), (599, 600, 610), "regressed"),
    ],
)
def test_a_change_is_one_in_every_heap(
    old: tuple[float, ...], new: tuple[float, ...], expected: str
) -> None:
    assert instructions_verdict(old, new) == expected


def test_misses_of_all_heaps_must_be_apart_by_the_number() -> None:
    # From 10.5 to 11.0, not from 10.0: 0.5 an operation.
    assert misses_verdict((10.0, 10.5), (11.0, 12.0), 201) == "regressed"
    assert misses_verdict((10.0, 10.5), (11.0, 12.0), 200) == "unchanged"
    assert misses_verdict((11.0, 12.0), (10.0, 10.5), 201) == "improved"
    assert misses_verdict((10.0, 10.5), (10.4, 12.0), 10_000) == "unchanged"


def test_medians_are_shown_and_what_moves_them_is_said() -> None:
    before = CostCounts(units=100, instructions=(57_100, 57_200, 59_500), l1d_misses=(9, 9, 9))
    after = CostCounts(units=100, instructions=(57_200, 59_400, 59_600), l1d_misses=(9, 9, 60))
    judged = judge_counts(side(costs={"step_ns": before}), side(costs={"step_ns": after}))
    instructions, misses, _ = judged.cells
    assert (instructions.old, instructions.new) == (572.0, 594.0)
    assert instructions.before == (571.0, 572.0, 595.0)
    assert instructions.after == (572.0, 594.0, 596.0)
    assert instructions.ratio == pytest.approx(594 / 572)
    assert instructions.verdict == "unchanged"
    assert instructions.reason == "another heap moves it as far: 571 to 595 before, 572 to 596 now"
    assert (misses.verdict, misses.reason) == ("unchanged", "")


def test_any_allocation_more_is_a_regression() -> None:
    assert allocations_verdict(0, 1) == "regressed"
    assert allocations_verdict(0.21875, 0.234375) == "regressed"
    assert allocations_verdict(1, 0) == "improved"
    assert allocations_verdict(0, 0) == "unchanged"


def test_a_cell_has_a_verdict_for_each_of_its_counts() -> None:
    more = CostCounts(units=64, instructions=(644_800,), l1d_misses=(64_000,))  # +0.75 %
    result = judge_counts(SIDE, side(costs={"step_ns": more}, allocations=1.0))
    by_metric = {cell.metric: cell for cell in result.cells}
    assert {name: cell.verdict for name, cell in by_metric.items()} == {
        "step_instructions_per_op": "regressed",
        "step_l1d_read_write_misses_per_op": "unchanged",
        "heap_allocations_per_step": "regressed",
    }
    instructions = by_metric["step_instructions_per_op"]
    assert (instructions.old, instructions.new) == (10_000, 10_075)
    assert instructions.ratio == pytest.approx(1.0075)
    assert instructions.name == "decode (block_size 16) vector/cpp step_instructions_per_op"
    # From zero there is no ratio, and a verdict all the same.
    assert by_metric["heap_allocations_per_step"].ratio is None
    assert (result.missing, result.added) == ((), ())


def test_totals_of_unequal_length_are_compared_by_the_operation() -> None:
    twice = CostCounts(units=128, instructions=(1_280_000,), l1d_misses=(128_000,))
    assert set(verdicts(SIDE, side(costs={"step_ns": twice})).values()) == {"unchanged"}


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (replace(SIDE, replay_version=2), "replay version"),
        (replace(SIDE, contract_version=0), "contract version"),
        (replace(SIDE, flags="-O2"), "flags"),
        (replace(SIDE, caches="d1 49152,12,64"), "caches"),
        (replace(SIDE, key=replace(KEY, compiler="g++ 13.1.0")), "compiler"),
        (side(loads={"step_ns": "b"}), "operations differ"),
    ],
)
def test_other_work_is_never_unchanged(other: SideCounts, word: str) -> None:
    cells = judge_counts(SIDE, other).cells
    assert {cell.verdict for cell in cells} == {"incomparable"}
    assert all(word in cell.reason for cell in cells)
    result = CheckResult("deterministic", "a", "b", cells)
    assert result.exit_code() == 3


def test_what_one_side_lacks() -> None:
    gone = judge_counts(SIDE, side(costs={"step_ns": "no valgrind"}))
    assert gone.missing == ("decode (block_size 16) vector/cpp step_ns: no valgrind",)
    new = judge_counts(side(costs={}), SIDE)
    assert new.added == ("decode (block_size 16) vector/cpp step_ns",)
    assert new.missing == ()
    neither = judge_counts(side(costs={"step_ns": "x"}), side(costs={"step_ns": "y"}))
    assert (neither.missing, neither.added, len(neither.cells)) == ((), (), 1)


def test_a_cell_that_is_not_planned_is_not_missed() -> None:
    other = replace(CELL, impl="hash-map/cpp")
    both = replace(SIDE, cells=(CELL, other))
    assert judge_counts(both, SIDE, [CELL.place]).missing == ()
    lost = judge_counts(both, SIDE, [CELL.place, other.place]).missing
    assert lost == (
        "decode (block_size 16) hash-map/cpp step_ns: it is not there",
        "decode (block_size 16) hash-map/cpp heap_allocations_per_step: it is not there",
    )


@pytest.mark.parametrize(
    ("time", "instructions", "misses", "expected"),
    [
        ("regressed", "regressed", "unchanged", "more work"),
        ("regressed", "regressed", "regressed", "more work"),
        ("regressed", "unchanged", "regressed", "locality"),
        ("regressed", "improved", "regressed", "locality"),
        ("regressed", "unchanged", "unchanged", "layout or micro-architecture"),
        # Rows 64 KiB apart: the TLB, and fewer misses of the first level.
        ("regressed", "unchanged", "improved", "layout or micro-architecture"),
        ("regressed", "improved", "unchanged", "layout or micro-architecture"),
        ("improved", "regressed", "unchanged", "layout or micro-architecture"),
        ("improved", "improved", "unchanged", "less work"),
        ("improved", "unchanged", "improved", "locality"),
        ("unchanged", "regressed", "unchanged", "more instructions, hidden today"),
        ("unchanged", "unchanged", "unchanged", ""),
        ("inconclusive", "regressed", "unchanged", ""),
        ("incomparable", "regressed", "unchanged", ""),
        ("regressed", "incomparable", "unchanged", ""),
    ],
)
def test_the_kind_of_a_change(time: str, instructions: str, misses: str, expected: str) -> None:
    assert label(time, instructions, misses) == expected  # type: ignore[arg-type]


def timed(verdict: str) -> CheckResult:
    cell = CellVerdict("decode", "block_size 16", "vector/cpp", "step_ns", "ns", verdict)  # type: ignore[arg-type]
    return CheckResult("interleaved", "old", "new", (cell,), notes=("n",), duration_s=2.0)


def counted(after: SideCounts) -> CheckResult:
    judged = judge_counts(SIDE, after)
    return CheckResult("deterministic", "old", "new", judged.cells, notes=("n", "m"))


def test_both_gates_in_one_result() -> None:
    more = CostCounts(units=64, instructions=(700_000,), l1d_misses=(64_000,))
    slower = join(timed("regressed"), counted(side(costs={"step_ns": more})))
    assert [cell.label for cell in slower.cells] == ["more work", "", "", ""]
    assert (slower.kind, slower.notes, slower.exit_code()) == ("interleaved", ("n", "m"), 1)

    layout = join(timed("regressed"), counted(SIDE))
    assert layout.cells[0].label == "layout or micro-architecture"

    # The time shows nothing, and yet it fails.
    hidden = join(timed("unchanged"), counted(side(costs={"step_ns": more})))
    assert [cell.label for cell in hidden.cells] == ["", "more instructions, hidden today", "", ""]
    assert hidden.exit_code() == 1
    assert join(timed("unchanged"), counted(SIDE)).exit_code() == 0


def test_what_was_skipped_on_purpose_is_fine_and_an_empty_comparison_is_not() -> None:
    empty = CheckResult("deterministic", "old", "new", ())
    assert empty.exit_code() == 3
    assert replace(empty, skipped=True).exit_code() == 0
    assert replace(empty, skipped=True, failures=("broken",)).exit_code() == 3
    # Beside a gate on time it changes nothing.
    assert join(timed("regressed"), replace(empty, skipped=True)).exit_code() == 1
