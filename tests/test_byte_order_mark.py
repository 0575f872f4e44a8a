"""Every text that is read may begin with a byte-order mark, as some editors write it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from blockmark.measure.proof.corpus import read_corpus
from blockmark.measure.proof.kept import kept_files
from blockmark.runs.store import load_run
from blockmark.verdict.claims_file import load_claims
from blockmark.verdict.waivers import read_waivers
from blockmark.workload.scenario import load_scenario
from blockmark.workload.traces import open_trace
from cli import TINY
from run_factory import make_run
from trace_files import LENGTHS, mooncake

MARK = b"\xef\xbb\xbf"
SCENARIOS = Path(__file__).parents[1] / "scenarios"
WAIVER = '[[waiver]]\ncell = "a"\nlimit = 1.1\nreason = "b"\nexpires = 2027-01-01\n'
CALLS = (
    "# blockmark calls 1\n"
    "total_blocks=8 block_size=2 max_seqs=4 max_blocks_per_seq=4 id_bits=16\nallocate(0, 3)\n"
)
CLASS = "class Broken:\n    fault = 'x'\n"


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.toml", TINY, load_scenario),
        ("a.toml", WAIVER, read_waivers),
        ("a.toml", (SCENARIOS / "claims.toml").read_text(), load_claims),
        ("run.json", json.dumps(make_run()), load_run),
        ("a.csv", f"{LENGTHS}\n1,2,3,4\n", lambda path: list(open_trace(path))),
        ("a.jsonl", mooncake(600, [1, 2]), lambda path: list(open_trace(path))),
        ("a.calls", CALLS, lambda path: kept_files(path.parent)),
        ("a.py", CLASS, lambda path: read_corpus(path.parent)),
    ],
)
def test_a_mark_changes_nothing(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], object]
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    without = read(path)
    assert without
    path.write_bytes(MARK + text.encode())
    assert read(path) == without
