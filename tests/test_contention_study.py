"""The studies of contention and false sharing as a user meets them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.probes.overlap import LEAST_WINDOWS, check_threads, overlap_of
from blockmark.measure.process.reading import Reading
from blockmark.measure.study import StudyTask
from blockmark.runs.metrics import METRICS
from blockmark.studies.contention import measure as contention
from blockmark.studies.contention import view
from blockmark.studies.false_sharing import measure as false_sharing
from blockmark.workload.builtin import find_scenario
from blockmark.workload.keys import KEYS, ConfigError
from blockmark_impls.registry import names_of, resolve
from cli import blockmark

CORES = len(os.sched_getaffinity(0))


def row(ops: int, ns: int, sleeps: int = 0, cpu: int | None = None) -> tuple[int, ...]:
    return (ops, ns, 0, 0, sleeps, 0, ns if cpu is None else cpu)


def test_numbers_come_from_accepted_windows_alone() -> None:
    even: Any = [row(100, 1_000, 1), row(100, 1_000)]
    uneven: Any = [row(100, 1_000), row(25, 1_000, cpu=500)]
    rejected: Any = [row(1, 1_000_000), row(1, 1_000_000)]
    found = overlap_of(
        [True] * 3 + [False] * 2 + [True] * 2, [even] * 3 + [rejected] * 2 + [uneven] * 2
    )
    assert found.reason == ""
    assert found.share == pytest.approx(5 / 7)
    assert found.op_ns == 10.0  # 2,000 ns / 200 in three windows of five
    assert found.op_mean_ns == pytest.approx((3 * 10 + 2 * 2_000 / 125) / 5)
    assert found.ops_per_s == pytest.approx(0.2e9)
    assert found.cpu_ns == 10.0
    # 1 in the even windows, 25/100 in the others.
    assert found.fairness == pytest.approx((3 * 1 + 2 * 0.25) / 5)
    # Three sleeps in five windows of 1,000 ns.
    assert found.voluntary_per_s == pytest.approx(3 / 5e-6)


def test_without_proof_there_is_a_reason_and_no_number() -> None:
    rows: Any = [row(1, 10), row(1, 10)]
    never = overlap_of([False] * 80, [rows] * 80)
    assert never.reason == "the threads never ran at once in any of 80 windows"
    few = overlap_of([True] * 4 + [False] * 76, [rows] * 80)
    assert (
        few.reason == f"the threads ran at once in 4 of 80 windows only; {LEAST_WINDOWS} are needed"
    )
    alone = overlap_of([False] * 9, [rows[:1]] * 9)
    assert "undisturbed in 0 of 9" in alone.reason
    assert never.op_ns == few.op_ns == 0.0


def job(**params: Any) -> StudyTask:
    values = {name: key.default for name, key in KEYS.items()}
    values |= {"workload": "contention", "batch": 1, "total_blocks": 4096, "stretch_seconds": 0.02}
    return StudyTask({**values, **params}, quick=True)


@pytest.mark.parametrize("accepted", [[], [False] * 60])
def test_a_pool_without_proof_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, accepted: list[bool]
) -> None:
    from blockmark.measure.probes.overlap import Overlap
    from blockmark.studies.contention import threads

    impl = resolve("mutex/cpp")[0]
    if impl.unavailable:
        pytest.skip(impl.unavailable)
    reason = "the threads never ran at once in any of 60 windows"
    monkeypatch.setattr(threads, "overlap_metrics", lambda windows: (Overlap(0.0, reason), {}))
    if CORES < 2:
        pytest.skip("one processor")
    found = contention.measure(impl, job(threads=2))
    assert found["overlap_share"] == Reading(0.0)
    for name in ("pair_ns", "pairs_per_s", "cpu_ns_per_pair", "take_latency_undisturbed_ns"):
        assert found[name] == Reading.missing(reason)


def test_threads_beyond_the_processors_are_marked() -> None:
    impl = resolve("adaptive/cpp")[0]
    if impl.unavailable:
        pytest.skip(impl.unavailable)
    found = contention.measure(impl, job(threads=CORES + 1))
    for name in ("overlap_share", "take_latency_undisturbed_ns"):
        assert "oversubscribed" in found[name].unavailable
    assert found["pairs_per_s"].number > 0
    assert 0 <= found["fairness"].number <= 1
    scenario = find_scenario("contention")
    for threads, marked in ((CORES, False), (CORES + 1, True)):
        cell = scenario.override({"threads": [threads], "think_ns": [0]}).cells()[0]
        assert contention.prepare(cell, Path())[1]["oversubscribed"] is marked


def test_every_metric_of_a_round_has_a_row() -> None:
    native, engine = resolve("treiber/cpp")[0], resolve("async-lock/py")[0]
    rounds = [contention.measure(engine, job(coroutines=4, threads=1))]
    rounds.append(contention.measure(engine, job(coroutines=1, threads=1, request_rate=2000.0)))
    if not native.unavailable:
        rounds.append(contention.measure(native, job(threads=1)))
        rounds.append(contention.measure(native, job(threads=1, request_rate=2000.0)))
        counter = resolve("counter/cpp[stride=64]")[0]
        params = {"threads": 1, "workload": "false-sharing"}
        rounds.append(false_sharing.measure(counter, StudyTask(params, quick=True)))
    for found in rounds:
        assert found
        assert not set(found) - set(METRICS)


@pytest.mark.parametrize(
    ("target", "params", "reason"),
    [
        ("none/cpp", {"threads": 2}, "no lock, so it serves one thread"),
        ("no-lock/py", {"threads": 2}, "no lock, so it serves one thread"),
        ("mutex/cpp", {"threads": 1, "coroutines": 4}, "is for threads; set coroutines = 0"),
        ("async-lock/py", {"threads": 1}, "is for coroutines"),
        ("thread-lock/py", {"threads": 2, "request_rate": 5.0}, "paced with coroutines alone"),
        ("mutex/cpp", {"threads": CORES + 1, "request_rate": 5.0}, "each needs a processor"),
    ],
)
def test_what_has_no_place_in_a_cell_says_so(
    target: str, params: dict[str, Any], reason: str
) -> None:
    answer = contention.prove(resolve(target)[0], job(**params))
    assert answer["status"] == "unavailable"
    assert reason in answer["reason"]


def test_more_threads_than_make_sense() -> None:
    check_threads(16, 2)
    check_threads(64, 8)
    for threads, cores in ((17, 2), (65, 8), (65, 128)):
        with pytest.raises(ConfigError, match="more threads than make sense"):
            check_threads(threads, cores)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--threads", "5000"), "more threads than make sense"),
        (("--threads", "0"), "out of range"),
        (("--threads", "many"), "must be a whole number"),
        (("--think-ns", "-1"), "out of range"),
        (("--rate", "-1"), "out of range"),
        (("--coroutines", "4", "--think-ns", "10"), "think_ns has no effect on coroutines"),
        (("--coroutines", "500000"), "more than make sense"),
        (("--batch", "70000"), "batch = 70,000 is more than total_blocks = 65,536"),
        (("--impl", "vector/py"), "vector/py is a manager, but contention measures a shared pool"),
        (("--impl", "magazines/cpp[magazine=0]"), "magazine = 0 must be a whole number"),
        (("--set", "step_rate=5"), "step_rate has no effect"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    done = blockmark("contention", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_a_run_from_the_command_line(tmp_path: Path) -> None:
    if resolve("mutex/cpp")[0].unavailable:
        pytest.skip("no C++ core")
    words = ("--threads", f"1,{CORES + 1}", "--think-ns", "0", "--rounds", "1")
    words = (*words, "--impl", "none", "--impl", "magazines", "--set", "stretch_seconds=0.02")
    done = blockmark("contention", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # none/cpp has no place beside other threads, so three of four are verified.
    assert "3 of 3 verified" in done.stdout
    assert f"{CORES + 1} threads (oversubscribed: {CORES} processor" in done.stdout
    assert "none/cpp has no lock" in " ".join(done.stdout.split())
    report = tmp_path / "results" / "0001" / "report"
    assert {path.name for path in report.iterdir()} >= {"report.md", "throughput.png"}
    (run,) = (tmp_path / "results").glob("*/run.json")
    cells = json.loads(run.read_text())["cells"]
    stranded = {
        cell["params"]["threads"]: cell["metrics"]["stranded_blocks"]["value"]
        for cell in cells
        if cell["impl"] == "magazines/cpp"
    }
    assert all(1 <= value <= 2 * 512 * threads for threads, value in stranded.items())


def test_coroutines_from_the_command_line(tmp_path: Path) -> None:
    words = ("--coroutines", "8", "--rounds", "1", "--json", "--set", "total_blocks=512")
    done = blockmark("contention", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    waited = {
        cell["impl"]: cell["metrics"]["waited_share"]["value"]
        for cell in run["cells"]
        if "waited_share" in cell["metrics"]
    }
    assert waited["async-lock/py"] == 0
    assert waited["async-lock/py[await_inside=1]"] > 0.9
    assert "no-lock/py" not in waited
    (setting,) = run["settings"]
    assert "duplicate-request-leaks" in setting["facts"]["known_faults"]


def test_kinds_and_scenarios_fit_together() -> None:
    pools, counters = names_of("shared-pool"), names_of("counter-layout")  # type: ignore[arg-type]
    assert {"treiber/cpp", "async-lock/py", "async-lock-prefix/py"} <= set(pools)
    assert "counter/cpp" in counters
    for name in ("contention", "contention-asyncio", "contention-rate", "false-sharing"):
        scenario = find_scenario(name)
        assert scenario.analysis
        kinds = {resolve(target)[0].kind for target in scenario.implementations}
        assert kinds == {"counter-layout" if name == "false-sharing" else "shared-pool"}


def test_the_load_in_words() -> None:
    from blockmark.runs.model import Setting

    base = {"threads": 2, "coroutines": 0, "think_ns": 0, "request_rate": 0.0}
    base |= {"batch": 1, "total_blocks": 64}
    settings = [Setting("s", {**base, "threads": n, "think_ns": 100 * n}, {}) for n in (1, 4)]
    assert view.load_words(settings) == (
        "1 to 4 threads, batches of 1, think time 100 to 400 ns, 64 blocks"
    )
    coroutines = Setting("s", {**base, "coroutines": 8}, {})
    assert view.load_words([coroutines]) == "8 coroutines, batches of 1, 64 blocks"
