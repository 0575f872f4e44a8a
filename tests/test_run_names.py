"""Runs that are called by a name, which moves; and the screen of a stored run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockmark.runs.errors import RunFileError
from blockmark.runs.names import is_name, locate
from blockmark.runs.store import load_run
from cli import blockmark
from run_factory import make_run


def stored(folder: Path, number: int, minute: int, **keys: Any) -> Path:
    """A run with a plan, as a run leaves them."""
    place = folder / "results" / f"{number:04d}"
    place.mkdir(parents=True)
    facts = {"run_id": place.name, "created": f"2026-11-29T12:{minute:02d}:00+00:00", **keys}
    (place / "run.json").write_text(json.dumps(make_run(impls=("vector/cpp",), **facts)))
    (place / "plan.json").write_text(json.dumps({"schema": "blockmark.plan", **facts}))
    return place


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, 1, 10, name="main")
    stored(tmp_path, 2, 30, name="main")
    # Copied here from elsewhere, with a higher number and an older date.
    stored(tmp_path, 3, 20, name="main")
    stored(tmp_path, 4, 40)
    return tmp_path


@pytest.mark.parametrize(
    ("called", "number"),
    [
        ("main", "0002"),
        ("latest-main", "0002"),
        ("latest", "0004"),
        ("results/main", "0002"),
        ("results/latest", "0004"),
        ("results/0001", "0001"),
        ("results/0003/run.json", "0003"),
    ],
)
def test_a_name_means_the_newest_run_of_that_name(results: Path, called: str, number: str) -> None:
    assert load_run(called).run_id == number


def test_the_name_moves_with_the_next_run(results: Path) -> None:
    stored(results, 5, 50, name="main")
    assert load_run("latest-main").run_id == "0005"


def test_what_is_there_is_meant_before_a_name(results: Path) -> None:
    (results / "main").mkdir()
    assert locate(Path("main")) == Path("main")


def test_an_unknown_name_is_told_with_those_that_there_are(results: Path) -> None:
    with pytest.raises(
        RunFileError, match=r"feature: no such .* run folder or one of main in results"
    ):
        load_run("feature")


def test_a_plan_that_nobody_can_read_is_no_run(results: Path) -> None:
    (results / "results" / "0002" / "plan.json").write_text("[" * 100_000)
    assert load_run("main").run_id == "0003"


@pytest.mark.parametrize("name", ["", "0001", "latest", "latest-main", "a b", "../x", "-x", "x/y"])
def test_a_name_that_could_not_be_asked_for_is_none(name: str) -> None:
    assert not is_name(name)


@given(st.text(max_size=20))
def test_no_name_is_a_path(name: str) -> None:
    if is_name(name):
        assert Path(name).name == name
        assert not name.isdigit()


def test_run_refuses_a_name_that_could_not_be_asked_for(tmp_path: Path) -> None:
    done = blockmark("run", "--name", "0001", "--dry-run", cwd=tmp_path)
    assert done.returncode == 2
    assert "--name 0001: must be a word" in done.stderr


def test_show_prints_the_screen_and_writes_nothing(results: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*")}
    done = blockmark("show", "main", cwd=results)
    assert done.returncode == 0, done.stderr
    assert "Saved: results/0002" in done.stdout
    assert "vector/cpp" in done.stdout
    newest = blockmark("show", cwd=results)
    assert "Saved: results/0004" in newest.stdout
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*")} == before
