"""Where the two sides of a check come from: a revision, an environment, or one side twice."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from blockmark.measure.machine import build_facts
from blockmark.measure.sides.builds import (
    build_package,
    built_tree,
    forget_modules,
    is_blockmark,
    run_build,
)
from blockmark.measure.sides.repository import Repository, Revision
from blockmark.measure.sides.side import Side
from blockmark.workload.errors import ConfigError

from .check_plan import Asked

Say = Callable[[str], None]
Sides = tuple[Side, Side]
_FILE_TARGET = re.compile(
    r"(?P<alias>[^=\[\]:]*=)?"
    r"(?P<path>[^:\[\]]+\.(?:py|h|hh|hpp|hxx|so))(?P<rest>(?:[:\[].*)?)"
)


@contextmanager
def revision_sides(
    folder: Path, name: str, build: str | None, say: Say, candidate: Revision | None = None
) -> Iterator[Sides]:
    """A revision of the repository that `folder` lies in, and its working tree as it is, or
    another revision as the `candidate`.

    In a checkout of this project both packages are built. In any other the installed
    package serves both sides, and `build`, where there is one, is run in each.
    Raises ConfigError, BuildError.
    """
    repository = Repository.of(folder)
    revision = repository.revision(name)
    called = f"{revision.short} ({name})" if not revision.commit.startswith(name) else name[:10]
    before = Side(called, origin="")
    with ExitStack() as stack:
        tree = _tree_of(stack, repository, revision, build, say)
        if candidate is None:
            now, same = _working_tree(repository, revision, called)
            after = Side(now, cwd=folder, root=repository.top)
            if build is not None:
                run_build(build, folder, "the working tree", say=say)
        else:
            now, same = candidate.called, ""
            place = _tree_of(stack, repository, candidate, build, say)
            cwd = repository.folder_in(place)
            after = Side(now, cwd=cwd, root=place, apart_from=repository.top)
        if build is None and is_blockmark(repository.top):
            core = bool(build_facts()["native"])
            packages = [
                build_package(repository, each, core=core, say=say)
                for each in (revision, candidate or repository.snapshot())
            ]
            if packages[0] == packages[1]:
                same = same or "the measured package is the same on both sides"
            before = replace(before, implementations=packages[0])
            after = replace(after, implementations=packages[1])
        cwd = repository.folder_in(tree)
        before = replace(before, cwd=cwd, root=tree, apart_from=repository.top, origin=same)
        yield before, after


def _tree_of(
    stack: ExitStack, repository: Repository, revision: Revision, build: str | None, say: Say
) -> Path:
    """A worktree of a revision, built if it has to be; gone when the stack ends."""
    if build is None:
        tree = stack.enter_context(repository.checked_out(revision))
    else:
        tree = stack.enter_context(built_tree(repository, revision, build, say=say))
    stack.callback(forget_modules, tree)
    return tree


def _working_tree(repository: Repository, revision: Revision, called: str) -> tuple[str, str]:
    """What the working tree is called, and whether it is the revision itself."""
    head, dirty = repository.revision("HEAD"), repository.is_dirty()
    equal = revision.commit == head.commit and not dirty
    return (
        f"{head.short}{' with changes' if dirty else ''} (working tree)",
        f"{called} is what is checked out, without changes: both sides are equal" if equal else "",
    )


def relative_targets(targets: Sequence[str], folder: Path) -> list[str]:
    """Targets whose files are named relative to `folder`, so that each side has its own.

    Raises ConfigError for a file outside the repository: both sides would be that file.
    """
    top = Repository.of(folder).top.resolve()
    found = []
    for target in targets:
        match = _FILE_TARGET.fullmatch(target)
        if match is None:
            found.append(target)
            continue
        path = (folder / match["path"]).resolve()
        if not path.is_relative_to(top):
            raise ConfigError(
                f"--impl {target}: {path} lies outside the repository {top}, so both sides "
                "would be the same file; name a file of the repository, or another --repo"
            )
        if Path(match["path"]).is_absolute():
            near = os.path.relpath(path, folder.resolve())
            target = f"{match['alias'] or ''}{near}{match['rest']}"
        found.append(target)
    return found


def with_relative_targets(asked: Asked, folder: Path) -> Asked:
    """What was asked, with every target as `relative_targets` names it."""
    targets = {
        name: tuple(relative_targets(wanted, folder)) for name, wanted in asked.targets.items()
    }
    return replace(asked, targets=targets)


def environment_sides(folder: Path, cwd: Path | None) -> Sides:
    """A ready virtual environment, or a folder with `blockmark_impls` in it; and what is here.

    Raises ConfigError for a folder that is neither.
    """
    after = Side("installed here", cwd=cwd)
    for python in (folder / "bin" / "python", folder / "Scripts" / "python.exe"):
        if python.is_file():
            return Side(f"{folder} (environment)", python=str(python.absolute()), cwd=cwd), after
    for holder in (folder, folder / "impls"):
        if (holder / "blockmark_impls" / "__init__.py").is_file():
            return Side(str(folder), implementations=holder.resolve(), cwd=cwd), after
    raise ConfigError(
        f"--baseline-env {folder}: neither an environment (no bin/python) nor a folder that holds "
        "blockmark_impls"
    )


def same_side_twice(cwd: Path | None) -> Sides:
    """The candidate against itself."""
    return Side("installed here", cwd=cwd), Side("itself", cwd=cwd)
