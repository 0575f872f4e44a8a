"""Bad input: one clear line on stderr, the right code, no traceback, nothing lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blockmark import cli as command_line
from cli import blockmark, command, subject, tiny
from run_factory import make_run


def assert_refused(done: subprocess.CompletedProcess[str], says: str, code: int = 2) -> None:
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert 1 <= len(lines) <= 2, done.stderr
    assert says in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "decod"], 'did you mean "decode"?'),
        (["run", "nowhere.toml"], "nowhere.toml: no such scenario file"),
        (["run", "--impl", "flat-stak"], 'did you mean "flat-stack"?'),
        (["run", "--impl", "flat-stack/rust"], "it has py, numpy, cpp"),
        (["run", "--impl", "flat-stack/cpp[row_pod=3]"], 'did you mean "row_pad"?'),
        (["run", "--impl", "missing.module:Class"], "missing"),
        (["run", "--impl", "x=nofile.py:Class"], "nofile.py"),
        (["run", "--set", "conurrency=3"], 'did you mean "concurrency"?'),
        (["run", "--set", "concurrency"], "must be KEY=VALUE"),
        (["run", "--set", "concurrency=0"], "between 1 and"),
        (["run", "--set", "block_size=-16"], "between 1 and"),
        (["run", "--set", "total_blocks=many"], "must be a whole number"),
        (["run", "--set", "total_blocks=1e30"], "between 2 and"),
        (["run", "--set", "step_rate=0"], "between 0.001 and"),
        (["run", "--set", "total_blocks=70000"], "set id_bits = 32"),
        (["run", "--set", "total_blocks=300", "--set", "block_size=16"], "too small for"),
        (["run", "--set", "prompt_tokens=4090", "--set", "output_tokens=90"], "do not fit"),
        (["run", "--rounds", "0"], "--rounds"),
        (["run", "--seed", "-1"], "--seed"),
        (["run", "--counters", "all"], "there are auto, pmu, callgrind, software, none"),
        (["run", "--counters", "calgrind"], 'did you mean "callgrind"?'),
        (["run", "--cache", "l1=32768,8,64"], "--cache l1=32768,8,64 has no effect"),
        (["run", "--assert-zero-alloc", "flot*"], "no implementation of this run has such a name"),
        (["run", "--resume", "results/none", "--counters", "none"], "name nothing else"),
        (["run", "--resume", "results/none"], "no plan.json to go on from"),
        (["run", "decode", "--resume", "results/none"], "name nothing else"),
        (["rum"], "Did you mean 'run'?"),
        (["run", "--quik"], "--quick"),
        (["list", "everything"], "must be one of impls, scenarios, metrics, keys"),
        (["verify", "--impl", "vektor"], "did you mean"),
        (["report", "results/none"], "results/none"),
        (["compare", "results/none"], "results/none"),
        (["report", ".", "--format", "yaml"], "this version writes md"),
    ],
)
def test_a_mistake_on_the_command_line(tmp_path: Path, words: list[str], says: str) -> None:
    assert_refused(blockmark(*words, cwd=tmp_path), says)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("concurrency = = 3", "s.toml: TOML syntax error: Invalid value (at line 1, column 15)"),
        ("conc = 3", 's.toml: unknown key "conc"'),
        ("concurrency = 'lots'", "s.toml: concurrency = 'lots' must be a whole number"),
        ('implementations = ["flat-stok"]', "flat-stok"),
    ],
)
def test_a_mistake_in_a_scenario_file(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    assert_refused(blockmark("run", "s.toml", cwd=tmp_path), says)


def test_two_implementations_of_one_name(tmp_path: Path) -> None:
    done = blockmark(
        "run", "--impl", f"a={subject('Right')}", "--impl", f"a={subject('Wrong')}", cwd=tmp_path
    )
    assert_refused(done, "two implementations are called a")


def saved(folder: Path, **changes: Any) -> str:
    path = folder / "run.json"
    path.write_text(json.dumps(make_run(**changes)))
    return str(path)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda text: "", "empty"),
        (lambda text: text[: len(text) // 2], "run.json"),
        (lambda text: '{"hello": "world"}', "run.json"),
        (lambda text: "[1, 2, 3]", "run.json"),
        (lambda text: text.replace('"schema_version": 1', '"schema_version": 99'), "99"),
        (lambda text: text.replace('"seed": 1', '"seed": NaN'), "nan"),
    ],
)
@pytest.mark.parametrize("words", [["report"], ["compare"]])
def test_a_run_file_is_never_trusted(
    tmp_path: Path, words: list[str], spoil: Any, says: str
) -> None:
    path = Path(saved(tmp_path))
    path.write_text(spoil(path.read_text()))
    done = blockmark(*words, str(path), cwd=tmp_path)
    assert_refused(done, says)
    assert "run.json" in done.stderr


def test_two_runs_with_nothing_in_common(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = saved(tmp_path / "a")
    other = make_run()
    for part in ("scenarios",):
        for item in other[part]:
            item["name"] = "another"
    for part in ("settings", "cells"):
        for item in other[part]:
            item["scenario"] = "another"
    two = tmp_path / "b" / "run.json"
    two.write_text(json.dumps(other))
    assert_refused(blockmark("compare", one, str(two), cwd=tmp_path), "", code=3)


@pytest.mark.parametrize("output", ["/proc/none", "file/inside"])
def test_an_output_folder_that_cannot_be_made(tmp_path: Path, output: str) -> None:
    (tmp_path / "file").write_text("")
    done = blockmark("run", tiny(tmp_path), "--quick", "--output", output, cwd=tmp_path)
    assert_refused(done, "--output")


def test_a_disk_that_fills_up_keeps_what_was_measured(tmp_path: Path) -> None:
    """The file size limit stands in for the disk: the same short write, then an error."""
    scenario = tiny(tmp_path, "\n[matrix]\nseed = [1, 2, 3, 4]\n")
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 40; exec "$0" "$@"', *command("run", scenario, "--rounds", "9")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert_refused(done, "measurements before are kept")
    kept = (tmp_path / "results" / "0001" / "cells.jsonl").read_text().splitlines()
    assert len(kept) >= 5
    assert all(json.loads(line) for line in kept)
    again = blockmark("run", "--resume", "results/0001", cwd=tmp_path)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    "env",
    [
        {"NO_COLOR": "1"},
        {"TERM": "dumb"},
        {"COLUMNS": "60"},
        {"COLUMNS": "20"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_every_terminal_gets_every_number(tmp_path: Path, env: dict[str, str]) -> None:
    """No TTY, no colour, narrow, or poor in letters: the numbers stay whole."""
    path = saved(tmp_path)
    done = blockmark("compare", path, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    wide = blockmark("compare", path, cwd=tmp_path, env={"COLUMNS": "200"})
    numbers = set(re.findall(r"(?<=\s)[0-9][0-9.,]*-[0-9.,]+(?=\s)", wide.stdout))
    assert len(numbers) > 50
    # A narrow screen may break lines, but never a number.
    assert numbers <= set(done.stdout.split())


@given(st.one_of(st.text(max_size=8), st.integers(-99, 10**12).map(str)))
@example("0")
@example("1")
@example("-80")
@example("8" * 5000)
@example("²")
def test_any_COLUMNS_leaves_a_width_or_none(text: str) -> None:  # noqa: N802
    with pytest.MonkeyPatch.context() as patch:
        try:
            patch.setenv("COLUMNS", text)
        except ValueError:
            return  # no environment can hold it
        command_line._check_columns()
        left = os.environ.pop("COLUMNS", None)
    asked = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if asked:
        assert left == str(min(max(asked, 20), 10_000))
    elif not re.fullmatch("[0-9]+", text):
        assert left is None


@pytest.mark.parametrize("columns", ["0", "1", "-5", "wide"])
def test_no_COLUMNS_takes_the_output_away(tmp_path: Path, columns: str) -> None:  # noqa: N802
    done = blockmark("compare", saved(tmp_path), cwd=tmp_path, env={"COLUMNS": columns})
    assert done.returncode == 0, done.stderr
    assert "block_size" in done.stdout


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$0" "$@" | head -n 1', *command("list", "metrics")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.stderr == ""
