"""A git repository of a user's own, made for a test, with a block manager in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

MANAGER = """
from blockmark_impls.python.vector import VectorManager


class Mine(VectorManager):
    pass
"""
# Right, and several times slower: every lookup counts to 300 first.
SLOW = """
from blockmark_impls.python.vector import VectorManager


class Mine(VectorManager):
    def lookup(self, seq: int, logical: int) -> int:
        for _ in range(300):
            pass
        return super().lookup(seq, logical)
"""
WRONG = """
from blockmark_impls.python.vector import VectorManager


class Mine(VectorManager):
    def lookup(self, seq: int, logical: int) -> int:
        return super().lookup(seq, 0)
"""


def git(folder: Path, *words: str) -> str:
    """Run git, which knows of no settings but these."""
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t", "-c", "commit.gpgsign=false", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def repository(folder: Path, **files: str) -> Path:
    """A new repository with one commit; `mine_py` becomes the file `mine.py`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".gitignore").write_text("__pycache__/\n")
    commit(folder, "first", **files)
    return folder


def commit(folder: Path, text: str, **files: str) -> str:
    """Write files, commit all, and the commit's name."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_toml", ".toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", text)
    return git(folder, "rev-parse", "HEAD")
