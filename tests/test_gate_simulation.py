"""The simulation of the gate: its rival rules against their tools, its suites, its figures."""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
from pathlib import Path

import pytest
from pyperf._utils import is_significant
from scipy.stats import mannwhitneyu

from blockmark.verdict.gate import Rule
from blockmark.workload.program import Op, ProgramBuilder

FOLDER = Path(__file__).parent / "simulation"
sys.path.insert(0, str(FOLDER))

import gate_simulation  # noqa: E402
from recording import EQUAL, SLOWER, Recording, Side, Suite, load_recording  # noqa: E402
from rival_rules import asv, criterion, pyperf, pytest_benchmark, rival_rules, samples  # noqa: E402
from simulation_text import render_counts  # noqa: E402
from single_tests import single_tests  # noqa: E402
from slower_step import with_extra_lookups  # noqa: E402
from verdict_counts import count_verdicts  # noqa: E402

ROUNDS = FOLDER / "rounds.json"


# --- rival rules ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_pyperfs_rule_is_pyperfs(seed: int) -> None:
    rng = random.Random(seed)
    before = [rng.gauss(100, 3) for _ in range(60)]
    after = [rng.gauss(100 + seed / 8, 3) for _ in range(60)]
    told = pyperf(before, after)
    assert (told is not None) == is_significant(before, after)[0]
    if told:
        assert (told == "regressed") == (statistics.fmean(after) > statistics.fmean(before))


@pytest.mark.parametrize("size", [10, 40])
@pytest.mark.parametrize("seed", range(10))
def test_asvs_rule_is_a_rank_test_and_a_factor(size: int, seed: int) -> None:
    rng = random.Random(seed)
    before = [rng.gauss(100, 12) for _ in range(size)]
    after = [rng.gauss(112 + seed, 12) for _ in range(size)]
    method, exact = ("exact", True) if size <= 20 else ("asymptotic", False)
    p = mannwhitneyu(before, after, method=method, use_continuity=exact).pvalue
    apart = statistics.median(after) / statistics.median(before) > 1.1
    assert asv(before, after, 1.1) == ("regressed" if apart and p < 0.002 else None)
    assert asv(after, before, 1.1) == ("improved" if apart and p < 0.002 else None)


def test_asvs_factor_is_asked_before_anything() -> None:
    before = [100.0 + i / 100 for i in range(10)]
    assert asv(before, [value * 1.09 for value in before], 1.1) is None
    assert asv(before, [value * 1.11 for value in before], 1.1) == "regressed"


@pytest.mark.parametrize(("field", "told"), [("min", None), ("mean", "regressed")])
def test_pytest_benchmarks_rule_is_a_bare_ratio(field: str, told: str | None) -> None:
    # The least grew by 4 %, the mean by 8 %.
    before, after = Side([], [[100.0, 100.0]]), Side([], [[104.0, 112.0]])
    assert pytest_benchmark(field)(before, after) == told  # type: ignore[arg-type]
    assert pytest_benchmark("median")(after, before) == "improved"


def test_criterions_rule_has_two_conditions() -> None:
    rng = random.Random(1)
    before = [rng.gauss(100, 1) for _ in range(50)]
    assert criterion(before, [value * 1.05 for value in before]) == "regressed"
    assert criterion([value * 1.05 for value in before], before) == "improved"
    # Surely different, but within the noise threshold of 1 %.
    steady = [100 + i / 1000 for i in range(50)]
    assert criterion(steady, [value * 1.005 for value in steady]) is None
    # Beyond it, but not surely different.
    wild = [rng.gauss(100, 30) for _ in range(50)]
    assert criterion(wild, [rng.gauss(103, 30) for _ in range(50)]) is None


def test_samples_are_means_of_neighbouring_blocks() -> None:
    side = Side([], [[1.0, 3.0, 5.0, 7.0], [2.0, 2.0, 4.0, 4.0], [9.0, 9.0, 9.0, 9.0]])
    assert samples(side, 2, 2) == [2.0, 6.0, 2.0, 4.0]


def test_a_busy_machine_s_rounds_of_few_blocks_are_taken_as_they_are() -> None:
    few = Side([], [[3.0], [5.0, 7.0]])
    assert samples(few, 2, 5) == [3.0, 5.0, 7.0]
    # Equal programs, one with a block a round and one with two: no change, and nothing breaks.
    rng = random.Random(6)
    noise = [rng.gauss(9, 1) for _ in range(60)]
    thin = Side(noise[:20], [[one] for one in noise[:20]])
    thick = Side(noise[:20], [[one, one] for one in noise[:20]])
    for rule in rival_rules():
        told = rule.judge(thin, thick)
        assert told is None or rule.rounds == 1


def test_turns_help_where_both_sides_of_a_round_are_disturbed_alike() -> None:
    rng = random.Random(2)
    drift = [rng.uniform(1.0, 1.6) for _ in range(30)]
    slow = [105 * d * rng.uniform(1, 1.01) for d in drift]
    fast = [100 * d * rng.uniform(1, 1.01) for d in drift]
    shifts = [math.log(b / a) for a, b in zip(fast, slow, strict=True)]
    of_rounds, of_turns = single_tests(Rule(), 12)
    assert of_turns.judge(Side(fast, []), Side(slow, [], shifts)) == "regressed"
    assert of_turns.judge(Side(slow, []), Side(fast, [], [-one for one in shifts])) == "improved"
    assert of_turns.judge(Side(fast, []), Side(fast, [], [0.0] * 30)) is None
    # The change of the values drowns in the drift.
    assert mannwhitneyu(slow, fast, alternative="greater").pvalue > 0.01
    assert of_rounds.judge(Side(fast, []), Side(slow, [], shifts)) is None


# --- the load made slower ------------------------------------------------------------


def test_extra_lookups_are_added_to_every_step_of_the_body_and_nothing_else() -> None:
    builder = ProgramBuilder()
    builder.step()
    builder.run(Op.ALLOCATE, [0, 1], [5, 6])
    builder.end_setup()
    for logical in (3, 4):
        builder.step(phase=1)
        builder.run(Op.APPEND, [0, 1])
        builder.run(Op.LOOKUP, [0, 1], logical)
    plain = builder.build(period=1, units={1: 1}, width=8)
    slow = with_extra_lookups(plain, 3)
    per_step = {"append": 2.0, "lookup": 2.0}
    assert plain.counts_per_step() == per_step
    assert slow.counts_per_step() == {"append": 2.0, "lookup": 5.0}
    assert [op[1:] for op in slow.operations(2)] == [
        (Op.APPEND, 0, 0, 0),
        (Op.APPEND, 1, 0, 0),
        (Op.LOOKUP, 0, 4, 0),
        (Op.LOOKUP, 1, 4, 0),
        (Op.LOOKUP, 0, 4, 0),
        (Op.LOOKUP, 1, 4, 0),
        (Op.LOOKUP, 0, 4, 0),
    ]
    assert list(slow.operations(0)) == list(plain.operations(0))
    assert (slow.setup_steps, slow.period, slow.units, slow.width) == (1, 1, {1: 1}, 8)
    assert with_extra_lookups(plain, 0).digest() == plain.digest()


def test_a_step_without_lookups_cant_be_made_slower() -> None:
    builder = ProgramBuilder()
    builder.step(phase=1)
    builder.run(Op.APPEND, [0])
    with pytest.raises(ValueError, match="no lookup"):
        with_extra_lookups(builder.build(units={1: 1}), 1)


# --- suites --------------------------------------------------------------------------


def made_up(
    rounds: int = 60,
    *,
    noise: float = 0.008,
    bad_share: float = 0.08,
    wandering: float = 0.0,
    seed: int = 4,
) -> Recording:
    """Two schemes as a recording has them: one-sided noise, now and then a bad process, and
    from match to match a `wandering` that turns do not see.
    """
    rng = random.Random(seed)
    cells: dict[str, dict[str, list[float]]] = {}
    blocks: dict[str, dict[str, list[list[float]]]] = {}
    shifts: dict[str, dict[str, list[float]]] = {}

    def play(name: str, match: str, level: float, factor: float, *, keep: bool) -> None:
        for _ in range(rounds):
            here = level * rng.uniform(1.0, 1.0 + wandering)
            new, old = match.split("/")
            least = {}
            for variant, times in ((old, 1.0), (new, factor)):
                bad = rng.expovariate(3) if rng.random() < bad_share else 0.0
                least[variant] = here * times * (1 + abs(rng.gauss(0, noise)) + bad)
                cells.setdefault(name, {}).setdefault(variant, []).append(least[variant])
                if keep and variant != "A2":
                    row = [least[variant] * (1 + rng.expovariate(5)) for _ in range(49)]
                    kept = blocks.setdefault(name, {}).setdefault(variant, [])
                    kept.append([least[variant], *row])
            shift = math.log(least[new] / least[old])
            shifts.setdefault(name, {}).setdefault(match, []).append(shift)

    for impl, level in (("vector/cpp", 780.0), ("flat-stack/cpp", 640.0)):
        step, cost = f"decode {impl} step_ns", f"decode {impl} alloc_free_interleaved_ns"
        play(step, EQUAL, level, 1.0, keep=True)
        play(step, SLOWER, level, 1.05, keep=True)
        play(cost, EQUAL, 3.0, 1.0, keep=False)
    return Recording(rounds, cells, blocks, shifts, {"load_average": [1.0, 2.5]})


def stored(recording: Recording) -> str:
    parts = {name: getattr(recording, name) for name in ("cells", "blocks", "shifts")}
    return json.dumps({"schema_version": 2, **parts})


def test_a_suite_swaps_labels_of_a_whole_process_and_loses_nothing() -> None:
    recording = made_up(12)
    suite = Suite.draw(recording, 6, random.Random(7))
    swapped = set()
    for impl in ("vector/cpp", "flat-stack/cpp"):
        step, cost = f"decode {impl} step_ns", f"decode {impl} alloc_free_interleaved_ns"
        for i in range(6):
            number = suite.first + i
            for name in (step, cost):
                before, after = suite.before(name).values[i], suite.after(name).values[i]
                cell = recording.cells[name]
                assert {before, after} == {cell["A0"][number], cell["A1"][number]}
                # The made-up shift is that of the least blocks, so it tells the labels.
                assert suite.after(name).shifts[i] == pytest.approx(math.log(after / before))
            is_swapped = suite.before(step).values[i] == recording.cells[step]["A1"][number]
            assert is_swapped == (
                suite.before(cost).values[i] == recording.cells[cost]["A1"][number]
            )
            assert suite.before(step).values[i] == min(suite.before(step).blocks[i])
            swapped.add((impl, is_swapped))
        window = slice(suite.first, suite.first + 6)
        before, after = suite.before(step, slower=True), suite.after(step, slower=True)
        assert before.values == recording.cells[step]["A2"][window]
        assert after.values == recording.cells[step]["B5"][window]
        assert after.shifts == recording.shifts[step][SLOWER][window]
    assert len(swapped) == 4


def test_the_whole_simulation_on_rounds_that_were_made_up() -> None:
    recording, rule = made_up(), Rule()
    counts = count_verdicts(recording, 20, 1, rule)
    ours = counts.ours
    assert (ours.suites, ours.false_suites) == (20, 0)
    # Two schemes with one step each, 4 cells in a suite.
    assert (ours.equal.total(), ours.slowed.total()) == (80, 40)
    assert ours.found.total() >= 38
    assert ours.found_by.total() == ours.found.total()
    assert [found.cells for _, found in counts.rivals] == [40] * (len(rival_rules()) + 2)
    # Equal programs and a rule with neither margin nor correction: false verdicts are seen.
    assert max(found.false_cells for _, found in counts.rivals) > 0
    assert (counts.apart.suites, counts.apart.slowed.total()) == (2, 4)
    # As improvements, all of them would have been waved through by a test of one side.
    assert counts.improvements.one_sided > counts.improvements.two_sided
    text = render_counts(recording, counts, rule)
    assert text == render_counts(recording, count_verdicts(recording, 20, 1, rule), rule)
    assert "0 of 20 (0.00 %)" in text
    assert "load average 1.0 to 2.5" in text
    # Tens of per cent are found where leaps are first looked for.
    large = counts.factors[10.0]
    assert large.found.total() == large.slowed.total() == 40
    assert set(large.slowed_rounds.values()) == {4 * 20}
    assert "10 times as long: 40 of 40 (100.00 %) in 4.0 rounds" in text
    # Rounds of the made-up recording are drawn on their own: near no correlation.
    found = [recording.likeness(name) for name in recording.cells]
    assert max(map(abs, found)) < 0.4
    assert f"{min(found):+.2f} to {max(found):+.2f} over the cells" in text
    assert "beyond the leap, a factor of 2, in either direction: 0 of" in text


def test_wandering_that_turns_do_not_see_is_no_hindrance() -> None:
    counts = count_verdicts(made_up(wandering=0.6, bad_share=0.02), 20, 1, Rule())
    assert counts.ours.false_suites == 0
    assert counts.ours.found.total() >= 38
    alone = {one.name: found for one, found in counts.rivals if one.name.startswith("this gate")}
    of_rounds, of_turns = alone.values()
    assert of_turns.found >= 38
    assert of_rounds.found <= 4


def test_rounds_that_differ_between_programs_that_are_called_equal_are_found() -> None:
    # The simulation can fail: a recording whose A1 is slower, without swaps.
    recording = made_up()
    for name, cell in recording.cells.items():
        cell["A1"] = [value * 1.2 for value in cell["A1"]]  # type: ignore[index]
        shifts = recording.shifts[name]
        shifts[EQUAL] = [one + math.log(1.2) for one in shifts[EQUAL]]  # type: ignore[index]
    counts = count_verdicts(recording, 1, 1, Rule(), others=False)
    assert counts.apart.false_suites == 2


def test_the_command_splices_and_names_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds, page = tmp_path / "rounds.json", tmp_path / "gate.md"
    rounds.write_text(stored(made_up(32)))
    page.write_text("before\n<!-- BEGIN: gate simulation -->\n<!-- END: gate simulation -->\n")
    words = ["--rounds", str(rounds), "--suites", "2", "--splice", str(page)]
    monkeypatch.setattr(sys, "argv", ["gate_simulation.py", *words])
    gate_simulation.main()
    printed = capsys.readouterr().out.strip()
    assert printed in page.read_text()
    assert "made by: python tests/simulation/gate_simulation.py --suites 2" in page.read_text()


def test_too_few_rounds_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = tmp_path / "rounds.json"
    rounds.write_text(stored(made_up(5)))
    monkeypatch.setattr(sys, "argv", ["gate_simulation.py", "--rounds", str(rounds)])
    with pytest.raises(SystemExit, match="5 rounds; the rule looks at 30"):
        gate_simulation.main()


def test_cells_of_unequal_rounds_are_no_recording(tmp_path: Path) -> None:
    rounds = tmp_path / "rounds.json"
    recording = made_up(3)
    recording.cells["decode vector/cpp step_ns"]["A1"].pop()  # type: ignore[attr-defined]
    rounds.write_text(stored(recording))
    with pytest.raises(ValueError, match=r"\[2, 3\] rounds; all must have as many"):
        load_recording(rounds)


def test_a_recording_of_another_form_is_told(tmp_path: Path) -> None:
    rounds = tmp_path / "rounds.json"
    rounds.write_text(json.dumps({"schema_version": 1, "cells": {}, "blocks": {}}))
    with pytest.raises(ValueError, match="version 1 of a recording; this reads 2"):
        load_recording(rounds)


# --- the figures that the gate is to reach -------------------------------------------


@pytest.mark.skipif(not ROUNDS.exists(), reason="no rounds were recorded")
def test_the_figures_on_the_rounds_that_were_recorded() -> None:
    recording = load_recording(ROUNDS)
    counts = count_verdicts(recording, 200, 1, Rule(), others=False).ours
    assert counts.false_suites <= 2  # of 200: 1 %
    for impl in ("hash-map/cpp", "vector/cpp", "flat-stack/cpp"):
        steps = [name for name in recording.steps if impl in name]
        found = sum(counts.found[name] for name in steps)
        slowed = sum(counts.slowed[name] for name in steps)
        assert found >= 0.95 * slowed > 0
