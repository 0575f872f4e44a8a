"""`blockmark trace` as a user runs it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from cli import blockmark
from trace_files import AZURE, BURSTGPT, LENGTHS, VIDUR, mooncake, save, slice_of

ROWS = ("5,m,100,28,128,x", "6,m,0,0,0,x", "9,m,20,12,32,x", "9,m,5000,12,5012,x")


def test_screen(tmp_path: Path) -> None:
    save(tmp_path / "t.csv", BURSTGPT, *ROWS)
    done = blockmark("trace", "t.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:2] == [
        "t.csv",
        "BurstGPT (format burstgpt): 3 requests in 4.00 s, 0.500 requests/s, CV of gaps",
    ]
    rows = {name: values for name, *values in (re.split(r"\s{2,}", line) for line in lines)}
    assert rows["prompt tokens"] == ["1,706.7", "100", "5,000", "5,000", "5,000"]
    assert rows["blocks of 16"] == ["108.0", "8", "314", "314", "314"]
    assert rows["4,096 tokens reserved"] == ["98.0 %", "2"]
    assert "1 of 4 rows left out: no tokens." in lines
    assert "1 row has the time of the row before; order as in the file." in lines


def test_narrow_and_not_utf8(tmp_path: Path) -> None:
    save(tmp_path / "t.csv", VIDUR, "0,5,5")
    done = blockmark(
        "trace",
        "t.csv",
        cwd=tmp_path,
        env={"COLUMNS": "40", "PYTHONIOENCODING": "ascii", "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 40
    assert "all at one time" in done.stdout


def test_json_has_everything(tmp_path: Path) -> None:
    text = "\n".join(
        [mooncake(600, [1, 2], 0), mooncake(700, [1, 3], 2000), mooncake(7, [9], 4000)]
    )
    (tmp_path / "t.gz").write_bytes(gzip.compress(text.encode()))
    done = blockmark("trace", "t.gz", "--json", "--block-size", "32", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["format"], facts["rows"], facts["requests"]) == ("mooncake", 3, 3)
    assert facts["arrivals"] == {"duration_s": 4.0, "rate_per_s": 0.5, "gap_cv": 0.0}
    sharing = facts["sharing"]
    assert (sharing["id_hits"], sharing["id_references"]) == (1, 5)
    assert (sharing["block_hits"], sharing["block_references"]) == (16, 18 + 21)
    assert sharing["short_prompts"] == 1
    assert facts["stopped"] is None


def test_options_mean_what_they_say(tmp_path: Path) -> None:
    save(tmp_path / "t.csv", VIDUR, *(f"{at},1,{at + 1}" for at in range(20)))

    def facts(*words: str) -> dict[str, object]:
        done = blockmark("trace", "t.csv", "--json", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        loaded: dict[str, object] = json.loads(done.stdout)
        return loaded

    assert facts("--limit", "4")["requests"] == 4
    assert facts("--window", "5:8")["requests"] == 3
    assert facts("--window", "5:")["requests"] == 15
    assert facts("--window", ":5")["requests"] == 5
    arrivals = facts("--speedup", "10")["arrivals"]
    assert isinstance(arrivals, dict)
    assert arrivals["duration_s"] == pytest.approx(1.9)
    assert facts("--format", "lengths")["arrivals"] is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["missing.csv"], "missing.csv: no such trace file"),
        (["bad.csv"], "bad.csv: line 3: GeneratedTokens: 'x' is not a whole number"),
        (["odd.csv"], "odd.csv: in no known trace format; its first line is 'a,b'"),
        (["lengths.csv", "--format", "mooncake"], "not in the format mooncake"),
        (["lengths.csv", "--format", "mooncak"], 'did you mean "mooncake"?'),
        (["lengths.csv", "--window", "0:5"], "has no arrival times, so a window"),
        (["lengths.csv", "--window", "five"], "--window five: must be START:END"),
        (["lengths.csv", "--window", "a:b"], "--window a:b: must be START:END"),
        (["lengths.csv", "--speedup", "0"], "can't be sped up by 0"),
        (["lengths.csv", "--limit", "0"], "limit"),
        (["lengths.csv", "--block-size", "0"], "block-size"),
        (["mooncake.jsonl", "--block-size", "48"], "block_size = 48 does not go with the trace"),
        ([], "FILE"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(tmp_path: Path, words: list[str], says: str) -> None:
    save(tmp_path / "bad.csv", AZURE, "2023-11-16 18:17:03.9799600,1,1", "2023-11-16 18:17:04,1,x")
    save(tmp_path / "odd.csv", "a,b", "1,2")
    save(tmp_path / "lengths.csv", LENGTHS, "1,2,3,4")
    save(tmp_path / "mooncake.jsonl", mooncake(600, [1, 2]))
    done = blockmark("trace", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_was_read_before_the_error_is_shown(tmp_path: Path) -> None:
    save(tmp_path / "t.csv", VIDUR, "0,1,1", "1,2,2", "2,x,3")
    done = blockmark("trace", "t.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "2 requests in 1.00 s" in done.stdout
    assert "could not be read to its end" in done.stdout
    assert "error: t.csv: line 4: num_prefill_tokens: 'x' is not a whole number" in done.stderr


def test_azure_on_the_screen(tmp_path: Path) -> None:
    path = slice_of("azure_llm_2023_code.csv")
    done = blockmark("trace", str(path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in ("8,819 requests", "2.57 requests/s", "130.2", "94", "491", "0.367 %", "65.8 %"):
        assert text in done.stdout


def test_mooncake_on_the_screen(tmp_path: Path) -> None:
    done = blockmark("trace", str(slice_of("mooncake_fast25_conversation.jsonl")), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "26.5 % of 42,320 references to ids of 512 tokens" in text
    assert "26.9 % of 1,329,974 full blocks of prompts, 26.3 % of 1,363,673" in text


def test_a_run_of_a_trace_is_told_by_the_trace_that_ran(tmp_path: Path) -> None:
    """Not by the words of the scenario that ran it, which was made for another trace."""
    save(tmp_path / "mine.csv", VIDUR, *(f"{at},{100 + at},{10 + at}" for at in range(21)))
    words = ("--set", "trace=mine.csv", "--set", "trace_format=auto", "--impl", "vector/py")
    words = (*words, "--quick", "--report", "out")
    done = blockmark("run", "trace-azure-code", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    # Means of 100..120 and 10..30.
    assert "mine.csv (vidur)" in said
    assert "110 tokens in on average, 20 out" in said
    title = (tmp_path / "out" / "report.md").read_text().partition("\n")[0]
    assert title == "# A serving trace of lengths and arrivals: mine.csv (vidur)"
