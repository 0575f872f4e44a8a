"""What a run says of the code that it measured: file, content, commit, and whether it differed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import blockmark as package
from blockmark.measure.origin import checkout, facts_of
from cli import blockmark, tiny
from git_repository import MANAGER, git

HELPED = MANAGER.replace("class Mine", "import helper\n\n\nclass Mine")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A class and a helper of it, committed in a folder below the top."""
    folder = tmp_path / "project" / "cache"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(HELPED)
    (folder / "helper.py").write_text("N = 1\n")
    git(tmp_path / "project", "init", "--quiet")
    git(tmp_path / "project", "add", ".")
    git(tmp_path / "project", "commit", "--quiet", "--message", "first")
    return folder


def measured(folder: Path, *words: str) -> dict[str, Any]:
    """The run.json of a quick run of mine.py in that folder."""
    done = blockmark(
        "run", tiny(folder.parents[1]), "--quick", "--impl", "mine=mine.py:Mine", "--json", *words,
        "--output", str(folder.parents[1] / "results"),
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_run_says_which_code_it_measured(repository: Path) -> None:
    run = measured(repository, "--name", "main", "--tag", "nightly", "--tag", "lto")
    (info,) = run["implementations"]
    digest = hashlib.sha256()
    for name in ("cache/helper.py", "cache/mine.py"):
        content = (repository.parent / name).read_bytes()
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    assert info["origin"] == {
        "path": "cache/mine.py",
        "digest": digest.hexdigest()[:16],
        "commit": git(repository, "rev-parse", "HEAD").strip(),
        "dirty": False,
    }
    assert (run["name"], run["tags"]) == ("main", ["nightly", "lto"])
    assert run["machine"]["load_before"] >= 0

    # Another content of a helper is another program, though the class's own file is the same.
    (repository / "helper.py").write_text("N = 2\n")
    later = measured(repository)
    (changed,) = later["implementations"]
    assert changed["origin"]["digest"] != info["origin"]["digest"]
    assert changed["origin"]["commit"] == info["origin"]["commit"]
    assert changed["origin"]["dirty"] is True
    # Two runs are told apart whatever their folders are called.
    assert later["uid"] != run["uid"]

    # What rows of the run say.
    row = package.load(repository.parents[1] / "results" / "0001")[0]
    assert (row["name"], row["tags"], row["uid"]) == ("main", "nightly lto", run["uid"])
    assert (row["path"], row["commit"]) == ("cache/mine.py", info["origin"]["commit"])

    # What a comparison and a history say.
    results = [str(repository.parents[1] / "results" / number) for number in ("0001", "0002")]
    compared = blockmark("compare", *results, cwd=repository, env={"COLUMNS": "200"})
    assert "mine is another version now" in compared.stdout
    assert f"mine: cache/mine.py at {info['origin']['commit'][:10]}" in compared.stdout
    assert "changed since" in compared.stdout
    history = blockmark("history", *results, cwd=repository, env={"COLUMNS": "200"})
    assert "0001 main" in history.stdout
    assert "mine is another version" in history.stdout


def test_a_file_in_no_repository_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MANAGER)
    facts = facts_of(file, [tmp_path / "elsewhere" / "other.py", Path("/usr/include/stdio.h")])
    assert facts["path"] == str(file)
    expected = hashlib.sha256(b"mine.py\0" + hashlib.sha256(MANAGER.encode()).digest())
    assert facts["digest"] != ""
    assert "commit" not in facts
    assert "git repository" in facts["no_commit"]
    alone = facts_of(file, [])
    assert alone["digest"] == expected.hexdigest()[:16]


def test_blockmarks_own_checkout_is_told() -> None:
    """In a clone its commit; where it is not kept in git, the reason."""
    facts = checkout()
    assert facts.keys() in ({"commit", "dirty"}, {"no_commit"})
    top = Path(package.__file__).parents[2]
    if (top / ".git").exists():
        assert facts["commit"] == git(top, "rev-parse", "HEAD").strip()
