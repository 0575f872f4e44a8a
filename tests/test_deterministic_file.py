"""Stored counts: what is written, what is read back, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockmark.runs.counts import (
    CellCounts,
    CostCounts,
    CountKey,
    SideCounts,
    find_counts,
    load_counts,
    store_counts,
)
from blockmark.runs.errors import RunFileError, StoreError

KEY = CountKey("x86_64", "g++ 12.2.0", "glibc 2.36", "python 3.11", "valgrind 3.19.0")
LOADS = {"step_ns": "0123456789abcdef"}
SIDE = SideCounts(
    KEY,
    "-O3",
    1,
    1,
    "d1 32768,8,64",
    (
        CellCounts(
            "decode", "", "vector/cpp", LOADS, {"step_ns": CostCounts(64, (9, 10), (2, 2))}, 0.25
        ),
        CellCounts("decode", "", "vector/py", LOADS, {"step_ns": "an interpreter"}, 3.0),
    ),
)
TEXT = """{
 "schema": "blockmark.counts",
 "schema_version": 2,
 "key": {
  "architecture": "x86_64",
  "compiler": "g++ 12.2.0",
  "libc": "glibc 2.36",
  "python": "python 3.11",
  "valgrind": "valgrind 3.19.0"
 },
 "flags": "-O3",
 "replay_version": 1,
 "contract_version": 1,
 "caches": "d1 32768,8,64",
 "scenarios": {
  "decode": {
   "": {
    "loads": {
     "step_ns": "0123456789abcdef"
    },
    "counts": {
     "vector/cpp": {
      "heap_allocations_per_step": 0.25,
      "step_ns": {
       "units": 64,
       "instructions": [9, 10],
       "l1d_misses": [2, 2]
      }
     },
     "vector/py": {
      "heap_allocations_per_step": 3,
      "step_ns": "an interpreter"
     }
    }
   }
  }
 }
}
"""


def test_a_file_is_named_by_its_key_and_has_a_number_a_line(tmp_path: Path) -> None:
    path = store_counts(SIDE, tmp_path / "new")
    assert path.name == "x86_64_g++-12.2.0_glibc-2.36_python-3.11_valgrind-3.19.0.json"
    assert path.read_text() == TEXT
    # The order in which cells were counted makes no difference.
    again = store_counts(replace(SIDE, cells=SIDE.cells[::-1]), tmp_path / "new")
    assert again.read_text() == TEXT


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    assert load_counts(store_counts(SIDE, tmp_path)) == SIDE
    assert find_counts(tmp_path, KEY) == SIDE


def test_another_machine_is_told_what_is_there(tmp_path: Path) -> None:
    other = replace(KEY, compiler="clang++ 17.0.6")
    assert find_counts(tmp_path / "none", other) == (
        f"there is no folder {tmp_path / 'none'} of stored counts"
    )
    assert find_counts(tmp_path, other) == (
        f"no counts are stored in {tmp_path} for x86_64, clang++ 17.0.6, glibc 2.36, "
        "python 3.11, valgrind 3.19.0 (none are stored)"
    )
    store_counts(SIDE, tmp_path)
    assert "stored are: x86_64_g++-12.2.0_glibc-2.36" in str(find_counts(tmp_path, other))


def changed(*keys: str, to: Any) -> str:
    """The file with one value replaced, as by hand."""
    content = json.loads(TEXT)
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    return json.dumps(content)


COUNTS = ("scenarios", "decode", "", "counts", "vector/cpp")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        (TEXT[:200], "cut off"),
        (TEXT.replace("64", "NaN"), "nan is not a number"),
        (TEXT.replace("64", "Infinity"), "inf is not a number"),
        (changed("schema", to="blockmark.run"), "not a blockmark.counts file"),
        (changed("schema_version", to=3), "written by a newer blockmark"),
        (changed("schema_version", to=1), "written by an older blockmark, of one heap; renew it"),
        (changed("key", to=3), "key: 3 is not an object"),
        (changed("key", "libc", to=None), "key.libc"),
        (changed(*COUNTS, "step_ns", "instructions", to=[9, -1]), "[1]: -1 is out of range"),
        (changed(*COUNTS, "step_ns", "instructions", to=[0]), "[0]: 0 is out of range"),
        (changed(*COUNTS, "step_ns", "instructions", to=[]), "instructions: is empty"),
        (changed(*COUNTS, "step_ns", "l1d_misses", to=2), "l1d_misses: 2 is not a list"),
        (changed(*COUNTS, "step_ns", "units", to=0), "units: is zero"),
        (changed(*COUNTS, "step_ns", to=[1]), "step_ns: [1] is not an object"),
        (changed(*COUNTS, "pack_ns", to="why"), "pack_ns: has no entry in loads"),
        (changed(*COUNTS, "heap_allocations_per_step", to=True), "True is not a number"),
    ],
)
def test_a_damaged_file_is_named_with_its_key(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / KEY.file_name
    path.write_text(text)
    with pytest.raises(RunFileError) as caught:
        find_counts(tmp_path, KEY)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="can't be written"):
        store_counts(SIDE, tmp_path / "file")
