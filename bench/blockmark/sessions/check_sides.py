"""Where the two sides of a check come from: a revision, an environment, or one side twice."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from blockmark.measure.builds import (
    build_package,
    built_tree,
    forget_modules,
    is_blockmark,
    run_build,
)
from blockmark.measure.machine import build_facts
from blockmark.measure.repository import Repository
from blockmark.measure.sides import Side
from blockmark.workload.errors import ConfigError

from .check_plan import Asked

Say = Callable[[str], None]
Sides = tuple[Side, Side]
_FILE_TARGET = re.compile(
    r"(?P<alias>[^=\[\]:]*=)?"
    r"(?P<path>[^:\[\]]+\.(?:py|h|hh|hpp|hxx|so))(?P<rest>(?:[:\[].*)?)"
)


@contextmanager
def revision_sides(folder: Path, name: str, build: str | None, say: Say) -> Iterator[Sides]:
    """A revision of the repository that `folder` lies in, and its working tree as it is.

    In a checkout of this project both packages are built. In any other the installed
    package serves both sides, and `build`, where there is one, is run in each.
    Raises ConfigError, BuildError.
    """
    repository = Repository.of(folder)
    revision = repository.revision(name)
    head, dirty = repository.revision("HEAD"), repository.is_dirty()
    called = f"{revision.short} ({name})" if not revision.commit.startswith(name) else name[:10]
    before = Side(called, origin="")
    after = Side(f"{head.short}{' with changes' if dirty else ''} (working tree)", cwd=folder)
    with ExitStack() as stack:
        if build is not None:
            tree = stack.enter_context(built_tree(repository, revision, build, say=say))
            run_build(build, folder, "the working tree", say=say)
        else:
            tree = stack.enter_context(repository.checked_out(revision))
            if is_blockmark(repository.top):
                core = bool(build_facts()["native"])
                old = build_package(repository, revision, core=core, say=say)
                new = build_package(repository, repository.snapshot(), core=core, say=say)
                same = "the measured package is the same on both sides" if old == new else ""
                before = replace(before, implementations=old, origin=same)
                after = replace(after, implementations=new)
        before = replace(
            before, cwd=repository.folder_in(tree), root=tree, apart_from=repository.top
        )
        if revision.commit == head.commit and not dirty:
            same = f"{called} is what is checked out, without changes: both sides are equal"
            before = replace(before, origin="; ".join(filter(None, [same, before.origin])))
        stack.callback(forget_modules, tree)
        yield before, replace(after, root=repository.top)


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
