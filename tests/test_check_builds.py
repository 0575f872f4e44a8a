"""Building the package of a revision: with the tools at hand, once, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockmark.measure.sides.builds import (
    BuildError,
    _toolchain,
    build_package,
    forget_modules,
    is_blockmark,
)
from blockmark.measure.sides.repository import Repository
from blockmark.sessions.check_sides import revision_sides
from blockmark.workload.errors import ConfigError
from git_repository import commit, repository

# A backend of a few lines: a wheel is a zip file of what lies in impls/.
BACKEND = """
import base64, hashlib, os, pathlib, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    here = pathlib.Path(__file__).parent
    if (here / "impls" / "blockmark_impls" / "broken").exists():
        raise SystemExit("error: expected ';' before '}' token")
    name, info = "blockmark-0.1.0-py3-none-any.whl", "blockmark-0.1.0.dist-info"
    files = {f.relative_to(here / "impls"): f.read_text() for f in here.glob("impls/**/*.py")}
    required = os.environ.get("BLOCKMARK_REQUIRE_NATIVE")
    files["blockmark_impls/required.txt"] = str(required)
    files[f"{info}/METADATA"] = "Metadata-Version: 2.1\\nName: blockmark\\nVersion: 0.1.0\\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files[f"{info}/RECORD"] = "".join(f"{name},,\\n" for name in files)
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(str(path), text)
    return name
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "blockmark"
version = "0.1.0"
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in the shape of this project's, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repo = tmp_path / "own"
    repository(repo, backend_py=BACKEND, pyproject_toml=PROJECT)
    (repo / "impls" / "blockmark_impls").mkdir(parents=True)
    (repo / "impls" / "blockmark_impls" / "__init__.py").write_text("side = 'old'\n")
    commit(repo, "named")
    return repo


def test_a_revision_is_built_once(own: Path) -> None:
    assert is_blockmark(own)
    at, said = Repository.of(own), list[str]()
    first = build_package(at, at.revision("HEAD"), core=True, say=said.append)
    assert (first / "blockmark_impls" / "__init__.py").read_text() == "side = 'old'\n"
    # Where this harness has a core, a revision without one must not pass as built.
    assert (first / "blockmark_impls" / "required.txt").read_text() == "1"
    (told,) = said
    assert told.startswith("building blockmark_impls of ")
    # A commit that touches nothing of the package is the same build.
    commit(own, "words", notes_txt="words")
    assert build_package(at, at.revision("HEAD"), core=True, say=said.append) == first
    assert [line.endswith("was built before") for line in said] == [False, True]
    without = build_package(at, at.revision("HEAD"), core=False, say=said.append)
    assert (without / "blockmark_impls" / "required.txt").read_text() == "0"


def test_both_sides_are_built_alike(own: Path) -> None:
    (own / "impls" / "blockmark_impls" / "__init__.py").write_text("side = 'new'\n")
    said = list[str]()
    with revision_sides(own, "HEAD", None, said.append) as (before, after):
        texts = [
            (side.implementations / "blockmark_impls" / "__init__.py").read_text()
            for side in (before, after)
            if side.implementations
        ]
        assert texts == ["side = 'old'\n", "side = 'new'\n"]
        # Folders of one length: names of files are in the memory of what is measured.
        assert len(str(before.implementations)) == len(str(after.implementations))
        assert "with changes" in after.name
    (own / "impls" / "blockmark_impls" / "__init__.py").write_text("side = 'old'\n")
    with revision_sides(own, "HEAD", None, said.append) as (before, after):
        assert before.implementations == after.implementations
        assert "without changes: both sides are equal" in before.origin
    assert sum(line.startswith("building") for line in said) == 2


def test_a_revision_that_does_not_build_shows_its_last_words(own: Path) -> None:
    (own / "impls" / "blockmark_impls" / "broken").write_text("")
    commit(own, "broken")
    at = Repository.of(own)
    with pytest.raises(BuildError, match=r"HEAD \(\w+\) does not build") as failed:
        build_package(at, at.revision("HEAD"), core=False, say=lambda text: None)
    assert "expected ';'" in failed.value.log
    # Nothing half built is left to be taken for a build.
    with pytest.raises(BuildError):
        build_package(at, at.revision("HEAD"), core=False, say=lambda text: None)


def test_a_revision_from_before_there_was_a_package(tmp_path: Path, own: Path) -> None:
    (own / "impls" / "blockmark_impls" / "__init__.py").unlink()
    commit(own, "none")
    at = Repository.of(own)
    with pytest.raises(ConfigError, match="has no impls/blockmark_impls"):
        build_package(at, at.revision("HEAD"), core=False, say=lambda text: None)


@pytest.mark.parametrize(
    "name", ["CC", "CFLAGS", "LDFLAGS", "CPATH", "CMAKE_ARGS", "SKBUILD_BUILD_TYPE", "PATH"]
)
def test_a_build_is_another_one_where_a_variable_is(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = _toolchain()
    monkeypatch.setenv(name, "/usr/bin")
    assert _toolchain() != before


def test_what_has_nothing_to_do_with_a_build_makes_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = _toolchain()
    monkeypatch.setenv("GITHUB_RUN_ID", "17")
    assert _toolchain() == before


def test_modules_of_a_tree_that_is_gone_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    modules = tmp_path / "blockmark" / "modules"
    for name, header in (("mine-1", "/tmp/tree/mine.hpp"), ("mine-2", "/home/me/mine.hpp")):
        (modules / name).mkdir(parents=True)
        (modules / name / "build.json").write_text(json.dumps({"files": {header: "abc"}}))
    (modules / "torn").mkdir()
    (modules / "torn" / "build.json").write_text("{")
    forget_modules(Path("/tmp/tree"))
    assert sorted(path.name for path in modules.iterdir()) == ["mine-2", "torn"]
