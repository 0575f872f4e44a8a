"""The study of capacity: its budget, its requests, its metrics, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockmark.measure.process.reading import Reading
from blockmark.measure.study import StudyTask
from blockmark.runs.metrics import METRICS
from blockmark.runs.store import load_run
from blockmark.studies.capacity import measure as study
from blockmark.studies.capacity.load import budget_of, capacity_requests
from blockmark.studies.capacity.memory import (
    Span,
    lengths_for_reserved,
    lengths_for_utilisation,
    paged_requests,
    reserved_requests,
    samples_for_saving,
    saved_by_samples,
    tokens_for_paged,
)
from blockmark.studies.capacity.simulation import Counts
from blockmark.workload.builtin import find_scenario
from blockmark.workload.errors import ConfigError
from blockmark.workload.memory_size import memory_size
from blockmark.workload.scenario import Cell, parse_setting
from blockmark_impls.registry import names_of, resolve
from cli import blockmark

TRACES = Path(__file__).parents[2] / "shared" / "traces"


def cell(*settings: str, scenario: str = "capacity") -> Cell:
    made = find_scenario(scenario).override(dict(parse_setting(text) for text in settings))
    return made.cells()[0]


def test_the_default_memory_is_what_the_weights_leave() -> None:
    # By hand: 0.9 x 79.15 GiB - 13.016e9 x 2 bytes - 2 GiB; 2 x 40 x 40 x 128 x 2 bytes a token.
    budget = budget_of(cell())
    assert budget.bytes_per_token == 819_200
    assert budget.kv_bytes == int(0.9 * 79.15 * 2**30) - 26_032_000_000 - 2 * 2**30
    assert budget.tokens == 58_970


@pytest.mark.parametrize(
    ("text", "size"),
    [("45GiB", 45 * 2**30), ("80GB", 80 * 10**9), (" 1.5 MiB", 1_572_864), ("7B", 7)],
)
def test_sizes(text: str, size: int) -> None:
    assert memory_size("x", text) == size


@pytest.mark.parametrize("text", ["", "45", "GiB", "4 gib", "-1GB", "1e3GB"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match=r"kv_memory = .* must be a number with a unit"):
        memory_size("kv_memory", text)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "kv_memory=100MiB",
            "holds 128 tokens of llama-13b, less than the smallest request (1,",
        ),
        ("kv_memory=1MB", "holds 1 tokens of llama-13b"),
        ("kv_memory=1KB", "is below one token of llama-13b (819,200 bytes)"),
        ("gpu_memory=20GB", "does not hold the weights of llama-13b (24.24 GiB)"),
        ("model_shape=32x8x128x2", 'kv_memory = "auto" needs the size of the weights'),
        ("model_shape=llama-13c", 'did you mean "llama-13b"?'),
    ],
)
def test_a_memory_that_holds_nothing(setting: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        study.prepare(cell(setting), tmp_path / "x")
    assert said in str(error.value)


def test_made_up_requests_share_what_they_say() -> None:
    requests, _ = capacity_requests(
        cell("requests=3", "shared_prefix_tokens=100", "parallel_samples=2")
    )
    assert [each.prompt for each in requests] == [1124] * 6
    assert [each.output for each in requests] == [256] * 6
    assert requests[0].pieces == requests[1].pieces == (("system", 100), ("prompt 0", 1024))
    assert requests[2].pieces == (("system", 100), ("prompt 1", 1024))


def test_requests_of_a_trace_share_by_hash(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    rows = [
        {"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 3]},
        {"timestamp": 60, "input_length": 1024, "output_length": 6, "hash_ids": [1, 9]},
    ]
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = (f"trace={trace}", "arrivals=timed", "step_ms=20")
    requests, facts = capacity_requests(cell(*settings, scenario="capacity-trace"))
    first, second = requests
    assert [tokens for _, tokens in first.pieces] == [512, 512, 76]
    assert [tokens for _, tokens in second.pieces] == [512, 512]
    assert first.pieces[0] == second.pieces[0]
    assert first.pieces[1] != second.pieces[1]
    assert [each.arrival for each in requests] == [0, 3]  # 60 ms in steps of 20
    assert facts["trace"]["hashes"] is True


def test_a_trace_without_arrivals_can_be_saturated_alone(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("num_prefill_tokens,num_decode_tokens\n100,10\n")
    with pytest.raises(ConfigError, match="has no arrival times; set arrivals = saturated"):
        capacity_requests(cell(f"trace={trace}", "arrivals=timed", scenario="capacity-trace"))
    with pytest.raises(ConfigError, match="prompt_tokens is missing; set it, or name a trace"):
        capacity_requests(cell(scenario="capacity-trace"))


def test_metrics_are_the_counts_divided() -> None:
    counts = Counts(
        steps=10, all_steps=12, live=500, reserved=100, internal=150, external=200, free=50,
        logical=600, running=30, running_peak=4, blocked=2, entries=70, entries_peak=9, saved=7,
        unshared=70, finished=8, not_served=2, preempted=4, computed=800, recomputed=80,
    )  # fmt: skip
    found = {name: entry.value for name, entry in study.metrics(counts, 100, 10).items()}
    assert found == {
        "memory_utilisation": 0.5,
        "reserved_share": 0.1,
        "internal_waste_share": 0.15,
        "external_waste_share": 0.2,
        "free_share": 0.05,
        "logical_tokens_share": 0.6,
        "blocked_steps_share": 0.2,
        "concurrent_requests_mean": 3.0,
        "concurrent_requests_peak": 4,
        "block_table_bytes_mean": 28.0,
        "block_table_bytes_peak": 36,
        "shared_saving_share": 0.1,
        "requests_not_served": 2,
        "preemptions_per_1000_requests": 500.0,
        "recomputed_tokens_share": 0.1,
        "steps_to_finish": 12,
    }
    assert set(found) == {name for name, row in METRICS.items() if row.model == "capacity"}


def test_no_step_that_counts_is_a_reason_and_no_zero() -> None:
    found = study.metrics(Counts(finished=1, all_steps=5, computed=9), 100, 1)
    assert "no request waited" in found["memory_utilisation"].unavailable
    found = study.metrics(Counts(not_served=3), 100, 3)
    assert "no request fits" in found["concurrent_requests_mean"].unavailable
    assert found["requests_not_served"] == Reading(3)


@pytest.mark.parametrize("name", [*names_of("policy"), "paged-shared[block_size=3]"])
def test_every_policy_is_proved(name: str) -> None:
    answer = study.prove(resolve(name)[0], StudyTask({}))
    assert answer["status"] == "ok"
    assert answer["steps"] > 100


def test_a_policy_that_hands_a_token_out_twice_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from blockmark_impls.capacity.first_fit import FirstFit

    monkeypatch.setattr(FirstFit, "give_back", lambda self, place, size: None)
    monkeypatch.setattr(FirstFit, "place", lambda self, size: 0 if size <= self.tokens else None)
    answer = study.prove(resolve("first-fit")[0], StudyTask({}))
    assert answer["status"] == "wrong"
    assert "are held twice or are none" in answer["reason"]


def test_arithmetic_of_the_published_setting() -> None:
    """The figures of shared/reference/claims.md, section 4, which were reckoned by hand."""
    assert paged_requests(58_970, 1024, 256, 16) == 46
    assert [reserved_requests(58_970, length) for length in (2048, 4096, 8192)] == [28, 14, 7]
    assert tokens_for_paged(24, 1024, 256, 16) == Span(30_720, 31_999)
    # 8 slots: max_len from 3,414 of the smallest memory to below 4,000 of the largest.
    assert lengths_for_reserved(8, 30_720).low == 3_414
    assert lengths_for_reserved(8, 31_999).high == 3_999
    assert reserved_requests(30_720, 3_414) == 8
    assert reserved_requests(30_720, 3_413) == 9
    assert lengths_for_utilisation(0.4, 0.6, 1024, 256) == Span(1_920, 2_880)
    assert [round(saved_by_samples(n, 1024, 256), 3) for n in (2, 3, 4, 8)] == [
        0.4, 0.533, 0.6, 0.7,
    ]  # fmt: skip
    assert samples_for_saving(0.3, 0.6, 1024, 256) == Span(2, 4)
    assert samples_for_saving(0.9, 0.95, 1024, 256).is_empty


def test_the_command_counts_the_published_setting(tmp_path: Path) -> None:
    done = blockmark("capacity", "--set", "requests=200", "--output", "o", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "o" / "0001")
    assert run.complete
    assert run.rounds == 1
    found = {each.impl: each for each in run.cells}
    reserve = found["reserve"].metrics
    # 58,970 // 2,048 slots; 28 x (1,024 + 255 / 2) tokens of 58,970, since all start at once.
    assert reserve["concurrent_requests_mean"].value == 28
    assert reserve["memory_utilisation"].value == pytest.approx(28 * 1151.5 / 58_970, rel=1e-3)
    assert reserve["memory_utilisation"].source == "simulation"
    assert "block_table_bytes_mean" not in reserve
    assert found["first-fit"].metrics["external_waste_share"].value == 0
    assert found["paged[block_size=1]"].metrics["internal_waste_share"].value == 0
    assert "45.0 GiB for KV entries = 58,970 tokens" in " ".join(done.stdout.split())
    assert "11 of 11 verified" in done.stdout
    assert "30,720 to 31,999 tokens of memory" in " ".join(done.stdout.split())
    report = (tmp_path / "o" / "0001" / "report" / "report.md").read_text()
    assert "![Where the memory goes: capacity](memory.png)" in report
    assert (tmp_path / "o" / "0001" / "report" / "gain.png").stat().st_size > 10_000
    assert "| memory\\_utilisation |" in report or "| memory_utilisation |" in report


@pytest.mark.skipif(not TRACES.is_dir(), reason="shared traces are not here")
def test_the_command_on_a_trace_is_what_others_found(tmp_path: Path) -> None:
    """shared/reference/claims.md, section 4: Azure code, T = 32,768 (25 GiB), 1,000 requests."""
    done = blockmark(
        "capacity", "--trace", str(TRACES / "azure_llm_2023_code.csv"), "--kv-memory", "25GiB",
        "--set", "trace_limit=1000", "--impl", "reserve", "--impl", "first-fit", "--impl",
        "paged[block_size=16]", "--output", "o", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {each.impl: each.metrics for each in load_run(tmp_path / "o" / "0001").cells}
    assert found["reserve"]["memory_utilisation"].value == pytest.approx(0.34, abs=0.02)
    assert found["reserve"]["requests_not_served"].value == pytest.approx(170, abs=20)
    assert found["first-fit"]["external_waste_share"].value == pytest.approx(0.235, abs=0.03)
    assert found["paged[block_size=16]"]["memory_utilisation"].value == pytest.approx(
        0.93, abs=0.02
    )
    mean = found["paged[block_size=16]"]["concurrent_requests_mean"].value
    assert mean == pytest.approx(13.4, abs=0.7)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["capacity", "--impl", "paged[block_size=0]"], "block_size = 0 must be a whole number of"),
        (["capacity", "--impl", "vector/py"], "vector/py is a manager, but capacity measures a po"),
        (["run", "decode", "--impl", "reserve"], "reserve is a policy, but decode measures a mana"),
        (["capacity", "--set", "heap=aged"], 'heap has no effect on workload = "capacity"'),
        (["capacity", "--mixed", "--trace", "x"], "name one of them"),
        (["capacity", "--trace", "absent.csv"], "absent.csv: no such trace file"),
        (["capacity", "--kv-memory", "100MiB"], "less than the smallest request"),
        (["run", "decode", "--set", "max_len=7"], 'max_len has no effect on workload = "decode"'),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = blockmark(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
