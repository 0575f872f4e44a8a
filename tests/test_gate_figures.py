"""The script that makes the table of known changes: its parts, without a measured time."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "simulation"
sys.path.insert(0, str(FOLDER))

import gate_figures  # noqa: E402
from gate_figures import commits, make_repository, plan, read_records, render  # noqa: E402

from blockmark_impls.contract import PoolConfig  # noqa: E402
from git_repository import git  # noqa: E402

TURNS = {16: 1_000, 1: 2_000}


def work_of(source: str) -> tuple[dict[int, int], dict[int, int]]:
    names: dict[str, Any] = {}
    exec(compile(source, "mine.py", "exec"), names)
    return names["WORK"], names["RARE"]


def test_the_work_of_each_commit_by_hand() -> None:
    told = {name: work_of(source) for name, source in commits(TURNS).items()}
    # 30 % of a step, so a step is as long as 1,300 and 2,600 turns.
    assert told["baseline"] == told["equal"] == ({16: 300, 1: 600}, {16: 0, 1: 0})
    assert told["+10 %"][0] == {16: 430, 1: 860}
    assert told["10 times"][0] == {16: 300 + 9 * 1_300, 1: 600 + 9 * 2_600}
    assert told["faster, -15 %"][0] == {16: 105, 1: 210}
    assert told["+30 % at block size 1 alone"][0] == {16: 300, 1: 1_380}
    rare = told["each 64th step four times as long (p99)"]
    assert rare == ({16: 300, 1: 600}, {16: 3_900, 1: 7_800})
    assert "class Renamed" in commits(TURNS)["renamed"]
    assert commits(TURNS)["equal"] != commits(TURNS)["baseline"]


def test_its_manager_is_one() -> None:
    names: dict[str, Any] = {}
    exec(compile(commits(TURNS)["baseline"], "mine.py", "exec"), names)
    manager = names["Mine"](PoolConfig(64, 16, 4, 8))
    manager.allocate(0, 3)
    manager.append_slot(0)
    assert len(manager.block_table(0)) == 1


def test_each_commit_comes_once_at_each_load_before_any_twice() -> None:
    found = plan(["baseline", "equal", "+5 %"], 2, 3)
    assert len(found) == len(set(found)) == 2 * (3 + 2)
    first = {(name, load) for name, load, _ in found[:4]}
    assert first == {("equal", 0), ("+5 %", 0), ("equal", 16), ("+5 %", 16)}
    assert [number for _, _, number in found] == sorted(number for _, _, number in found)


def test_the_repository_has_a_branch_for_each(tmp_path: Path) -> None:
    sources = commits(TURNS)
    make_repository(tmp_path, sources)
    for number, (name, text) in list(enumerate(sources.items()))[1:]:
        assert git(tmp_path, "show", f"commit-{number}:mine.py") == text.strip()
        assert git(tmp_path, "log", "-1", "--format=%s", f"commit-{number}") == name
        assert git(tmp_path, "rev-parse", f"commit-{number}~1") == git(
            tmp_path, "rev-parse", "main"
        )


def test_what_spins_is_ended() -> None:
    with gate_figures.spinning(2) as spinning:
        assert all(os.path.exists(f"/proc/{pid}") for pid in spinning)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in spinning)


def record(name: str, load: int, code: int, ratio: float = 1.0, seconds: float = 60.0) -> Any:
    ratios = {"block_size 16 step_ns": ratio, "block_size 16 step_latency_ns.p99": 9.0}
    return {
        "name": name,
        "load": load,
        "number": 0,
        "code": code,
        "seconds": seconds,
        "ratios": ratios,
    }


def test_the_table_by_hand() -> None:
    records = [
        record("+10 %", 0, 1, 1.1),
        record("+10 %", 0, 1, 1.12, 80.0),
        record("+10 %", 16, 0, 1.08),
        record("wrong", 0, 4),
        *(record("equal", 0, 0) for _ in range(3)),
        record("equal", 16, 1),
        record("equal", 16, 3),
    ]
    text = render(records)
    assert "| +10 % | exit 1, 1, +11.0 %, 70 s | exit 0, +8.0 %, 60 s |" in text
    assert "| wrong | exit 4, +0.0 %, 60 s | - |" in text
    assert "0 of 3 with a false alarm, 0 not decided (exit 3) at load 0" in text
    assert "1 of 2 with a false alarm, 1 not decided (exit 3) at load 16" in text
    # It passed though it was 10 % slower.
    assert "ended as they must not: 1 of 4 (+10 % at load 16: exit 0)" in text


@pytest.mark.parametrize(
    ("name", "codes"),
    [("+3 %", (0, 1, 3)), ("+5 %", (1, 3)), ("wrong", (4,)), ("renamed", (3,)), ("equal", (0,))],
)
def test_what_is_right(name: str, codes: tuple[int, ...]) -> None:
    assert gate_figures.right_codes(name) == codes


def test_it_goes_on_where_it_ended_and_splices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records, page = tmp_path / "r.jsonl", tmp_path / "gate.md"
    records.write_text(json.dumps(record("+5 %", 0, 1, 1.05)) + "\n{torn")
    assert len(read_records(records)) == 1
    page.write_text("<!-- BEGIN: gate figures -->\n<!-- END: gate figures -->\n")
    asked: list[str] = []

    def check(folder: Path, options: list[str]) -> Any:
        asked.append((folder / "mine.py").read_text())
        return {key: record("", 0, 1)[key] for key in ("code", "seconds", "ratios")}

    monkeypatch.setattr(gate_figures, "check", check)
    monkeypatch.setattr(gate_figures, "calibrate", lambda: TURNS)
    monkeypatch.setattr(gate_figures, "LOADS", (0, 1))
    words = ["--records", str(records), "--repeats", "1", "--equal", "0", "--only", "+5 %"]
    monkeypatch.setattr(sys, "argv", ["x", *words, "--splice", str(page)])
    gate_figures.main()
    # The one at load 0 was there.
    assert asked == [commits(TURNS)["+5 %"]]
    assert len(read_records(records)) == 2
    assert "| +5 % | exit 1, +5.0 %, 60 s | exit 1, +0.0 %, 60 s |" in page.read_text()
    assert "made by: python tests/simulation/gate_figures.py --splice" in page.read_text()
    # No time left: nothing more is begun.
    monkeypatch.setattr(sys, "argv", ["x", *words[:-1], "wrong", "--minutes", "0"])
    gate_figures.main()
    assert len(asked) == 1
    assert "of 2." in capsys.readouterr().out
