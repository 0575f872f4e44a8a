"""Two runs on disk judged by the rule, as one look."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockmark.runs.codec import parse_run
from blockmark.verdict.errors import NothingInCommon, UnknownName
from blockmark.verdict.stored import GATED, StoredOptions, all_costs, judge_runs, judged_of
from cli import blockmark, tiny
from run_factory import find_cell, make_run, scalar

CPP = ("hash-map/cpp", "vector/cpp", "null/cpp")
NAMES = ("before", "now")


def judge(before: dict[str, Any], now: dict[str, Any], **options: Any) -> Any:
    return judge_runs(parse_run(before), parse_run(now), StoredOptions(**options), names=NAMES)


def rounds(level: float, count: int = 12) -> dict[str, Any]:
    return scalar([level + i * 0.001 * level for i in range(count)])


def pair(factor: float, impl: str = "vector/cpp") -> tuple[dict[str, Any], dict[str, Any]]:
    """Two equal runs of quiet rounds, but for one metric of one cell."""
    runs = [make_run(impls=CPP, rounds=12) for _ in range(2)]
    for run in runs:
        for cell in run["cells"]:
            for metric in ("step_ns", "alloc_free_interleaved_ns"):
                if metric in cell["metrics"] and cell["status"] == "ok":
                    cell["metrics"][metric] = rounds(1000.0)
    find_cell(runs[1], impl)["metrics"]["step_ns"] = rounds(1000.0 * factor)
    return runs[0], runs[1]


def test_where_no_asked_metric_is_timed_the_pool_is_judged() -> None:
    assert judged_of({"step_ns", "take_ns", "give_ns"}, GATED) == GATED
    assert judged_of({"take_ns", "give_ns"}, GATED) == (*GATED, "take_ns", "give_ns")
    assert judged_of({"take_ns"}, all_costs()) == all_costs()


def test_a_slowdown_beyond_the_wider_margin_is_regressed_and_stops_nothing() -> None:
    result = judge(*pair(1.08))
    found = {cell.name: cell for cell in result.cells}
    # Two schemes, two settings, two metrics; controls are never judged.
    assert len(found) == 8
    cell = found["decode (block_size 16) vector/cpp step_ns"]
    assert cell.verdict == "regressed"
    assert cell.ratio == pytest.approx(1.08)
    assert cell.margin == pytest.approx(0.03 * 1.67)
    assert [c.verdict for c in result.cells].count("unchanged") == 7
    assert result.exit_code() == 0
    assert judge(*pair(1.08), enforced=True).exit_code() == 1


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.04, "unchanged"), (0.9, "improved"), (1.0, "unchanged")]
)
def test_within_the_wider_margin_nothing_changed(factor: float, verdict: str) -> None:
    result = judge(*pair(factor), enforced=True)
    assert {c.verdict for c in result.cells if c.impl == "vector/cpp" and c.metric == "step_ns"} - {
        "unchanged"
    } == {verdict} - {"unchanged"}
    assert result.exit_code() == 0


def test_a_thousand_rounds_are_judged_and_told_of() -> None:
    before, now = pair(1.0)
    for run, factor in ((before, 1.0), (now, 1.2)):
        run["cells"] = [cell for cell in run["cells"] if cell["impl"] == "vector/cpp"]
        find_cell(run, "vector/cpp")["metrics"]["step_ns"] = rounds(1000.0 * factor, 1000)
    told: list[str] = []
    result = judge_runs(
        parse_run(before),
        parse_run(now),
        StoredOptions(metrics=("step_ns",)),
        names=NAMES,
        progress=lambda done, total, text: told.append(f"{done} of {total}: {text}"),
    )
    cell = next(one for one in result.cells if one.setting == "block_size 16")
    # The same values with a fifth more: 1 to 2 against 1.2 to 2.4.
    assert cell.verdict == "regressed"
    assert cell.p is not None
    assert 0 < cell.p < 1e-16
    assert told[0] == "1 of 2: judged decode (block_size 16) vector/cpp step_ns"


def test_one_round_decides_nothing() -> None:
    before, now = make_run(impls=CPP, rounds=1), make_run(impls=CPP, rounds=1)
    result = judge(before, now, enforced=True)
    assert {cell.verdict for cell in result.cells} == {"inconclusive"}
    assert all("can't decide" in cell.reason for cell in result.cells)
    # Nothing was decided, which is no pass.
    assert (result.exit_code(), result.exit_code(strict=True)) == (3, 3)


def test_unequal_rounds_are_fine() -> None:
    before, now = pair(1.2)
    find_cell(before, "vector/cpp")["metrics"]["step_ns"] = rounds(1000.0, 30)
    (cell,) = (c for c in judge(before, now).cells if c.verdict == "regressed")
    assert (len(cell.before), len(cell.after)) == (30, 12)


def test_zero_against_a_time_is_below_resolution() -> None:
    before, now = pair(1.0)
    find_cell(before, "vector/cpp")["metrics"]["step_ns"] = scalar([0.0] * 12)
    (cell,) = (c for c in judge(before, now).cells if c.verdict == "incomparable")
    assert cell.ratio is None
    assert "below resolution" in cell.reason


def test_another_machine_build_or_program_is_incomparable() -> None:
    before, now = pair(1.2)
    now["machine"]["cores"] = 64
    assert {c.verdict for c in judge(before, now).cells} == {"incomparable"}
    assert judge(before, now).exit_code() == 3
    assert judge(before, now, other_machine=True).count("regressed") == 1
    before, now = pair(1.2)
    now["build"]["flags"] = "-O2"
    result = judge(before, now, other_machine=True)
    assert {c.reason for c in result.cells} == {
        "other build: flags was -O3 -falign-functions=64 -falign-loops=32, is -O2"
    }
    before, now = pair(1.2)
    now["settings"][0]["facts"]["program_digest"] = "other"
    result = judge(before, now)
    assert {c.setting for c in result.cells if c.verdict == "incomparable"} == {"block_size 16"}


def test_missing_wrong_and_new_cells_are_told() -> None:
    before, now = pair(1.0)
    now["cells"] = [cell for cell in now["cells"] if cell["impl"] != "hash-map/cpp"]
    now["implementations"] = [i for i in now["implementations"] if i["name"] != "hash-map/cpp"]
    result = judge(before, now, enforced=True)
    assert result.missing == tuple(
        f"decode (block_size {size}) hash-map/cpp: the candidate has no such cell"
        for size in (16, 1)
    )
    assert result.exit_code() == 3
    assert judge(now, before).added == tuple(
        f"decode (block_size {size}) hash-map/cpp" for size in (16, 1)
    )
    before, now = pair(1.0)
    find_cell(now, "vector/cpp").update(status="wrong", reason="step 1", metrics={}, verified=None)
    result = judge(before, now)
    assert result.wrong == ("decode (block_size 16) vector/cpp: step 1",)
    assert result.exit_code() == 4


def test_a_baseline_cell_without_a_number_is_told() -> None:
    for status, part in (("failed", "cells"), ("timeout", "cells"), ("wrong", "mended")):
        before, now = pair(1.0)
        broken = find_cell(before, "vector/cpp")
        broken.update(status=status, reason="because", metrics={}, verified=None)
        result = judge(before, now, enforced=True)
        if part == "cells":
            found = [one for one in result.cells if one.verdict == "incomparable"]
            assert {one.metric for one in found} == set(GATED)
            assert {one.reason for one in found} == {f"the baseline {status}: because"}
            assert result.exit_code() == 3
        else:
            (line,) = result.mended
            assert line.endswith("vector/cpp: the baseline is wrong: because")
            assert result.exit_code() == 0


def test_nothing_in_common_and_unknown_names() -> None:
    before, now = make_run(impls=("vector/cpp",)), make_run(impls=("hash-map/cpp",))
    with pytest.raises(NothingInCommon, match="no cell in common"):
        judge(before, now)
    with pytest.raises(UnknownName, match="vectr/cpp"):
        judge(before, now, impls=("vectr/cpp",))


def test_every_cost_and_no_other_metric() -> None:
    costs = all_costs()
    assert "step_ns" in costs
    assert "pack_ns" in costs
    assert not {"step_per_sequence_ns", "step_latency_ns", "heap_allocations_per_step"} & set(costs)


def write(path: Path, run: dict[str, Any]) -> str:
    path.write_text(json.dumps(run))
    return str(path)


def test_two_files_by_the_command(tmp_path: Path) -> None:
    before, now = pair(1.2)
    files = write(tmp_path / "a.json", before), write(tmp_path / "b.json", now)
    words = ("check", "--baseline", files[0], "--candidate", files[1])
    done = blockmark(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Advice only" in done.stdout
    assert blockmark(*words, "--enforce-stored", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda text: text[: len(text) // 2], "a.json"),
        (lambda text: text.replace('"schema_version": 1', '"schema_version": 99'), "99"),
        (lambda text: text.replace('"duration_s": 48.2', '"duration_s": NaN'), "a.json"),
    ],
)
def test_a_bad_file_is_told(tmp_path: Path, spoil: Any, told: str) -> None:
    run = make_run(impls=CPP)
    (tmp_path / "a.json").write_text(spoil(json.dumps(run)))
    write(tmp_path / "b.json", run)
    done = blockmark("check", "--baseline", "a.json", "--candidate", "b.json", cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_stored_run_against_what_is_here_now(tmp_path: Path) -> None:
    """Stored just now, with steps made to look three times as fast."""
    target = ("--impl", "vector/py")
    done = blockmark("run", tiny(tmp_path), *target, "--rounds", "4", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    stored = json.loads(done.stdout)
    cell = stored["cells"][0]["metrics"]["step_ns"]
    cell.update(scalar([value / 3 for value in cell["values"]]), mean=cell["mean"])
    file = write(tmp_path / "stored.json", stored)
    words = ("check", tiny(tmp_path), "--baseline", file, *target, "--rounds", "6")
    done = blockmark(*words, "--enforce-stored", "--json", "now.json", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    (judged,) = json.loads((tmp_path / "now.json").read_text())["cells"]
    # 4 against 6: one of 210 orders, below 0.01 for a single cell.
    assert judged["p"] == pytest.approx(1 / 210)
    assert (len(judged["before"]), len(judged["after"])) == (4, 6)
