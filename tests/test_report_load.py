"""What loads were about: every known fact in words, unknown ones by name, odd ones unharmed."""

from __future__ import annotations

from typing import Any

import pytest

from blockmark.report.facts.load import (
    common_sentence,
    load_rows,
    load_sentence,
    load_table,
    notes_along,
)
from blockmark.report.facts.setting import load_line
from blockmark.report.facts.sweep import sweeps
from blockmark.runs.codec import dump_run, parse_run
from blockmark.runs.model import Setting
from run_factory import make_run
from swept_run_factory import WORKLOAD_FACTS, make_workload_run


def setting_of(workload: str, **facts: Any) -> Setting:
    return parse_run(make_workload_run(workload, **facts)).settings[0]


@pytest.mark.parametrize(
    ("workload", "sentence"),
    [
        (
            "beam",
            "Beam search: 12.5 forks a step, 8.25 copies a step, 16.5 MiB copied a step, "
            "62.0 % of the entries shared.",
        ),
        (
            "parallel-sampling",
            "Parallel samples of one prompt: 0.75 forks a step, 0.5 copies a step, 1.00 MiB "
            "copied a step, 40.0 % of the entries shared.",
        ),
        (
            "speculative",
            "Speculative lookahead: 37.5 % of the tokens taken ahead rejected, 3.5 blocks given "
            "back a step.",
        ),
        ("sliding-window", "Sliding window: 16 blocks dropped a step."),
        (
            "serving",
            "Serving: code.csv (azure), 10x as fast, 8,819 requests, 119 rejected, 12 preempted "
            "to be computed again, p99 waited 1.13 s, 26.5 % of the prompt tokens from the "
            "cache, 1,204 blocks shared live, 30,112 revived, 28,000 evicted, 20 rows skipped "
            "(zero tokens 17, prompt too long 3). A budget of 8,192 tokens a step was never "
            "reached.",
        ),
    ],
)
def test_each_workload_in_a_sentence(workload: str, sentence: str) -> None:
    assert load_sentence(setting_of(workload)) == sentence


def test_decode_has_nothing_to_add() -> None:
    content = make_run()
    content["settings"][0]["facts"] |= {"prompt_tokens": 2048, "output_tokens": 512}
    for part in (*content["settings"], *content["cells"]):
        part["params"]["workload"] = "decode"
    setting = parse_run(content).settings[0]
    assert load_sentence(setting) == ""
    assert load_rows(setting) == []


def test_no_hits_are_an_answer_and_other_zeros_are_left_out() -> None:
    cache = {
        "prompt_tokens": 1000,
        "hit_tokens": 0,
        "hit_share": 0.0,
        "evicted_blocks": 0,
        "note": "the shared prefix of 8 tokens is shorter than a block of 16: it never hits",
    }
    text = load_sentence(
        setting_of("serving", cache=cache, trace=None, requests=None, scheduler_notes=None)
    )
    assert text == (
        "Serving: 0 % of the prompt tokens from the cache. The shared prefix of 8 tokens is "
        "shorter than a block of 16: it never hits."
    )


def test_every_number_of_the_facts_is_in_the_rows_zeros_too() -> None:
    rows = dict(load_rows(setting_of("serving")))
    assert rows["workload"] == "serving"
    assert rows["trace"] == "code.csv (azure)"
    assert rows["requests of the trace"] == "8,819"
    assert rows["preemptions by swap"] == "0"
    assert rows["waiting, p99"] == "34 steps"
    assert rows["waiting, p50 in time"] == "0 s"
    assert rows["tokens from the cache"] == "4,785,635"
    assert rows["cache hits"] == "26.5 %"
    assert rows["tokens hit by re-admissions"] == "512"
    assert rows["rows skipped"] == "20 (zero tokens 17, prompt too long 3)"
    facts = WORKLOAD_FACTS["serving"]
    # Two of the trace make one row, its skipped rows another; the workload is one too.
    assert len(rows) == len(facts["requests"]) + len(facts["cache"]) + 2 + 2 + 1 + 1 + 1


def test_a_fact_that_nobody_knows_has_its_own_name() -> None:
    rows = dict(
        load_rows(
            setting_of(
                "beam",
                survival="mixed",
                width_of_beams=4,
                lost_share=0.25,
                requests={"lost": 3},
                lengths=[1, 2],
            )
        )
    )
    assert rows["survival"] == "mixed"
    assert rows["width of beams"] == "4"
    assert rows["lost share"] == "25.0 %"
    assert rows["requests, lost"] == "3"
    assert rows["lengths"] == "1, 2"


@pytest.mark.parametrize(
    "odd", [None, True, "text", [1, "x"], {"a": {"b": [1]}}, 1e300, -1, 10**400]
)
@pytest.mark.parametrize(
    "name", sorted({name for facts in WORKLOAD_FACTS.values() for name in facts})
)
def test_a_fact_of_any_kind_is_no_traceback(name: str, odd: Any) -> None:
    content = make_workload_run("serving")
    content["settings"][0]["facts"] |= {name: odd, "workload": odd}
    setting = parse_run(content).settings[0]
    assert isinstance(load_sentence(setting), str)
    assert all(isinstance(text, str) for row in load_rows(setting) for text in row)


def test_nested_facts_survive_the_run_file() -> None:
    content = make_workload_run("serving")
    run = parse_run(content)
    assert dump_run(run)["settings"] == content["settings"]
    assert parse_run(dump_run(run)) == run


def four_loads() -> dict[str, Any]:
    content = make_workload_run("serving", (16, 64, 512, 1024))
    for setting, share, preempted in zip(
        content["settings"], (0.3, 0.2, 0.0, 0.0), (5, 0, 0, 0), strict=True
    ):
        size = setting["params"]["block_size"]
        setting["facts"]["cache"]["hit_share"] = share
        setting["facts"]["requests"]["preempted_recompute"] = preempted
        if size > 500:
            setting["facts"]["cache"]["note"] = f"the prefix is shorter than a block of {size}"
    return content


def test_a_trace_at_its_own_speed_is_nothing_to_tell() -> None:
    trace = {"file": "a.csv", "speedup": 1.0}
    facts = {"trace": trace, "requests": None, "cache": None, "scheduler_notes": None}
    assert load_sentence(setting_of("serving", **facts)) == "Serving: a.csv."


def test_what_loads_differ_in_is_a_table_and_the_rest_one_sentence() -> None:
    [sweep] = sweeps(parse_run(four_loads()))
    table = load_table(sweep)
    assert table is not None
    assert [column.title for column in table.columns] == ["16", "64", "512", "1,024"]
    assert [(row.name, [entry.text for entry in row.entries]) for row in table.rows] == [
        ("preemptions by recompute", ["5", "0", "0", "0"]),
        ("cache hits", ["30.0 %", "20.0 %", "0 %", "0 %"]),
    ]
    text = common_sentence(sweep)
    assert "8,819 requests" in text
    assert "%" not in text
    assert "preempted" not in text


def test_a_note_says_where_it_holds() -> None:
    [sweep] = sweeps(parse_run(four_loads()))
    assert notes_along(sweep) == [
        "A budget of 8,192 tokens a step was never reached.",
        "At block_size 512 to 1,024: The prefix is shorter than a block of 512 to 1024.",
    ]


def test_a_setting_that_was_refused_has_no_say() -> None:
    content = four_loads()
    content["settings"][3]["facts"] = {}
    [sweep] = sweeps(parse_run(content))
    assert "8,819 requests" in common_sentence(sweep)
    table = load_table(sweep)
    assert table is not None
    assert [row.entries[3].text for row in table.rows] == ["-"] * len(table.rows)


def test_loads_that_are_alike_have_no_table() -> None:
    [sweep] = sweeps(parse_run(make_workload_run("beam", (1, 16, 32, 64))))
    assert load_table(sweep) is None
    assert common_sentence(sweep) == load_sentence(sweep.settings[0])


def test_requests_of_several_sequences_say_so() -> None:
    def line(**params: object) -> str:
        return load_line(Setting("s", {"concurrency": 64, **params}, {}))

    assert line() == "64 sequences"
    assert line(beam_width=4) == "64 requests, 4 sequences each"
    assert line(parallel_samples=8, concurrency=1) == "1 request, 8 sequences each"
