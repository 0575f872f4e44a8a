"""The loop of a check on sides that answer by a script: no process, no clock."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockmark.sessions import check
from blockmark.sessions.check import Effort
from blockmark.sessions.check_plan import Card, make_card
from blockmark.verdict.gate import Rule
from blockmark.workload.errors import ConfigError
from scripted_sides import Script, Scripted, costs, run, verdicts


def test_decided_pairs_are_not_run_again() -> None:
    def only_b(job: dict[str, Any], number: int) -> dict[str, Any]:
        return costs(100.0 if job["impl"] == "a" else 110.0)(job, number)

    before, after = Scripted(costs(100.0), "one"), Scripted(only_b, "two")
    result = run(before, after)
    # a: 6 rounds rule out 3 %. b: the least p of 6 rounds does not decide, that of 10 does.
    assert verdicts(result) == {"tiny a step_ns": "unchanged", "tiny b step_ns": "regressed"}
    assert [len(cell.before) for cell in result.cells] == [6, 10]
    assert len(before.jobs) == len(after.jobs) == 16
    assert result.exit_code() == 1
    assert result.facts is not None
    assert result.facts["stopped"] == "every cell is decided"
    assert result.facts["control_ns"] == {"before": 1.5, "after": 1.5}


def test_only_what_is_gated_is_measured_and_both_sides_do_the_same() -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0), "two")
    run(before, after)
    assert {tuple(job["programs"]) for job in before.jobs} == {("step",)}
    assert not any(job["pmu"] or job["software_counters"] for job in before.jobs)
    by_impl = [[job for job in side.jobs if job["impl"] == "a"] for side in (before, after)]
    assert by_impl[0] == by_impl[1]


def test_the_order_of_a_round_comes_from_the_seed() -> None:
    orders = []
    for _ in range(2):
        result = run(Scripted(costs(100.0), "one"), Scripted(costs(100.0), "two"))
        assert result.facts is not None
        orders.append(result.facts["order"])
    assert orders[0] == orders[1]
    assert {tuple(one) for one in orders[0]} == {("tiny a", "tiny b"), ("tiny b", "tiny a")}


def test_a_round_takes_both_leasts_and_the_shift_and_ends_its_processes() -> None:
    def slower(job: dict[str, Any], number: int) -> dict[str, Any]:
        return costs(110.0)(job, number)

    before, after = Scripted(costs(100.0), "one"), Scripted(slower, "two")
    card: list[Card] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            check, "make_card", lambda *a, **k: card.append(make_card(*a, **k)) or card[0]
        )
        run(before, after)
    gate = card[0].contests[0].gates["step_ns"]
    assert gate.before[:2] == [pytest.approx(100.0), pytest.approx(100.1)]
    assert gate.after[:2] == [pytest.approx(110.0), pytest.approx(110.11)]
    assert gate.shifts == [pytest.approx(math.log(1.1))] * len(gate.before)
    assert all(player.killed for player in (*before.players, *after.players))


def test_a_tail_alone_can_fail_a_build() -> None:
    def tail(ns: float) -> Script:
        def answer(job: dict[str, Any], number: int) -> dict[str, Any]:
            wide = ns * (1.4 if job["impl"] == "a" and number % 3 == 0 else 1.0)
            return {**costs(100.0)(job, number), "quantiles": {"p99": wide}}

        return answer

    before, after = Scripted(tail(200.0), "one"), Scripted(tail(300.0), "two")
    result = run(before, after, quantiles=("p99",))
    assert verdicts(result) == {
        "tiny a step_ns": "unchanged",
        "tiny a step_latency_ns.p99": "regressed",
        "tiny b step_ns": "unchanged",
        "tiny b step_latency_ns.p99": "regressed",
    }
    cell = result.cells[1]
    assert (cell.margin, cell.unit) == (0.25, "ns")
    assert cell.ratio == pytest.approx(1.5)
    assert run(before, Scripted(tail(240.0), "two"), quantiles=("p99",)).exit_code() == 0


def test_single_steps_that_took_too_long_in_one_round_are_asked_for_again() -> None:
    def slow_at_first(rounds: int) -> Script:
        def answer(job: dict[str, Any], number: int) -> dict[str, Any]:
            found = {**costs(100.0)(job, number), "quantiles": {"p99": 200.0}}
            return {**found, "block_ns": 1e11 if number < rounds else 1e6}

        return answer

    for rounds, judged in ((2, True), (3, False)):
        sides = [Scripted(slow_at_first(rounds), name) for name in ("one", "two")]
        result = run(*sides, quantiles=("p99",))
        assert ("tiny a step_latency_ns.p99" in verdicts(result)) == judged
        told = any("1,300 single steps take too long" in note for note in result.notes)
        assert told != judged


def test_a_broken_round_is_dropped_from_both_sides() -> None:
    def once(job: dict[str, Any], number: int) -> dict[str, Any]:
        if job["impl"] == "b" and number == 3:
            return {"status": "failed", "reason": "crashed with SIGSEGV"}
        return costs(110.0)(job, number)

    result = run(Scripted(costs(100.0), "one"), Scripted(once, "two"))
    cell = result.cells[1]
    assert len(cell.before) == len(cell.after) == 9
    # One of ten is not more than a tenth.
    assert not result.failures
    assert any("1 of 10 rounds were dropped: after: crashed" in note for note in result.notes)


def test_more_than_a_tenth_of_broken_rounds_is_a_failure() -> None:
    def often(job: dict[str, Any], number: int) -> dict[str, Any]:
        if job["impl"] == "b":
            return {"status": "timeout", "reason": "no answer"}
        return costs(100.0)(job, number)

    before = Scripted(costs(100.0), "one")
    result = run(before, Scripted(often, "two"))
    # Given up after the fourth: no 30 rounds could hold it below a tenth.
    assert sum(job["impl"] == "b" for job in before.jobs) == 4
    assert result.failures == ("tiny b: 4 of 4 rounds broke: after: no answer",)
    assert verdicts(result)["tiny b step_ns"] == "incomparable"
    assert result.exit_code() == 3


@pytest.mark.parametrize(
    ("old", "new", "code", "told"),
    [
        ("ok", "wrong", 4, "wrong"),
        ("wrong", "wrong", 4, "wrong"),
        ("wrong", "ok", 0, "mended"),
        ("ok", "failed", 3, "failures"),
        ("failed", "ok", 3, "incomparable"),
        ("ok", "unavailable", 3, "missing"),
        ("unavailable", "ok", 0, "added"),
        ("unavailable", "unavailable", 0, "notes"),
    ],
)
def test_what_is_not_proved_is_not_timed(old: str, new: str, code: int, told: str) -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0), "two")
    for side, status in ((before, old), (after, new)):
        side.proof["b"] = {"status": status, "reason": "because"}
    result = run(before, after)
    assert not [job for job in (*before.jobs, *after.jobs) if job["impl"] == "b"]
    assert result.exit_code() == code
    if told == "incomparable":
        assert result.cells[1].verdict == "incomparable"
        assert result.cells[1].reason == f"the baseline is {old}: because"
    else:
        assert any("tiny b" in line for line in getattr(result, told))
        assert verdicts(result) == {"tiny a step_ns": "unchanged"}


def test_implementations_of_one_side_alone() -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0), "two")
    after.impls = ["b"]
    result = run(before, after)
    assert result.missing == ("tiny a: no a",)
    assert result.exit_code() == 3
    allowed = run(Scripted(costs(100.0), "one"), after, replace(Effort(), allow_missing=True))
    assert allowed.exit_code() == 0
    assert "missing in the candidate, as allowed: tiny a: no a" in allowed.notes
    before.impls, after.impls = ["b"], ["a", "b"]
    result = run(before, after)
    assert result.added == ("tiny a: the baseline has no such implementation",)
    assert result.exit_code() == 0


def test_a_baseline_that_could_not_be_loaded_is_no_new_cell() -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(200.0), "two")
    before.impls, before.absent = ["b"], set()
    result = run(before, after)
    cell = next(one for one in result.cells if one.impl == "a")
    assert (cell.name, cell.verdict) == ("tiny a step_ns", "incomparable")
    assert cell.reason == "the baseline can't be loaded: no a"
    assert not result.added
    # The other one is a regression all the same.
    assert result.exit_code() == 1
    assert run(before, Scripted(costs(100.0), "two")).exit_code() == 3


def test_what_the_baseline_loads_while_it_is_proved_is_looked_at() -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0), "two")
    before.apart_from, before.root = Path("/repo"), Path("/tree")
    before.loaded = {"files": ["/tree/helper.py", "/elsewhere/other.py"]}
    assert run(before, after).exit_code() == 0
    before.loaded = {"files": ["/repo/src/helper.py"]}
    with pytest.raises(ConfigError, match=r"baseline loads /repo/src/helper\.py, a file of the"):
        run(before, after)


def test_a_declared_order_that_changed_is_told() -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0), "two")
    after.reuse_order = "FIFO"
    result = run(before, after)
    assert "tiny a: declared reuse order LIFO before, FIFO now" in result.notes
    assert result.exit_code() == 0


def test_a_target_that_neither_side_knows_is_a_mistake() -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0), "two")
    before.impls = after.impls = ["b"]
    with pytest.raises(ConfigError, match="no a"):
        run(before, after)


def test_a_metric_that_the_candidate_can_no_longer_serve_is_missing() -> None:
    def old(job: dict[str, Any], number: int) -> dict[str, Any]:
        metrics = {"step_ns": {"value": 10.0}, "pack_ns": {"value": 10.0}}
        metrics["pack_changed_ns"] = {"value": 10.0}
        return {"status": "ok", "metrics": metrics}

    def new(job: dict[str, Any], number: int) -> dict[str, Any]:
        gone = {"unavailable": "it lacks write_block_tables"}
        answer = old(job, number)
        return {**answer, "metrics": {**answer["metrics"], "pack_ns": gone}}

    result = run(Scripted(old, "one"), Scripted(new, "two"), metrics=("step_ns", "pack_ns"))
    assert result.missing == tuple(
        f"tiny {impl} pack_ns: it lacks write_block_tables" for impl in ("a", "b")
    )
    assert set(verdicts(result).values()) == {"unchanged"}


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ({"replay_version": 2}, "other replay: version 1 before, version 2 now"),
        ({"contract_version": 0}, "other contract: version 1 before, version 0 now"),
        ({"python": "3.12"}, "other interpreter: 3.11 before, 3.12 now"),
    ],
)
def test_other_work_is_incomparable_and_not_measured(package: dict[str, Any], reason: str) -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(200.0), "two", **package)
    result = run(before, after)
    assert set(verdicts(result).values()) == {"incomparable"}
    assert {cell.reason for cell in result.cells} == {reason}
    assert not before.jobs
    assert not after.jobs
    assert result.exit_code() == 3


def wide(ns: float) -> Script:
    """A side of which no ten rounds can be told from those of another by five per cent."""
    return costs(ns, spread=0.05)


def test_a_spent_budget_ends_measuring_after_the_first_look_that_can_decide() -> None:
    def slower(job: dict[str, Any], number: int) -> dict[str, Any]:
        # Up and down in turn, around 2 % more.
        return wide(102.0 if number % 2 else 106.0)(job, number)

    before, after = Scripted(wide(100.0), "one"), Scripted(slower, "two")
    result = run(before, after, Effort(budget_s=0.0))
    assert [len(cell.before) for cell in result.cells] == [10, 10]
    assert "measuring ended: the budget of 0 s was used up after 10 rounds" in result.notes
    # Nothing was decided, which is no pass.
    assert set(verdicts(result).values()) == {"inconclusive"}
    assert result.exit_code() == 3


def test_cells_that_may_hide_a_slowdown_are_measured_on_from_look_to_look() -> None:
    def noisy(job: dict[str, Any], number: int) -> dict[str, Any]:
        # Of a the changes of the first 13 rounds reach from -20 to +20 %, then there is none.
        far = 1.2 if number % 2 else 0.8
        return wide(100.0 * (far if job["impl"] == "a" and number < 13 else 1.0))(job, number)

    clock = [0.0]

    def tick() -> float:
        clock[0] += 0.5
        return clock[0]

    with pytest.MonkeyPatch.context() as patch:
        # Half a second a match: ten rounds of two take ten, which is the budget.
        patch.setattr(check.time, "monotonic", tick)
        before, after = Scripted(wide(100.0), "one"), Scripted(noisy, "two")
        result = run(before, after, Effort(budget_s=10.0))
    rounds = {cell.impl: len(cell.before) for cell in result.cells}
    assert verdicts(result)["tiny b step_ns"] == "unchanged"
    assert rounds["b"] == 6
    # Past the first look and up to one of the next, not to where time was over.
    assert rounds["a"] in (15, 20, 30)


@pytest.mark.parametrize("factor", [1.1, 1.3, 29.0])
def test_a_spent_budget_hides_no_slowdown(factor: float) -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0 * factor), "two")
    result = run(before, after, Effort(budget_s=0.0))
    assert result.exit_code() == 1
    assert set(verdicts(result).values()) == {"regressed"}
    # The larger ones in the look for leaps.
    assert {len(cell.before) for cell in result.cells} == {10 if factor < 2 else 4}


def test_an_interrupt_is_a_result() -> None:
    def stopped(job: dict[str, Any], number: int) -> dict[str, Any]:
        if number == 7:
            raise KeyboardInterrupt
        return costs(120.0)(job, number)

    result = run(Scripted(costs(100.0), "one"), Scripted(stopped, "two"))
    assert result.interrupted
    assert result.exit_code() == 130
    assert set(verdicts(result).values()) == {"inconclusive"}
    assert all(len(cell.before) >= 6 for cell in result.cells)


def test_a_self_test_goes_to_the_end_and_tells_what_it_could_have_seen() -> None:
    effort = Effort(Rule(looks=(6, 10, 15)), to_the_end=True)
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0), "one")
    result = run(before, after, effort, self_test=True)
    assert result.kind == "self-test"
    assert [len(cell.before) for cell in result.cells] == [15, 15]
    assert set(verdicts(result).values()) == {"unchanged"}
    # Rounds that differ by 1.4 % at most tell 3 % apart.
    assert [cell.visible for cell in result.cells] == [pytest.approx(0.03)] * 2
    said = "step_ns: 15 rounds show a slowdown of 3 %, where it is measured as large"
    assert said in result.notes
    assert result.exit_code() == 0


def test_a_false_alarm_of_a_self_test_is_the_machine_s() -> None:
    effort = Effort(Rule(looks=(6, 10, 15)), to_the_end=True)
    result = run(
        Scripted(costs(100.0), "one"), Scripted(costs(120.0), "one"), effort, self_test=True
    )
    assert set(verdicts(result).values()) == {"regressed"}
    assert result.exit_code() == 3


def test_a_control_that_moved_is_told() -> None:
    def slower(job: dict[str, Any], number: int) -> dict[str, Any]:
        return {**costs(100.0)(job, number), "control_ns": 1.6}

    result = run(Scripted(costs(100.0), "one"), Scripted(slower, "two"))
    assert any("the clock or the machine changed" in note for note in result.notes)


def test_rounds_that_cannot_decide_are_refused() -> None:
    before, after = Scripted(costs(100.0), "one"), Scripted(costs(100.0), "two")
    # Two cells, one look, two tests: 1 / C(2n, n) <= 0.01 / 2 / 2 takes 6 rounds (1/924).
    with pytest.raises(ConfigError, match="at least 6 rounds a side"):
        run(before, after, Effort(rounds=5))
    assert run(before, after, Effort(rounds=6)).exit_code() == 0
