"""Where a side's package comes from: one folder, and nothing of it from anywhere else."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import blockmark_impls
from blockmark.measure.sides.repository import Repository
from blockmark.measure.sides.side import Side, describe_side, unlike, unlike_in
from blockmark.sessions.check_sides import environment_sides, relative_targets
from blockmark.workload.errors import ConfigError
from blockmark.workload.scenario import load_scenario
from cli import blockmark, tiny
from git_repository import MANAGER, git, repository

SOURCES = Path(blockmark_impls.contract.__file__).parent  # type: ignore[attr-defined]
FAKE_CORE = """
REPLAY_VERSION = 999
def build_info():
    return {"compiler": "none 1", "flags": "-O0", "cxx_standard": 20, "build_type": "Debug"}
def probe_latency_ns(size):
    return 1.0
"""


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder with a `blockmark_impls` of its own, without a core."""
    folder = tmp_path / "other"
    unwanted = shutil.ignore_patterns("native", "__pycache__", "*.so")
    shutil.copytree(SOURCES, folder / "blockmark_impls", ignore=unwanted)
    (folder / "blockmark_impls" / "native").mkdir()
    shutil.copy(SOURCES / "native" / "structures.txt", folder / "blockmark_impls" / "native")
    # A package of this harness's name must not be taken for it.
    (folder / "blockmark").mkdir()
    (folder / "blockmark" / "__init__.py").write_text("raise RuntimeError('not this one')")
    return folder


def test_a_part_that_the_folder_lacks_is_not_taken_from_elsewhere(
    other: Path, tmp_path: Path
) -> None:
    cell = load_scenario(Path(tiny(tmp_path))).cells()[0]
    here = describe_side(Side("here"), ["vector", "nothing"], cell)
    there = describe_side(Side("there", other), ["vector", "nothing"], cell)
    assert not here.broken
    assert not there.broken
    assert there.package["place"] == [str(other / "blockmark_impls")]
    assert there.package["core"]["native"] is False
    python, native = (one["subject"] for one in there.found["vector"])
    assert (python["name"], native["name"]) == ("vector/py", "vector/cpp")
    assert native["unavailable"]
    assert not python["unavailable"]
    assert "nothing" in there.unknown
    # Other packages are found as before.
    assert here.package["numpy"] == there.package["numpy"] is not None
    assert unlike(here, there) == ""


def test_versions_tell_whether_the_work_is_the_same(other: Path, tmp_path: Path) -> None:
    cell = load_scenario(Path(tiny(tmp_path))).cells()[0]
    here = describe_side(Side("here"), [], cell)
    (other / "blockmark_impls" / "_native.py").write_text(FAKE_CORE)
    there = describe_side(Side("there", other), [], cell)
    assert there.package["replay_version"] == 999
    if here.package["core"]["native"]:
        assert unlike(here, there) == "other replay: version 1 before, version 999 now"
        assert unlike_in("cpp", here, there).startswith("other build: compiler was ")
    assert unlike_in("py", here, there) == unlike_in("numpy", here, there) == ""
    contract = other / "blockmark_impls" / "contract.py"
    contract.write_text(contract.read_text().replace("CONTRACT_VERSION = 1", ""))
    there = describe_side(Side("there", other), [], cell)
    assert unlike(there, here) == "other contract: version 0 before, version 1 now"


def test_a_package_from_before_user_code_had_an_error_of_its_own(
    other: Path, tmp_path: Path
) -> None:
    cell = load_scenario(Path(tiny(tmp_path))).cells()[0]
    registry = other / "blockmark_impls" / "registry.py"
    text = registry.read_text()
    older = text.replace("    LoadError,\n", "").replace('    "LoadError",\n', "")
    assert len(older) < len(text)
    registry.write_text(older)
    there = describe_side(Side("there", other), ["vector", "missing.py:M"], cell)
    assert not there.broken
    assert list(there.found) == ["vector"]
    assert there.unknown == {"missing.py:M": "missing.py: there is no such file"}


def test_a_package_that_can_t_be_imported_says_why(other: Path, tmp_path: Path) -> None:
    cell = load_scenario(Path(tiny(tmp_path))).cells()[0]
    (other / "blockmark_impls" / "registry.py").write_text("raise ImportError('gone')\n")
    there = describe_side(Side("there", other), [], cell)
    assert "gone" in there.broken
    assert "can't be driven by this blockmark" in unlike(there, there)
    nobody = describe_side(Side("x", python=str(tmp_path / "no-python")), [], cell)
    assert "can't be started" in nobody.broken


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("os._exit(7)", "the process ended with code 7"),
        ("os.kill(os.getpid(), 11)", "the process crashed with SIGSEGV"),
    ],
)
def test_a_class_that_ends_the_process_is_named_and_the_others_are_found(
    tmp_path: Path, line: str, reason: str
) -> None:
    cell = load_scenario(Path(tiny(tmp_path))).cells()[0]
    (tmp_path / "bad.py").write_text(f"import os\n{line}\n")
    (tmp_path / "good.py").write_text(MANAGER)
    targets = ["vector", "bad=bad.py:Bad", "good=good.py:Mine", "nothing"]
    told = describe_side(Side("here", cwd=tmp_path), targets, cell)
    assert not told.broken
    assert told.package == describe_side(Side("here"), [], cell).package
    assert list(told.found) == ["vector", "good=good.py:Mine"]
    assert list(told.unknown) == ["bad=bad.py:Bad", "nothing"]
    assert told.unknown["bad=bad.py:Bad"].startswith(f"bad=bad.py:Bad can't be loaded: {reason}")


def test_another_replay_is_incomparable_by_the_command(other: Path, tmp_path: Path) -> None:
    contract = other / "blockmark_impls" / "contract.py"
    contract.write_text(contract.read_text().replace("CONTRACT_VERSION = 1", ""))
    done = blockmark(
        *("check", tiny(tmp_path), "--impl", "vector/py", "--baseline-env", str(other)),
        cwd=tmp_path,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "other contract: version 0 before, version 1 now" in done.stdout
    assert "2 incomparable" in done.stdout


def test_an_environment_is_driven_by_its_own_interpreter(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    before, after = environment_sides(tmp_path, None)
    assert before.command()[0] == str(tmp_path / "bin" / "python")
    assert after.command()[0] == sys.executable
    assert before.command()[1:3] == after.command()[1:3]


def test_a_checkout_is_as_good_as_a_folder(other: Path, tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    other.rename(tmp_path / "checkout" / "impls")
    before, _ = environment_sides(tmp_path / "checkout", None)
    assert before.implementations == tmp_path / "checkout" / "impls"
    with pytest.raises(ConfigError, match="neither an environment"):
        environment_sides(tmp_path, None)


def test_files_are_named_relative_to_each_side(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", sub__mine_py=MANAGER)
    file = repo / "sub" / "mine.py"
    assert relative_targets([f"m={file}:Mine[call_style=per-op]", "vector/py"], repo) == [
        "m=sub/mine.py:Mine[call_style=per-op]",
        "vector/py",
    ]
    assert relative_targets([f"{file}:Mine", "a.b:C"], repo / "sub") == ["mine.py:Mine", "a.b:C"]
    # Above the folder, but inside the repository: as good.
    assert relative_targets(["../top.py:Mine"], repo / "sub") == ["../top.py:Mine"]
    with pytest.raises(ConfigError, match="outside the repository"):
        relative_targets(["../mine.py:Mine"], repo)


def test_a_snapshot_holds_what_was_changed_and_what_is_new(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", mine_py=MANAGER)
    (repo / "sub").mkdir()
    at = Repository.of(repo / "sub")
    assert (at.top, at.inside) == (repo, Path("sub"))
    assert at.snapshot().commit == git(repo, "rev-parse", "HEAD")
    (repo / "mine.py").write_text("changed = 1\n")
    (repo / "new.py").write_text("new = 1\n")
    (repo / "__pycache__").mkdir()
    (repo / "__pycache__" / "ignored").write_text("")
    before = git(repo, "status", "--porcelain")
    snapshot = at.snapshot()
    with at.checked_out(snapshot) as tree:
        assert (tree / "mine.py").read_text() == "changed = 1\n"
        assert (tree / "new.py").exists()
        assert not (tree / "__pycache__").exists()
        with pytest.raises(ConfigError, match="sub is no folder in the revision"):
            at.folder_in(tree)
    assert not tree.exists()
    assert git(repo, "status", "--porcelain") == before
    assert len(git(repo, "worktree", "list").splitlines()) == 1


def test_a_check_inside_a_git_hook_sees_its_own_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = repository(tmp_path / "repo", mine_py=MANAGER)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert Repository.of(repo).top == repo
