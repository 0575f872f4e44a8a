"""However a command is killed, it leaves no process, no temporary file and no torn run.

A part of tests/robustness/kill_storm.py, at fixed times.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "robustness"))

from kill_storm import Kill, prepare_folder, storm

from cli import command

INT, TERM, HUP, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_folder(tmp_path_factory.mktemp("storm"))


@pytest.mark.parametrize(
    "kill",
    [
        Kill("run, a daemon", (TERM,), 2.5),
        Kill("run, a daemon", (KILL,), 3.0),
        Kill("run", (INT, TERM, HUP), 2.0),
        Kill("verify", (TERM,), 1.5),
        Kill("verify", (KILL,), 1.5),
        Kill("check", (HUP,), 2.0),
        Kill("check, a revision", (TERM, TERM), 1.5),
        Kill("build", (TERM,), 1.5),
        Kill("build", (KILL,), 1.5),
        Kill("list", (INT,), 0.15),
    ],
    ids=lambda kill: f"{kill.name} {'+'.join(s.name for s in kill.signals)}",
)
def test_nothing_is_left(folder: Path, kill: Kill) -> None:
    assert storm(kill, folder) == []


def test_an_interrupt_while_modules_are_imported_shows_none_of_them(tmp_path: Path) -> None:
    """At twelve times of the first third of a second."""
    for number in range(12):
        process = subprocess.Popen(
            command("list", "metrics"),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(0.04 + number * 0.025)
        process.send_signal(INT)
        _, err = process.communicate(timeout=20)
        if "Traceback" in err:
            # The interpreter itself was still starting, which nobody can keep silent.
            assert "/blockmark/" not in err, err
        else:
            assert process.returncode in (0, 130, -INT)


def test_nohup_keeps_a_command_from_being_hung_up(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("verify", "--impl", "vector/py", "--quick"),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(HUP, signal.SIG_IGN),
    )
    time.sleep(0.5)
    process.send_signal(HUP)
    assert process.wait(60) == 0


def test_the_temporary_folder_of_a_command_goes_with_it(tmp_path: Path) -> None:
    """Also what a class leaves in it, which knows of no other."""
    (tmp_path / "leaves.py").write_text(
        "import tempfile\n"
        "from blockmark_impls.python.vector import VectorManager\n"
        "class Leaves(VectorManager):\n"
        "    def __init__(self, config):\n"
        "        super().__init__(config)\n"
        "        tempfile.mkdtemp()\n"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        command("verify", "--impl", "m=leaves.py:Leaves", "--quick"),
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert list(scratch.iterdir()) == []


def test_a_worktree_whose_check_was_killed_is_forgotten_by_the_next(tmp_path: Path) -> None:
    """A worktree of somebody else's is kept, also one whose folder is away for a while."""
    from blockmark.measure.sides.repository import Repository
    from git_repository import git, repository

    top = repository(tmp_path / "repo", mine_py="x = 1\n")
    own = Repository.of(top)
    revision = own.revision("HEAD")
    killed = tmp_path / "blockmark-0123abcd" / "tree"
    killed.parent.mkdir()
    own.check_out(revision, killed)
    git(top, "worktree", "add", "--detach", str(tmp_path / "theirs"))
    (tmp_path / "theirs").rename(tmp_path / "away")
    shutil.rmtree(killed.parent)
    with own.checked_out(revision) as tree:
        assert (tree / "mine.py").read_text() == "x = 1\n"
        known = git(top, "worktree", "list")
        assert str(killed) not in known
        assert str(tmp_path / "theirs") in known
