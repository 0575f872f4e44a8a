"""docs/ci.md and the action: every command in them, on a repository made for it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from blockmark.measure.probes.callgrind import find_valgrind
from cli import blockmark, tiny
from git_repository import MANAGER, SLOW, commit, git, repository

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text()
ACTION = (ROOT / ".github" / "actions" / "check" / "action.yml").read_text()
# As few rounds as can decide a cell, with hardly a false alarm; the default takes minutes.
SHORT = "--rounds 9 --alpha 0.001"


def blocks(language: str) -> list[str]:
    """The page's blocks of code."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines()]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "repo", mine_py=MANAGER)
    (waivers,) = blocks("toml")
    git(folder, "tag", "v1.2")
    commit(folder, "second", mine_py=MANAGER + "\n", waivers_toml=waivers)
    return folder


def test_the_page_has_commands_and_a_workflow_of_ten_lines_or_so() -> None:
    assert len(COMMANDS) == 7
    (workflow,) = blocks("yaml")
    lines = workflow.splitlines()
    # `on`, `jobs` and the job's name; what is left says what is done.
    assert len(lines) <= 12
    named = re.findall(r"^ {10}([\w-]+):", workflow, re.MULTILINE)
    inputs = ACTION.partition("inputs:\n")[2].partition("\nruns:")[0]
    known = re.findall(r"^  ([\w-]+):$", inputs, re.MULTILINE)
    assert set(named) <= set(known)
    for name in known:
        assert f"inputs.{name} }}}}" in ACTION


@pytest.mark.parametrize("line", [line for line in COMMANDS if "counts counts" not in line])
def test_every_command_of_the_page_passes(line: str, repo: Path, tmp_path: Path) -> None:
    done = run(line, repo, tmp_path)
    # On a busy machine so few rounds may rule too little out.
    open_ones = "no pass: " in " ".join(done.stdout.split())
    assert done.returncode == (3 if open_ones else 0), done.stdout + done.stderr
    assert "0 regressed" in done.stdout
    if "--deterministic" in line:
        assert "1 unchanged" in done.stdout


def test_the_commands_on_stored_counts(repo: Path, tmp_path: Path) -> None:
    store, judge = (line for line in COMMANDS if "counts counts" in line)
    stored = run(store, repo, tmp_path)
    judged = run(judge, repo, tmp_path)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    if isinstance(reason := find_valgrind(), str):
        assert stored.returncode == 2
        assert reason.split(";")[0] in " ".join(judged.stdout.split())
        return
    assert stored.returncode == 0, stored.stderr
    assert list((repo / "counts").glob("*_valgrind-*.json"))
    assert "1 unchanged" in judged.stdout
    commit(repo, "asks the heap", mine_py=MANAGER.replace("pass", ALLOCATES))
    assert run(judge, repo, tmp_path).returncode == 1


ALLOCATES = """def append_slot(self, seq: int):
        self.log = [seq]
        return super().append_slot(seq)
"""


def run(line: str, repo: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """A command of the page, in a load that takes no time."""
    words = shlex.split(line)
    assert words[:2] == ["blockmark", "check"]
    short = [] if "counts" in line or "--deterministic" in line else SHORT.split()
    return blockmark(
        "check",
        tiny(tmp_path),
        *words[2:],
        *short,
        cwd=repo,
        env={"XDG_CACHE_HOME": str(tmp_path / "cache")},
    )


def script(step: str) -> str:
    """The shell lines of a step of the action."""
    body = ACTION.partition(f"- name: {step}\n")[2].partition("run: |\n")[2]
    return textwrap.dedent(body.partition("\n\n")[0])


def action(repo: Path, tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The action's own step, as a runner starts it."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    command = folder / "blockmark"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m blockmark "$@"\n')
    command.chmod(0o755)
    values = {"IMPL": "", "BUILD": "", "REPO": ".", "COUNTS": "false", "OPTIONS": ""}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script("Check")],
        cwd=repo,
        env={
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            **values,
            "SCENARIO": tiny(tmp_path),
            **inputs,
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_the_action_fails_a_slower_manager_and_passes_an_equal_one(
    repo: Path, tmp_path: Path
) -> None:
    equal = action(
        repo,
        tmp_path,
        BASELINE_REV="HEAD~1",
        IMPL="mine=mine.py:Mine\nother=mine.py:Mine\n",
        BUILD="python3 -m compileall -q .",
        OPTIONS=SHORT,
    )
    open_ones = "no pass: " in " ".join(equal.stdout.split())
    assert equal.returncode == (3 if open_ones else 0), equal.stdout + equal.stderr
    # Two of the step, two of its tail.
    assert "4 cells" in equal.stdout
    assert ("::error" in equal.stdout) == open_ones
    commit(repo, "slower", mine_py=SLOW)
    slower = action(
        repo,
        tmp_path,
        BASELINE_REV="HEAD~1",
        IMPL="mine=mine.py:Mine",
        COUNTS="true",
        OPTIONS="--rounds 6",
    )
    assert slower.returncode == 1, slower.stdout + slower.stderr
    assert "::error" in slower.stdout
    summary = (tmp_path / "summary.md").read_text()
    assert "step_ns" in summary
    assert "heap_allocations_per_step" in summary + slower.stdout


def test_an_input_is_never_a_command(repo: Path, tmp_path: Path) -> None:
    bad = action(repo, tmp_path, BASELINE_REV="$(touch made); touch made", OPTIONS="; touch made")
    assert bad.returncode == 2
    assert not (repo / "made").exists()
    for block in re.findall(r"run: \|\n(.*?)(?:\n\n|\Z)", ACTION, re.DOTALL):
        assert "${{" not in block


def test_the_install_step_is_shell() -> None:
    subprocess.run(["bash", "-n", "-c", script("Install")], check=True)
    assert 'pip install --quiet "$SOURCE"' in script("Install")
