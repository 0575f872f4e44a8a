"""The gate on counts with real processes: stored and measured again, and on two sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockmark.measure.probes.callgrind import find_valgrind, of_fixed_size
from blockmark.measure.sides.side import Side
from blockmark.sessions import deterministic
from blockmark.sessions.check_plan import Asked
from blockmark.sessions.deterministic import count_and_judge, count_and_store
from blockmark.workload.errors import ConfigError
from blockmark.workload.scenario import parse_scenario
from cli import SUBJECTS

REAL = find_valgrind()
needs_valgrind = pytest.mark.skipif(isinstance(REAL, str), reason=str(REAL))

SMALL = """
title = "Small"
total_blocks = 256
max_blocks_per_seq = 16
concurrency = 8
heap = "fresh"
block_size = 4
models = ["step", "alloc_free"]
"""
GATED = ("step_ns", "alloc_free_interleaved_ns")
MISBEHAVING = SUBJECTS.read_text()
NOW = Side("candidate")
# A manager of a user's own; `COST` is what an append does beside its work.
MANAGER = """
from blockmark_impls.python.vector import VectorManager

class Mine(VectorManager):
    def append_slot(self, seq):
        COST
        return super().append_slot(seq)
"""


def asked_of(*impls: str, **settings: list[Any]) -> Asked:
    scenario = parse_scenario(SMALL, "small", "small.toml").override(settings)
    return Asked.of([scenario], impls, GATED, None)


@needs_valgrind
def test_the_same_code_is_the_same_and_a_small_change_is_seen(tmp_path: Path) -> None:
    asked = asked_of("flat-stack/cpp", "vector/cpp")
    path = count_and_store(asked, NOW, tmp_path)
    content = json.loads(path.read_text())
    counts = content["scenarios"]["small"][""]["counts"]
    flat, vector = counts["flat-stack/cpp"], counts["vector/cpp"]
    assert flat["heap_allocations_per_step"] == 0
    assert vector["heap_allocations_per_step"] > 0
    # Stored by hand as if the code had been a little quicker then: 0.6 % and 0.05 % less.
    less(flat["step_ns"], 0.006)
    less(vector["step_ns"], 0.0005)
    vector["heap_allocations_per_step"] = 0
    path.write_text(json.dumps(content))
    calls: list[tuple[int, int]] = []
    result = count_and_judge(
        asked, tmp_path, NOW, progress=lambda done, total, _: calls.append((done, total))
    )
    assert {cell.name: cell.ratio for cell in result.cells if cell.verdict != "unchanged"} == {
        "small flat-stack/cpp step_instructions_per_op": pytest.approx(1.006, abs=1e-4),
        "small vector/cpp heap_allocations_per_step": None,
    }
    assert len(result.cells) == 10  # of each: three of a step, two of alloc_free
    assert [cell.verdict for cell in result.cells].count("regressed") == 2
    assert result.exit_code() == 1
    # All else is as it was, to the last digit.
    same = [
        cell for cell in result.cells if cell.impl == "vector/cpp" and "alloc_free" in cell.name
    ]
    assert [cell.ratio for cell in same] == [1.0, 1.0]
    assert calls == [(number, 4) for number in range(1, 5)]
    assert (result.notes, result.missing, result.added, result.wrong) == ((), (), (), ())


def less(counts: dict[str, Any], share: float) -> None:
    counts["instructions"] = [round(total / (1 + share)) for total in counts["instructions"]]


@needs_valgrind
def test_other_operations_are_not_compared_with_stored_ones(tmp_path: Path) -> None:
    path = count_and_store(asked_of("vector/cpp", heap=["aged"]), NOW, tmp_path)
    counts = json.loads(path.read_text())["scenarios"]["small"][""]["counts"]["vector/cpp"]
    # Five heaps, in which it does not cost the same.
    for found in (counts["step_ns"], counts["alloc_free_interleaved_ns"]):
        assert len(found["instructions"]) == len(found["l1d_misses"]) == 5
        assert found["l1d_misses"] == sorted(found["l1d_misses"])
        assert len(set(found["l1d_misses"])) > 1
    result = count_and_judge(asked_of("vector/cpp"), tmp_path, NOW)
    assert {cell.verdict for cell in result.cells} == {"incomparable"}
    assert result.exit_code() == 3
    # A fresh heap is the same each time.
    assert {len(cell.after) for cell in result.cells} == {1}


def test_what_is_not_stored_is_skipped_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_of("vector/py")
    for require, code in ((False, 0), (True, 3)):
        result = count_and_judge(asked, tmp_path, NOW, require_sim=require)
        assert result.exit_code() == code
        said = result.failures if require else result.notes
        assert len(said) == 1
        assert "counts were not judged: " in said[0]
    # Without a simulator nothing is looked up at all, and nothing is stored.
    monkeypatch.setenv("PATH", str(tmp_path))
    result = count_and_judge(asked, tmp_path, NOW)
    assert "valgrind is not installed" in result.notes[0]
    assert result.exit_code() == 0
    with pytest.raises(ConfigError, match="valgrind is not installed"):
        count_and_store(asked, NOW, tmp_path)


def test_two_sides_of_a_users_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = {}
    for name, cost in (("old", "pass"), ("new", "self.log = [seq]")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "manager.py").write_text(MANAGER.replace("COST", cost))
        sides[name] = Side(name, cwd=folder)
    monkeypatch.chdir(tmp_path / "new")
    asked = asked_of("mine=manager.py:Mine")
    worse = count_and_judge(asked, sides["old"], sides["new"])
    assert [(cell.metric, cell.verdict) for cell in worse.cells] == [
        ("heap_allocations_per_step", "regressed")
    ]
    # Eight sequences, a list more for each in every step: its head and its one place.
    cell = worse.cells[0]
    assert cell.old is not None
    assert cell.new is not None
    assert cell.new - cell.old in (8, 16)
    assert worse.exit_code() == 1
    assert len(worse.notes) == 1
    assert "only allocations are counted" in worse.notes[0]
    better = count_and_judge(asked, sides["new"], sides["old"])
    assert [cell.verdict for cell in better.cells] == ["improved"]
    assert better.exit_code() == 0
    assert count_and_judge(asked, sides["new"], sides["old"], require_sim=True).exit_code() == 3


def test_a_wrong_answer_is_worse_than_any_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = {}
    for name in ("Right", "Wrong"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "it.py").write_text(f"{MISBEHAVING}\nMine = {name}\n")
        sides[name] = Side(name, cwd=tmp_path / name)
    asked = asked_of("mine=it.py:Mine")
    result = count_and_judge(asked, sides["Right"], sides["Wrong"])
    assert result.exit_code() == 4
    assert [line.partition(": ")[0] for line in result.wrong] == ["small mine"]
    # What mends a wrong baseline has nothing to be held against, and may pass.
    mended = count_and_judge(asked, sides["Wrong"], sides["Right"])
    assert (mended.exit_code(), mended.wrong, mended.cells) == (0, (), ())
    assert mended.mended[0].startswith("the baseline is wrong: small mine: ")


def test_the_same_file_on_both_sides_is_refused(tmp_path: Path) -> None:
    target = f"mine={SUBJECTS}:Right"
    with pytest.raises(ConfigError, match="on both sides"):
        count_and_judge(asked_of(target), Side("old", cwd=tmp_path), NOW)


def test_a_side_that_can_not_be_started(tmp_path: Path) -> None:
    broken = Side("broken", python=str(tmp_path / "none"))
    asked = asked_of("vector/py")
    result = count_and_judge(asked, broken, NOW)
    assert result.exit_code() == 3
    assert result.failures[0].startswith("baseline: ")
    with pytest.raises(ConfigError, match="can't be started"):
        count_and_judge(asked, NOW, broken)


def test_an_interrupt_is_a_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(deterministic, "count_side", interrupted)
    assert count_and_judge(asked_of("vector/py"), Side("old"), NOW).exit_code() == 130


def test_longer_paths_do_not_move_the_stack() -> None:
    def size(environment: dict[str, str], command: list[str]) -> int:
        texts = [*command, *(f"{k}={v}" for k, v in of_fixed_size(environment, command).items())]
        # Each with its end and its pointer, and the program's path once more.
        return sum(len(text.encode()) + 9 for text in texts) + len(command[0]) + 1

    plain = size({"PATH": "/bin"}, ["/bin/valgrind", "python"])
    assert plain == size({"PATH": "/a/long/way:/bin", "TMPDIR": "/t"}, ["/bin/valgrind", "python"])
    assert plain == size({}, ["/opt/somewhere/valgrind", "/home/é/python", "-P"])
