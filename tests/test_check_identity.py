"""Both sides of a check run code of their own: what is loaded counts, not what is named."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from blockmark.measure.inside.describe import _is_absent
from blockmark.measure.sides.loaded import included_in, loaded_files
from blockmark.measure.sides.side import HARNESS, INSTALLED, Side
from blockmark.sessions.check_identity import refuse_shared_code
from blockmark.workload.errors import ConfigError
from cli import blockmark, tiny
from git_repository import MANAGER, SLOW, commit, repository

TOP, TREE = Path("/repo"), Path("/tmp/tree")
SIDE = Side("main", root=TREE, apart_from=TOP)
ENTRY = "from eng.core import Mine as Core\n\n\nclass Mine(Core):\n    pass\n"


@pytest.mark.parametrize(
    ("files", "installed", "told"),
    [
        (["/tmp/tree/eng/core.py", "/usr/lib/x.so"], {}, ""),
        (["/repo/eng/core.py"], {}, "/repo/eng/core.py, a file of the working tree"),
        # A file of the harness, or of the package that both sides have installed.
        ([f"{HARNESS}/blockmark/x.py", f"{INSTALLED}/native/blockmark.hpp"], {}, ""),
        ([], {"/site-packages/eng/core.py": "/repo/packages/eng"}, "installed from /repo/packa"),
        # The last tree that was built is installed for both.
        ([], {"/site-packages/eng/core.py": "/tmp/tree"}, "installed from /tmp/tree"),
        ([], {"/site-packages/eng/core.py": "/somewhere/else"}, ""),
    ],
)
def test_a_file_of_the_other_side_is_refused(
    files: list[str], installed: dict[str, str], told: str
) -> None:
    loaded = {"files": files, "installed": installed}
    if told:
        with pytest.raises(ConfigError, match="both sides would run it") as refused:
            refuse_shared_code(SIDE, loaded)
        assert told in str(refused.value)
    else:
        refuse_shared_code(SIDE, loaded)
    # Sides that are no revisions of one repository may share what they like.
    refuse_shared_code(Side("installed here"), loaded)


def test_modules_libraries_and_headers_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("a_users_module")
    module.__file__ = str(tmp_path / "a.py")
    monkeypatch.setitem(sys.modules, "a_users_module", module)
    header = tmp_path / "h.hpp"
    told = loaded_files([header])["files"]
    assert str(tmp_path / "a.py") in told
    assert str(header) in told
    # The standard library and what is installed are no code of a repository.
    assert not [file for file in told if "site-packages" in file or file == json.__file__]
    (tmp_path / "build.json").write_text(json.dumps({"files": {str(header): "abc"}}))
    assert included_in(tmp_path / "build_1.so") == {header}
    assert included_in(tmp_path / "nothing" / "x.so") == set()


@pytest.mark.parametrize("editable", [False, True])
def test_a_copy_that_was_installed_from_a_folder_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editable: bool
) -> None:
    site = tmp_path / "site-packages"
    info = site / "eng-1.dist-info"
    info.mkdir(parents=True)
    (site / "eng.py").write_text("")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: eng\nVersion: 1\n")
    (info / "RECORD").write_text("eng.py,,\n")
    url = {"url": "file:///repo/my%20eng", "dir_info": {"editable": editable}}
    (info / "direct_url.json").write_text(json.dumps(url))
    monkeypatch.syspath_prepend(str(site))
    module = ModuleType("eng")
    module.__file__ = str(site / "eng.py")
    monkeypatch.setitem(sys.modules, "eng", module)
    installed = loaded_files()["installed"]
    expected = {} if editable else {str((site / "eng.py").resolve()): "/repo/my eng"}
    assert {file: at for file, at in installed.items() if file.endswith("eng.py")} == expected


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A class whose work is done by a package in src/, which the last commit made slower."""
    made = repository(tmp_path / "repo", mine_py=ENTRY, src__eng__core_py=MANAGER)
    commit(made, "slower", src__eng__core_py=SLOW)
    return made


WORDS = ("--impl", "mine=mine.py:Mine", "--baseline-rev", "HEAD~1", "--rounds", "6")


@pytest.mark.parametrize("build", [(), ("--build", "ln -sfn $PWD/src ../site")])
def test_a_helper_that_both_sides_find_in_one_place_is_refused(
    repo: Path, build: tuple[str, ...]
) -> None:
    # On PYTHONPATH; or where the side that was built last put it, as an editable install does.
    path = repo.parent / "site" if build else repo / "src"
    env = {"PYTHONPATH": str(path), "XDG_CACHE_HOME": str(repo.parent / "cache")}
    if build:
        # The baseline's tree is not beside the repository.
        build = ("--build", f"ln -sfn $PWD/src {path}")
    done = blockmark("check", tiny(repo.parent), *WORDS, *build, cwd=repo, env=env)
    assert done.returncode == 2, done.stdout + done.stderr
    said = " ".join(done.stderr.split())
    assert f"the baseline loads {repo.resolve()}/src/eng/core.py, a file of the working" in said
    assert "Traceback" not in said


@pytest.mark.alone
def test_a_helper_of_each_side_is_compared(repo: Path) -> None:
    env = {"PYTHONPATH": "src"}
    done = blockmark("check", tiny(repo.parent), *WORDS, cwd=repo, env=env)
    assert done.returncode == 1, done.stdout + done.stderr


def test_a_clean_tree_against_its_own_commit_says_so(repo: Path) -> None:
    words = ("--impl", "mine=mine.py:Mine", "--baseline-rev", "HEAD", "--rounds", "6")
    env = {"PYTHONPATH": "src"}
    done = blockmark("check", tiny(repo.parent), *words, cwd=repo, env=env)
    assert "without changes: both sides are equal" in " ".join(done.stdout.split())


def test_a_declared_reuse_order_that_changed_is_named(tmp_path: Path) -> None:
    made = repository(tmp_path / "repo", mine_py=MANAGER)
    commit(made, "no order", mine_py=MANAGER.replace("pass", 'reuse_order = "unspecified"'))
    words = ("--impl", "mine=mine.py:Mine", "--baseline-rev", "HEAD~1", "--rounds", "6")
    done = blockmark("check", tiny(tmp_path), *words, cwd=made)
    said = " ".join(done.stdout.split())
    assert "tiny mine: declared reuse order LIFO before, unspecified now" in said


def test_a_baseline_whose_helper_is_missing_is_told_and_no_new_cell(tmp_path: Path) -> None:
    # As where the helper is a submodule or was never committed.
    made = repository(tmp_path / "repo", mine_py=ENTRY)
    (made / "eng").mkdir()
    (made / "eng" / "core.py").write_text(MANAGER)
    words = ("--impl", "mine=mine.py:Mine", "--impl", "vector/py", "--baseline-rev", "HEAD")
    done = blockmark("check", tiny(tmp_path), *words, "--rounds", "6", cwd=made)
    assert done.returncode == 3, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "the baseline can't be loaded: mine.py can't be imported: ModuleNotFoundError" in said
    assert "new, not judged" not in said


def test_what_is_absent_is_told_from_what_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("raise RuntimeError('x')\n")
    (tmp_path / "bad.hpp").write_text("#error no\n")
    absent = {
        "gone.py:Mine": True,
        "m=gone.hpp:Mine": True,
        "broken.py:Mine": False,
        "no_such_module:Mine": True,
        "json.decoder:NoSuchClass": True,
        "nothing/py": True,
        "m=nothing/py[a=1]": True,
    }
    __import__("json.decoder")
    assert {target: _is_absent(target) for target in absent} == absent
    assert os.getcwd() == str(tmp_path)
