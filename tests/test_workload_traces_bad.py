"""Bad traces: each mistake is one clear line, and nothing that was read is lost."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from blockmark.workload.errors import ConfigError
from blockmark.workload.traces import FORMATS, Request, Trace, block_hashes, open_trace, summarise
from blockmark.workload.traces import lines as lines_module
from trace_files import AZURE, BURSTGPT, LENGTHS, VIDUR, bailian, mooncake, save


def told(path: Path, **options: object) -> str:
    """The message of the one error that this trace ends in."""
    with pytest.raises(ConfigError) as error:
        list(open_trace(path, **options))  # type: ignore[arg-type]
    message = str(error.value)
    assert "\n" not in message
    return message


def until_error(trace: Trace) -> tuple[list[Request], str]:
    """What a trace gives out before it ends in an error, and the error's text ("" if none)."""
    got: list[Request] = []
    try:
        got.extend(trace)
    except ConfigError as error:
        return got, str(error)
    return got, ""


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("2023-11-16 18:17:04,many,10", "line 3: ContextTokens: 'many' is not a whole number"),
        ("2023-11-16 18:17:04,1.5,10", "line 3: ContextTokens: '1.5' is not a whole number"),
        ("2023-11-16 18:17:04,,10", "line 3: ContextTokens: '' is not a whole number"),
        ("2023-11-16 18:17:04,nan,10", "line 3: ContextTokens: 'nan' is not a whole number"),
        ("2023-11-16 18:17:04,5,-1", "line 3: GeneratedTokens: '-1' is not between 0 and"),
        ("2023-11-16 18:17:04,5,1e12", "line 3: GeneratedTokens: '1e12' is not between 0 and"),
        ("2023-11-16 18:17:04,5," + "9" * 5000, "line 3: GeneratedTokens: '999"),
        ("2023-11-16 18:17:04,5", "line 3: GeneratedTokens: is missing; the row is cut short"),
        ("2023-11-16", "line 3: ContextTokens: is missing; the row is cut short"),
        ("2023-11-16 18:17:04,5,6,7", "line 3: has 4 fields where the header has 3"),
        ("2023-13-16 18:17:04,5,6", "line 3: TIMESTAMP: '2023-13-16 18:17:04' is no time: month"),
        ("16/11/2023 18:17,5,6", "line 3: TIMESTAMP: '16/11/2023 18:17' is no time"),
        ("1e30,5,6", "line 3: TIMESTAMP: '1e30' is no time: too large"),
        ("nan,5,6", "line 3: TIMESTAMP: 'nan' is no time"),
        ('"2023-11-16 18:17:04,5,6', "line 3: not a CSV row (unexpected end of data)"),
    ],
)
def test_a_row_that_cannot_be_read_names_line_and_field(
    tmp_path: Path, line: str, says: str
) -> None:
    path = save(tmp_path / "t.csv", AZURE, "2023-11-16 18:17:03,5,6", line)
    message = told(path)
    assert message.startswith(f"{path}: ")
    assert says in message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"timestamp": 0, "input_len', "line 2: not JSON (Unterminated string"),
        ("[1, 2]", "line 2: a list is not a JSON object"),
        ("7", "line 2: 7 is not a JSON object"),
        ("{}", "line 2: timestamp: is missing"),
        (mooncake(5, [1], None), "line 2: timestamp: None is no time"),
        (mooncake(5, [1], True), "line 2: timestamp: True is no time"),
        (mooncake(5, [1], "soon"), "line 2: timestamp: 'soon' is no time"),
        (mooncake(5, [1], float("inf")), "line 2: timestamp: inf is no time"),
        (mooncake(5, [1], output=None), "line 2: output_length: None is not a whole number"),
        (mooncake(5, [1], output=[[]]), "line 2: output_length: a list is not a whole number"),
        (mooncake(5, [1.5]), "line 2: hash_ids: 1.5 is not an id"),
        (mooncake(5, [-1]), "line 2: hash_ids: -1 is not an id"),
        (mooncake(5, ["x"]), "line 2: hash_ids: 'x' is not an id"),
        (mooncake(5, [True]), "line 2: hash_ids: True is not an id"),
        ('{"hash_ids": ' + "[" * 100_000, "line 2: not JSON that can be read"),
        (mooncake(5, [1]).replace("[1]", '"1"'), "line 2: hash_ids: '1' is not a list of ids"),
        (mooncake(5, [1]).replace("[1]", "9" * 5000), "line 2: not JSON that can be read"),
    ],
)
def test_a_record_that_cannot_be_read_names_line_and_field(
    tmp_path: Path, line: str, says: str
) -> None:
    assert says in told(save(tmp_path / "t.jsonl", mooncake(600, [1, 2]), line))


def test_ids_as_text_and_beyond_any_width_are_read(tmp_path: Path) -> None:
    huge = 2**64 + 5
    path = save(tmp_path / "m", mooncake(1500, [str(2**31), huge, "7"]))
    (one,) = open_trace(path)
    assert one.hash_ids == (2**31, huge, 7)
    assert len(block_hashes(one, 16)) == 93


def test_what_was_read_before_a_bad_row_is_given_out(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", VIDUR, "0,1,1", "1,2,2", "2,x,3", "3,4,4")
    trace = open_trace(path)
    got, message = until_error(trace)
    assert "line 4: num_prefill_tokens: 'x'" in message
    assert got == [Request(0.0, 1, 1), Request(1.0, 2, 2)]
    facts = summarise(trace, 16)
    assert facts["requests"] == 2
    assert "line 4" in facts["stopped"]


def test_a_truncated_gzip_gives_all_whole_rows_and_says_how_many(tmp_path: Path) -> None:
    chance = random.Random(1)
    rows = [f"{at},{chance.randrange(1, 9999)},{chance.randrange(1, 999)}" for at in range(20_000)]
    packed = gzip.compress("\n".join([VIDUR, *rows]).encode())
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed[: len(packed) // 2])
    got, says = until_error(open_trace(path))
    assert 5_000 < len(got) < 15_000
    for one, row in zip(got, rows, strict=False):
        assert f"{one.arrival_s:.0f},{one.prompt_tokens},{one.output_tokens}" == row
    assert says.startswith(f"{path}: the gzip data breaks off after {len(got):,} rows")
    assert f"a limit of {len(got)}" in says
    assert sum(1 for _ in open_trace(path, limit=len(got))) == len(got)


def test_a_damaged_gzip(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress("\n".join([VIDUR, *["1,2,3"] * 5]).encode()))
    packed[-6] ^= 0xFF  # the checksum
    path = tmp_path / "t.gz"
    path.write_bytes(packed)
    assert "the gzip data is damaged (CRC check failed" in told(path)
    path.write_bytes(packed[:15])
    assert "the gzip data breaks off before its first row" in told(path)


def test_files_that_are_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    assert told(path) == f"{path}: no such trace file"
    assert "is a folder" in told(tmp_path)
    for content in (b"", b"\xef\xbb\xbf", b"\n\r\n  \n"):
        path.write_bytes(content)
        assert "is empty" in told(path)
    path.write_bytes(gzip.compress(b""))
    assert "is empty" in told(path)
    path.write_bytes(b"PK\x03\x04....")
    assert "is a zip archive; unpack it" in told(path)
    path.write_bytes("TIMESTAMP".encode("utf-16"))
    assert "line 1: byte 0xff at column 1 is not UTF-8 text" in told(path)
    save(path, AZURE, "2023-11-16 18:17:03,5,6", "\0")
    assert "line 3" in told(path)
    assert "is no name of a file" in told(Path("a\0b"))
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in told(tmp_path / "pipe")


def test_a_line_without_end_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "t"
    path.write_bytes(b"x" * (1 << 21))
    assert "line 1 is longer than 1 MiB" in told(path)


def test_no_row_of_use(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", BURSTGPT)
    assert told(path) == f"{path}: has no rows"
    save(path, BURSTGPT, "1,m,0,0,0,x", "2,m,4,0,4,x")
    assert told(path).endswith("none of its 2 rows can be used (1 no tokens, 1 no output tokens)")
    save(path, BURSTGPT, "1,m,1,1,2,x")
    assert "can be used (1 before the window)" in told(path, window=(5, 9))
    with pytest.raises(ConfigError, match="can be used"):
        summarise(open_trace(path, window=(5, 9)), 16)


def test_an_unknown_format_says_what_was_seen_and_what_is_known(tmp_path: Path) -> None:
    for first in ("0,2.5,1.2,Gamma,0.7,1.4", '{"prompt": "x"}', "{broken", '"', "[1]", "\0"):
        message = told(save(tmp_path / "t", first, first))
        assert "in no known trace format; its first line is " in message
        assert repr(first) in message
        for name, form in FORMATS.items():
            assert name in message
            assert form.prompt in message
    message = told(save(tmp_path / "t", "x" * 100_000))
    assert len(message) < 1000


def test_a_named_format_that_the_file_is_not_in(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", LENGTHS, "1,2,3,4")
    says = told(path, format="vidur")
    assert "not in the format vidur: its header lacks arrived_at; it looks like lengths" in says
    says = told(path, format="mooncake")
    assert "not in the format mooncake: its first line is 'num_prefill" in says
    path = save(tmp_path / "m", mooncake(5, [1]))
    assert "not JSON lines" not in told(path, format="azure")
    assert "not a CSV header; it looks like mooncake" in told(path, format="azure")
    twice = save(tmp_path / "c", f"{VIDUR},NUM_DECODE_TOKENS", "1,2,3,4")
    assert "two columns are called num_decode_tokens" in told(twice)


def read_all(path: Path) -> list[Request]:
    """Read as the command does; whatever the file holds, it is a ConfigError or fine."""
    try:
        trace = open_trace(path)
    except ConfigError:
        return []
    got, message = until_error(trace)
    assert "\n" not in message
    assert got or message
    for one, after in itertools.pairwise(got):
        assert one.arrival_s is None or one.arrival_s <= (after.arrival_s or 0.0)
    for one in got:
        assert min(one.prompt_tokens, one.output_tokens) > 0
        assert len(block_hashes(one, 16)) <= one.prompt_tokens // 16
    if got:
        assert summarise(trace, 16)["stopped"] == (message or None)
    return got


anything = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
HEADERS = [AZURE, BURSTGPT, VIDUR, LENGTHS]
numbers = st.one_of(
    st.integers(-5, 2**70).map(str),
    st.floats().map(str),
    st.sampled_from(["", " 7 ", "2023-11-16 18:17:03.9799600", '"', "1_0", "٣", "1e99", "0x1"]),
    st.text(max_size=8),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@anything
@given(content=st.binary(max_size=200))
@example(content=b"\x1f\x8b")
@example(content=b"\xef\xbb\xbf{")
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    read_all(path)
    path.write_bytes(b"\x1f\x8b\x08" + content)
    read_all(path)
    path.write_bytes(AZURE.encode() + b"\n" + content)
    read_all(path)


@anything
@given(header=st.sampled_from(HEADERS), rows=st.lists(st.lists(numbers, max_size=8), max_size=6))
def test_any_csv_rows(tmp_path: Path, header: str, rows: list[list[str]]) -> None:
    path = tmp_path / "t"
    lines = [header, *(",".join(row) for row in rows)]
    path.write_bytes("\n".join(lines).encode(errors="surrogatepass"))
    read_all(path)


@anything
@given(
    rows=st.lists(st.tuples(json_values, json_values, json_values, json_values), max_size=5),
    first=st.sampled_from([mooncake(600, [1, 2]), bailian(33, [1, 2, 3])]),
)
def test_any_json_records(tmp_path: Path, rows: list[tuple[object, ...]], first: str) -> None:
    keys = ("timestamp", "input_length", "output_length", "hash_ids")
    records = [json.dumps(dict(zip(keys, row, strict=True))) for row in rows]
    got = read_all(save(tmp_path / "t", first, *records))
    assert len(got) >= 1


@anything
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 3)), min_size=1
    ),
    cut=st.integers(0, 400),
)
def test_a_cut_gzip_gives_a_beginning_of_what_the_whole_gives(
    tmp_path: Path, rows: list[tuple[int, int, int]], cut: int
) -> None:
    path = tmp_path / "t"
    packed = gzip.compress("\n".join([VIDUR, *(f"{a},{b},{c}" for a, b, c in rows)]).encode())
    path.write_bytes(packed)
    whole = read_all(path)
    assert len(whole) == sum(1 for _, prompt, output in rows if prompt and output)
    path.write_bytes(packed[: max(0, len(packed) - cut)])
    part = read_all(path)
    assert part == whole[: len(part)]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (
            {"input_length": 9, "output_length": 2, "hash_ids": [1]},
            "it is like mooncake, but its first record lacks timestamp",
        ),
        (
            {"session_id": "a", "delay": 500, "input_length": 9, "output_length": 2,
             "hash_ids": [1]},
            "lacks timestamp; its delay counts from the answer before it in its session",
        ),
        (
            {"timestamp": 1, "input_length": 9, "hash_ids": [1]},
            "it is like mooncake, but its first record lacks output_length",
        ),
    ],
)  # fmt: skip
def test_a_record_without_a_key_says_which(
    tmp_path: Path, record: dict[str, object], says: str
) -> None:
    path = save(tmp_path / "t.jsonl", json.dumps(record))
    message = told(path)
    assert message.startswith(str(path))
    assert says in message


def test_a_later_record_with_a_delay_alone(tmp_path: Path) -> None:
    first = {"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [1]}
    turn = {"session_id": "a", "delay": 5, "input_length": 9, "output_length": 2, "hash_ids": [1]}
    path = save(tmp_path / "t.jsonl", json.dumps(first), json.dumps(turn))
    assert "line 2: timestamp: is missing; its delay counts from" in told(path)


def test_a_block_size_that_the_hashes_cannot_have_names_the_file(tmp_path: Path) -> None:
    path = save(tmp_path / "t.jsonl", mooncake(600, [1, 2]))
    with pytest.raises(ConfigError, match=r"t\.jsonl: block_size = 24 does not go with the trace"):
        summarise(open_trace(path), 24)
