"""The git repository whose revisions are compared: found, asked, and checked out beside itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blockmark.workload.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Set where git itself has started us, as from a hook, and then they name its repository.
_OF_A_HOOK = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)
_WRITER = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "blockmark"), ("EMAIL", "blockmark"))
}


class GitError(ConfigError):
    """A git command failed; one line, with what it said."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, and what it was called."""

    commit: str
    called: str

    @property
    def short(self) -> str:
        """What reports print."""
        return self.commit[:10]


@dataclass(frozen=True, slots=True)
class Repository:
    """`top` is the root of the working tree, `inside` the folder in it that was meant."""

    top: Path
    inside: Path

    @classmethod
    def of(cls, folder: Path) -> Repository:
        """The repository that a folder lies in. Raises ConfigError."""
        if not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder; name one with --repo DIR")
        if shutil.which("git") is None:
            raise ConfigError("git is not installed; a revision can't be built without it")
        try:
            top = Path(_git(folder, "rev-parse", "--show-toplevel"))
        except GitError as error:
            raise ConfigError(
                f"{folder}: not the working tree of a git repository ({error}); name one with "
                "--repo DIR"
            ) from None
        return cls(top, folder.resolve().relative_to(top.resolve()))

    def revision(self, name: str) -> Revision:
        """What a revision names. Raises ConfigError."""
        try:
            commit = _git(
                self.top,
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                f"{name}^{{commit}}",
            )
        except GitError:
            mend = "see git log"
            if _git(self.top, "rev-parse", "--is-shallow-repository") == "true":
                mend = "this clone is shallow: fetch it first (git fetch --unshallow)"
            raise ConfigError(f"{self.top}: there is no revision {name!r}; {mend}") from None
        return Revision(commit, name)

    def between(self, first: Revision, last: Revision) -> tuple[Revision, ...]:
        """The commits after the first up to the last, oldest first, along first parents; each
        called by its short name and title. None if the first is no ancestor of the last.
        """
        span = f"{first.commit}..{last.commit}"
        try:
            _git(self.top, "merge-base", "--is-ancestor", first.commit, last.commit)
        except GitError:
            return ()
        told = _git(self.top, "log", "--first-parent", "--reverse", "--format=%H %s", span)
        lines = (line.partition(" ") for line in told.splitlines())
        return tuple(Revision(commit, f"{commit[:10]} {title}") for commit, _, title in lines)

    def folder_in(self, tree: Path) -> Path:
        """The folder that was meant, in another working tree. Raises ConfigError."""
        folder = tree / self.inside
        if not folder.is_dir():
            raise ConfigError(f"{self.inside} is no folder in the revision to compare with")
        return folder

    def is_dirty(self) -> bool:
        """Whether the working tree differs from its commit, new files included."""
        return bool(_git(self.top, "status", "--porcelain"))

    def tracks(self, path: Path) -> bool:
        """Whether anything of this file or folder is kept in the repository."""
        return bool(_git(self.top, "ls-files", "--", str(path)))

    def differs(self, paths: Sequence[Path]) -> bool:
        """Whether one of these files or folders differs from the commit, or is new."""
        return bool(_git(self.top, "status", "--porcelain", "--", *map(str, paths)))

    def snapshot(self) -> Revision:
        """The working tree as it is, as a commit that no branch knows."""
        head = _git(self.top, "rev-parse", "HEAD")
        if not self.is_dirty():
            return Revision(head, "the working tree")
        with tempfile.TemporaryDirectory(prefix="blockmark-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            _git(self.top, "read-tree", head, more=index)
            _git(self.top, "add", "--all", ".", more=index)
            tree = _git(self.top, "write-tree", more=index)
        commit = _git(self.top, "commit-tree", tree, "-p", head, "-m", "working tree", more=_WRITER)
        return Revision(commit, "the working tree")

    def contents(self, revision: Revision, paths: tuple[str, ...]) -> str:
        """A text that is the same where these paths hold the same."""
        return _git(self.top, "ls-tree", revision.commit, "--", *paths)

    def check_out(self, revision: Revision, folder: Path) -> None:
        """A worktree of the revision in a new folder; hooks are not run."""
        self._forget_gone()
        _git(
            self.top,
            "-c",
            "core.hooksPath=/dev/null",
            "worktree",
            "add",
            "--quiet",
            "--detach",
            "--force",
            str(folder),
            revision.commit,
        )

    def _forget_gone(self) -> None:
        """Let the repository forget worktrees of earlier checks that were killed: their folders
        are gone.
        """
        common = self.top / _git(self.top, "rev-parse", "--git-common-dir")
        for file in (common / "worktrees").glob("*/gitdir"):
            with suppress(OSError):
                place = Path(file.read_text().strip())
                ours = any(part.startswith("blockmark-") for part in place.parts)
                if ours and not place.exists():
                    shutil.rmtree(file.parent, ignore_errors=True)

    def forget(self, folder: Path) -> None:
        """Leave a worktree's files, but let the repository know of it no more."""
        with suppress(GitError):
            kept = Path(_git(folder, "rev-parse", "--absolute-git-dir"))
            # Never the repository itself, whatever became of the folder.
            if kept.parent.name == "worktrees":
                shutil.rmtree(kept, ignore_errors=True)
        (folder / ".git").unlink(missing_ok=True)

    @contextmanager
    def checked_out(self, revision: Revision) -> Iterator[Path]:
        """A worktree for as long as it is needed."""
        with tempfile.TemporaryDirectory(prefix="blockmark-", ignore_cleanup_errors=True) as folder:
            place = Path(folder) / "tree"
            try:
                self.check_out(revision, place)
                yield place
            finally:
                if place.exists():
                    self.forget(place)


def _git(folder: Path, *words: str, more: Mapping[str, str] | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**environment, "LC_ALL": "C", **(more or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise GitError(said[-1] if said else f"git {words[0]} ended with code {done.returncode}")
    return done.stdout.strip()
