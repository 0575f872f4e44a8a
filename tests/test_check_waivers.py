"""Waivers: read, refused, applied until they expire."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from blockmark.verdict.check import CellVerdict, CheckResult
from blockmark.verdict.waivers import WaiverError, apply_waivers, read_waivers

GOOD = """
[[waiver]]
cell = "decode (block_size 16) flat-stack/cpp step_ns"
limit = 1.10
reason = "ref counts are checked"
expires = 2027-03-01
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "waivers.toml"
    path.write_text(text)
    return path


def result(ratio: float) -> CheckResult:
    cell = CellVerdict(
        "decode", "block_size 16", "flat-stack/cpp", "step_ns", "ns", "regressed", ratio=ratio
    )
    return CheckResult("interleaved", "a", "b", (cell,))


@pytest.mark.parametrize(
    ("ratio", "day", "code"),
    [
        (1.09, date(2027, 2, 1), 0),
        (1.10, date(2027, 3, 1), 0),  # the last day, and the limit itself
        (1.11, date(2027, 2, 1), 1),
        (1.05, date(2027, 3, 2), 1),
    ],
)
def test_up_to_the_limit_and_the_last_day(
    tmp_path: Path, ratio: float, day: date, code: int
) -> None:
    judged = apply_waivers(result(ratio), read_waivers(write(tmp_path, GOOD)), day)
    assert judged.exit_code() == code
    assert any("has expired on 2027-03-01" in note for note in judged.notes) is (
        day > date(2027, 3, 1)
    )


def test_a_waiver_of_no_cell_is_told(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.replace("flat-stack/cpp", "flat-stck/cpp"))
    judged = apply_waivers(result(1.05), read_waivers(file), date(2027, 1, 1))
    assert judged.exit_code() == 1
    (note,) = judged.notes
    assert "flat-stck/cpp step_ns names no cell of this check" in note


def test_a_day_in_quotes_is_a_day(tmp_path: Path) -> None:
    (waiver,) = read_waivers(write(tmp_path, GOOD.replace("2027-03-01", '"2027-03-01"')))
    assert waiver.expires == date(2027, 3, 1)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[[waiver]]", "[[waiver", "TOML syntax error"),
        ("[[waiver]]", "[[wavier]]", '"wavier": a file of waivers has'),
        ("[[waiver]]", "[waiver]", "waiver: a file of waivers has"),
        ("limit = 1.10\n", "", "waiver 1: limit is missing"),
        ("limit", "Limit", 'unknown key "Limit"'),
        ("1.10", "1.0", "lets nothing through"),
        ("1.10", "nan", "must be a finite number"),
        ("1.10", "true", "must be a number"),
        ("2027-03-01", '"soon"', "must be a day"),
        ("2027-03-01", "7", "must be a day"),
        ('"ref counts are checked"', '" "', "reason must be text"),
        (GOOD, GOOD + GOOD, "is waived twice"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(WaiverError, match=r"waivers\.toml") as refused:
        read_waivers(write(tmp_path, GOOD.replace(old, new)))
    assert told in str(refused.value)
