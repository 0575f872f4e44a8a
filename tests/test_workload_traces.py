"""Readers of serving traces: every format, its oddities, and the public slices."""

from __future__ import annotations

import csv
import datetime
import itertools
import json
import math
import statistics
import tracemalloc
from pathlib import Path

import pytest

from blockmark.workload.errors import ConfigError
from blockmark.workload.traces import FORMATS, Request, open_trace, summarise
from trace_files import (
    AZURE,
    BURSTGPT,
    BURSTGPT_3,
    LENGTHS,
    VIDUR,
    bailian,
    mooncake,
    pack,
    save,
    slice_of,
)


def test_azure_2023_has_seven_digits_crlf_and_no_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(
        AZURE.encode() + b"\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
        b"2023-11-16 18:17:04.0319601,3180,8"
    )
    trace = open_trace(path)
    assert trace.format == "azure"
    assert list(trace) == [Request(0.0, 4808, 10), Request(0.0520001, 3180, 8)]


def test_azure_2024_has_an_offset_and_sometimes_no_fraction(tmp_path: Path) -> None:
    path = save(
        tmp_path / "t.csv",
        AZURE,
        "2024-05-10 00:00:00.009930+00:00,10,1",
        "2024-05-10 00:00:01+00:00,10,1",
        "2024-05-10 02:00:01.5+02:00,10,1",
        "2024-05-09T23:30:02-0030,10,1",
        "2024-05-10 00:00:03Z,10,1",
    )
    assert [r.arrival_s for r in open_trace(path)] == [0.0, 0.99007, 1.49007, 1.99007, 2.99007]


def test_burstgpt_by_column_name_and_failed_requests_counted(tmp_path: Path) -> None:
    first = save(
        tmp_path / "1.csv",
        BURSTGPT,
        "5,ChatGPT,472,18,490,Conversation log",
        "45,GPT-4,0,0,0,API log",
        "45,GPT-4,7,0,7,API log",
        "45,GPT-4,0,7,7,API log",
        "45,GPT-4,9,3,12,API log",
    )
    trace = open_trace(first)
    assert list(trace) == [Request(0.0, 472, 18), Request(40.0, 9, 3)]
    assert trace.rows == 5
    assert trace.skipped == {"no tokens": 1, "no output tokens": 1, "no prompt tokens": 1}
    third = save(tmp_path / "3.csv", BURSTGPT_3, "5.25,s1,3.5,ChatGPT,472,18,490,Conversation log")
    trace = open_trace(third)
    assert trace.format == "burstgpt"
    assert list(trace) == [Request(0.0, 472, 18)]
    assert trace.ignored == ()


def test_time_counts_from_the_first_row_even_if_that_is_left_out(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", BURSTGPT, "5,m,0,0,0,x", "8,m,1,1,2,x")
    assert [r.arrival_s for r in open_trace(path)] == [3.0]


def test_mooncake_and_bailian(tmp_path: Path) -> None:
    path = save(tmp_path / "m", mooncake(600, [0, 2**40], 3000), mooncake(10, [7], 6500))
    trace = open_trace(path)
    assert trace.format == "mooncake"
    assert list(trace) == [Request(0.0, 600, 5, (0, 2**40), 512), Request(3.5, 10, 5, (7,), 512)]
    path = save(tmp_path / "q", bailian(33, [1, 2, 3], 61.114), bailian(16, [1], 62.0))
    trace = open_trace(path)
    assert trace.format == "bailian"
    assert list(trace) == [Request(0.0, 33, 5, (1, 2, 3), 16), Request(0.886, 16, 5, (1,), 16)]
    assert trace.odd_id_counts == 0
    assert open_trace(path, format="mooncake").hash_block == 512


def test_vidur_with_and_without_arrivals(tmp_path: Path) -> None:
    timed = open_trace(save(tmp_path / "t.csv", VIDUR, "0.0,374,44", "4.314579,396.0,109"))
    assert timed.format == "vidur"
    assert list(timed) == [Request(0.0, 374, 44), Request(4.314579, 396, 109)]
    path = save(tmp_path / "l.csv", LENGTHS, "3772,54,3826,69.85")
    bare = open_trace(path)
    assert (bare.format, bare.has_arrivals) == ("lengths", False)
    assert list(bare) == [Request(None, 3772, 54)]
    assert list(open_trace(tmp_path / "t.csv", format="lengths"))[1] == Request(None, 396, 109)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_told_by_its_first_line(tmp_path: Path, name: str) -> None:
    form = FORMATS[name]
    needed = [*form.needed, *form.marks]
    if form.kind == "csv":
        path = save(tmp_path / "t", ",".join(reversed(needed)), ",".join("5" * len(needed)))
    else:
        record = dict.fromkeys(needed, 5) | {"hash_ids": [1]}
        path = save(tmp_path / "t", json.dumps(record))
    assert open_trace(path).format == name
    assert [(r.prompt_tokens, r.output_tokens) for r in open_trace(path)] == [(5, 5)]


def test_gzip_is_told_by_its_bytes_and_a_bom_is_no_name(tmp_path: Path) -> None:
    text = f"\ufeff{AZURE.lower()}\r\n\r\n2023-11-16 18:17:03,5,6\r\n".encode()
    plain = tmp_path / "t.gz"
    plain.write_bytes(text)
    packed = pack(tmp_path / "t.csv", text)
    assert list(open_trace(plain)) == list(open_trace(packed)) == [Request(0.0, 5, 6)]


def test_epoch_stamps_of_any_unit_as_numbers_and_text(tmp_path: Path) -> None:
    for unit in (10**9, 10**6, 10**3):
        base = 1_700_158_623 * unit
        path = save(
            tmp_path / "m",
            mooncake(5, [1], str(base)),
            mooncake(5, [1], base + unit // 4),
            mooncake(5, [1], str(base + unit)),
        )
        assert [r.arrival_s for r in open_trace(path)] == [0.0, 0.25, 1.0]
    path = save(tmp_path / "a", AZURE, "1700158623979960001,5,5", "1700158624979960002,5,5")
    assert [r.arrival_s for r in open_trace(path)] == [0.0, 1.000000001]
    path = save(tmp_path / "b", AZURE, "1700158623.25,5,5", "1700158623.2500001,5,5")
    assert [r.arrival_s for r in open_trace(path)] == [0.0, 1e-7]


def test_stamps_that_go_back_arrive_with_the_one_before(tmp_path: Path) -> None:
    rows = [f"{at},1,{number + 1}" for number, at in enumerate((10, 12, 11, 9, 12, 13))]
    trace = open_trace(save(tmp_path / "t.csv", VIDUR, *rows))
    assert [(r.arrival_s, r.output_tokens) for r in trace] == [
        (0.0, 1),
        (2.0, 2),
        (2.0, 3),
        (2.0, 4),
        (2.0, 5),
        (3.0, 6),
    ]
    assert (trace.out_of_order, trace.furthest_back_s, trace.equal_stamps) == (2, 3.0, 1)
    assert any("2 rows have an earlier time" in sentence for sentence in trace.oddities())


def test_limit_window_and_speedup(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", VIDUR, *(f"{at},1,{at}" for at in range(5, 25)))
    assert [r.output_tokens for r in open_trace(path, limit=3)] == [5, 6, 7]
    trace = open_trace(path, window=(4, 10), speedup=2)
    assert [(r.arrival_s, r.output_tokens) for r in trace] == [
        (0.0, 9),
        (0.5, 10),
        (1.0, 11),
        (1.5, 12),
        (2.0, 13),
        (2.5, 14),
    ]
    assert trace.skipped == {"before the window": 4}
    assert trace.rows == 10
    rest = open_trace(path, window=(18, math.inf), limit=5)
    assert [r.arrival_s for r in rest] == [0.0, 1.0]


def test_a_trace_may_be_read_again_and_counts_from_zero(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", BURSTGPT, "5,m,0,0,0,x", "8,m,1,1,2,x", "8,m,2,1,2,x")
    trace = open_trace(path)
    first = next(iter(trace))
    assert trace.requests == 1
    assert next(iter(trace)) == first
    assert list(trace) == list(trace)
    assert (trace.rows, trace.requests, trace.equal_stamps) == (3, 2, 1)


def test_unknown_columns_are_told_once_and_quoted_fields_read(tmp_path: Path) -> None:
    path = save(
        tmp_path / "t.csv", f'user,{VIDUR},"a, b"', 'x,0,1,1,"c, d"', "x,1,2,2,", "x,2,3,3,y"
    )
    trace = open_trace(path)
    assert [r.prompt_tokens for r in trace] == [1, 2, 3]
    assert trace.ignored == ("user", "a, b")
    records = [mooncake(5, [1], number, user=1, **{f"x{number}": 1}) for number in range(3)]
    trace = open_trace(save(tmp_path / "m", *records))
    assert len(list(trace)) == 3
    assert trace.ignored == ("user", "x0", "x1", "x2")
    told = [sentence for sentence in trace.oddities() if "user" in sentence]
    assert len(told) == 1


def test_progress_goes_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    text = "\n".join([VIDUR, *(f"{at},1,1" for at in range(50_000))]).encode()
    for path in (pack(tmp_path / "g", text), tmp_path / "p"):
        if not path.exists():
            path.write_bytes(text)
        said: list[tuple[int, int, str]] = []
        trace = open_trace(path, progress=lambda *words, to=said: to.append(words))
        assert sum(1 for _ in trace) == 50_000
        calls = [(done, size) for done, size, _ in said]
        assert calls == sorted(calls)
        assert {size for _, size in calls} == {path.stat().st_size}
        assert calls[-1][0] == path.stat().st_size
        assert len(calls) <= 201


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        path = tmp_path / "t.csv"
        with path.open("w") as file:
            file.write(VIDUR + "\n")
            file.writelines(f"{at},{at % 3000 + 1},{at % 700}\n" for at in range(rows))
        tracemalloc.start()
        try:
            summarise(open_trace(path), 16)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1000)
    assert peak(100_000) < peak(20_000) + 200_000


# -- the public slices, against answers computed here another way


def test_the_azure_code_trace() -> None:
    path = slice_of("azure_llm_2023_code.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    trace = open_trace(path)
    got = list(trace)
    assert len(got) == 8819
    assert [r.prompt_tokens for r in got] == [int(row["ContextTokens"]) for row in rows]
    assert [r.output_tokens for r in got] == [int(row["GeneratedTokens"]) for row in rows]
    stamps = [datetime.datetime.fromisoformat(row["TIMESTAMP"]) for row in rows]
    for request, stamp in zip(got, stamps, strict=True):
        assert request.arrival_s is not None
        assert abs(request.arrival_s - (stamp - stamps[0]).total_seconds()) < 2e-6
    facts = summarise(trace, 16)
    gaps = [(b - a).total_seconds() for a, b in itertools.pairwise(stamps)]
    cv = statistics.pstdev(gaps) / statistics.fmean(gaps)
    assert facts["arrivals"]["gap_cv"] == pytest.approx(cv, rel=1e-4)
    assert cv == pytest.approx(13, abs=0.5)
    assert round(facts["arrivals"]["rate_per_s"], 2) == 2.57
    assert round(facts["prompt_tokens"]["mean"]) == 2048
    assert round(facts["output_tokens"]["mean"]) == 28
    blocks = facts["blocks_per_request"]
    assert round(blocks["mean"], 1) == 130.2
    assert (blocks["p50"], blocks["max"]) == (94, 491)
    assert round(100 * facts["last_block_waste"], 2) == 0.37
    contiguous = [round(100 * place["waste"], 1) for place in facts["reservations"]]
    assert contiguous == [65.8, 74.7, 93.7]


def test_the_burstgpt_slice() -> None:
    facts = summarise(open_trace(slice_of("burstgpt_1_first400.csv")), 16)
    assert (facts["rows"], facts["requests"]) == (400, 383)
    assert sum(facts["skipped"].values()) == 17
    assert round(facts["blocks_per_request"]["mean"], 1) == 52.5
    assert round(100 * facts["last_block_waste"], 2) == 0.88
    assert [round(100 * p["waste"], 1) for p in facts["reservations"]] == [79.7, 89.8, 97.5]
    # The origin's mean of 521 and 277 tokens has the rows with none in it.
    assert round(facts["prompt_tokens"]["mean"] * 383 / 400, 0) in (520, 521)
    assert any("17 of 400 rows left out" in sentence for sentence in facts["oddities"])


def test_the_mooncake_slice() -> None:
    facts = summarise(open_trace(slice_of("mooncake_fast25_conversation.jsonl")), 16)
    sharing = facts["sharing"]
    assert facts["requests"] == 1530
    assert sharing["id_references"] == 42_320
    assert round(100 * sharing["id_share"], 1) == 26.5
    # Of the full blocks of prompts and outputs; of those of prompts alone it is more.
    assert round(100 * sharing["block_share_with_output"], 1) == 26.3
    assert round(100 * sharing["block_share"], 1) == 26.9
    assert (facts["odd_id_counts"], facts["repeated_ids"]) == (0, 0)


def test_the_vidur_slices() -> None:
    trace = open_trace(slice_of("vidur_splitwise_conv.csv"))
    got = list(trace)
    assert (len(got), trace.format, got[1]) == (2000, "vidur", Request(4.314579, 396, 109))
    trace = open_trace(slice_of("vidur_arxiv_lengths.csv"))
    got = list(trace)
    assert (len(got), trace.format, got[0]) == (5000, "lengths", Request(None, 3772, 54))
    assert summarise(trace, 16)["arrivals"] is None


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", VIDUR, "0,1,1")
    bare = save(tmp_path / "l.csv", LENGTHS, "1,1,2,1")
    for target, options, says in [
        (path, {"limit": 0}, "a limit of 0 requests"),
        (path, {"speedup": 0.0}, "sped up by 0;"),
        (path, {"speedup": math.nan}, "sped up by nan"),
        (path, {"speedup": math.inf}, "sped up by inf"),
        (path, {"window": (5, 5)}, "a window from 5 s to 5 s"),
        (path, {"window": (-1, 5)}, "a window from -1 s"),
        (path, {"window": (math.nan, 5)}, "a window from nan s"),
        (path, {"window": (1e300, math.inf)}, "a window from 1e+300 s"),
        (path, {"format": "azur"}, 'unknown trace format "azur"; did you mean "azure"?'),
        (bare, {"window": (0, 5)}, "has no arrival times, so a window"),
        (bare, {"speedup": 2.0}, "has no arrival times, so a speed-up"),
    ]:
        with pytest.raises(ConfigError) as told:
            open_trace(target, **options)  # type: ignore[arg-type]
        assert says in str(told.value)
