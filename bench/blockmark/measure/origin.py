"""Where measured code comes from: file, content and commit, so that two versions differ in a run.

A name such as `mine` says nothing of the code behind it. What is kept is the path inside the
repository (the whole path outside of one), a digest of every file of the user's own that was
loaded or included, the commit, and whether those files differ from it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import blockmark
import blockmark_impls
from blockmark.workload.errors import ConfigError
from blockmark_impls.user import load_class

from .sides.repository import Repository
from .stated import own_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blockmark_impls.registry import Implementation

_OURS = tuple(Path(str(each.__file__)).parent for each in (blockmark, blockmark_impls))
_INSTALLED = ("site-packages", "dist-packages")


def origin_of(implementation: Implementation) -> dict[str, Any]:
    """The facts `path digest commit dirty` of a user's class or header; empty for any other.

    `digest` is over the files of the user's own that are loaded here, or that a header
    includes. Without a repository there is `no_commit`, the reason. Raises LoadError.
    """
    own = own_code(implementation)
    if ":" in own:
        module = sys.modules.get(load_class(own).__module__)
        path = getattr(module, "__file__", None)
        return facts_of(Path(path).resolve(), _loaded()) if path else {}
    # A header, or a module that is built already.
    return facts_of(Path(own).resolve(), _included(Path(own).resolve())) if own else {}


def checkout() -> dict[str, Any]:
    """`commit` and `dirty` of blockmark's own source, or `no_commit`, the reason."""
    return _commit(_OURS[0], _OURS)


def facts_of(file: Path, others: Sequence[Path]) -> dict[str, Any]:
    """As `origin_of`, for a file and those of `others` that belong to it.

    They do if they lie in its repository, or in its folder where there is none.
    """
    try:
        top = Repository.of(file.parent).top.resolve()
        path = str(file.relative_to(top))
    except ConfigError:
        top, path = file.parent, str(file)
    mine = sorted({file, *(each for each in others if _belongs(each, top))})
    digest = hashlib.sha256()
    for each in mine:
        digest.update(str(each.relative_to(top)).encode() + b"\0")
        digest.update(hashlib.sha256(_content(each)).digest())
    return {"path": path, "digest": digest.hexdigest()[:16], **_commit(file.parent, mine)}


def _commit(folder: Path, files: Sequence[Path]) -> dict[str, Any]:
    try:
        repository = Repository.of(folder)
        if not repository.tracks(folder):
            return {"no_commit": "its folder is not kept in a git repository"}
        commit = repository.revision("HEAD").commit
        return {"commit": commit, "dirty": repository.differs(files)}
    except ConfigError as error:
        return {"no_commit": str(error).partition(";")[0]}


def _belongs(file: Path, top: Path) -> bool:
    ours = any(file.is_relative_to(place) for place in _OURS)
    return file.is_relative_to(top) and not ours and not {*file.parts} & {*_INSTALLED}


def _loaded() -> list[Path]:
    """The files of all modules that are loaded here."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return [Path(file).resolve() for file in files if isinstance(file, str)]


def _included(header: Path) -> list[Path]:
    """The files that went into a header's module."""
    from blockmark_impls.build import build_header

    if header.suffix == ".so":
        return []
    record = json.loads((build_header(header).parent / "build.json").read_text())
    return [Path(file).resolve() for file in record["files"]]


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
