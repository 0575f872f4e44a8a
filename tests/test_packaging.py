"""The built wheel: without a compiler, outside the checkout, beside another `bench/`."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


def build(target: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Build a wheel of the checkout into `target`, its build tree apart from ours."""
    return subprocess.run(
        [
            BIN / "uv",
            "build",
            "--wheel",
            "--no-build-isolation",
            "--python",
            sys.executable,
            "--out-dir",
            target,
            "-C",
            f"build-dir={target}/build",
            ROOT,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **env},
    )


NO_COMPILER = {"CC": "/nonexistent/cc", "CXX": "/nonexistent/c++"}


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel of a machine that has no compiler."""
    target = tmp_path_factory.mktemp("wheel")
    done = build(target, **NO_COMPILER)
    assert done.returncode == 0, done.stderr
    (wheel,) = target.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    site = target / "site"
    zipfile.ZipFile(wheel).extractall(site)
    return site


def run(site: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command with the packages of the wheel; -S leaves the editable install out."""
    import numpy

    others = Path(numpy.__file__).parents[1]
    code = (
        f"import sys; sys.path[:0] = [{str(site)!r}]; sys.path.append({str(others)!r});"
        "from blockmark.cli import main; sys.argv[0] = 'blockmark'; main()"
    )
    return subprocess.run(
        [sys.executable, "-P", "-S", "-c", code, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": f"{site}:{others}"},
    )


def test_scenarios_travel_with_the_wheel(pure: Path, tmp_path: Path) -> None:
    # A folder of the user's own with the name of ours must not be taken for it.
    (tmp_path / "bench" / "blockmark").mkdir(parents=True)
    (tmp_path / "bench" / "blockmark" / "__init__.py").write_text("raise RuntimeError")
    (tmp_path / "scenarios").mkdir()
    done = run(pure, tmp_path, "list", "scenarios")
    assert done.returncode == 0, done.stderr
    assert "decode" in done.stdout


def test_what_a_users_header_is_compiled_with_travels_with_the_wheel(pure: Path) -> None:
    native = pure / "blockmark_impls" / "native"
    for name in ("blockmark.hpp", "replay.hpp", "allocations.cpp", "bindings/bind_offers.hpp"):
        assert (native / name).is_file(), name


def test_without_a_compiler_the_native_tier_says_what_to_do(pure: Path, tmp_path: Path) -> None:
    done = run(pure, tmp_path, "list", "impls")
    assert done.returncode == 0, done.stderr
    # Whether an engine is here is the environment's affair.
    engines = ("vllm-", "sglang-", "lmdeploy/", "tokenspeed/")
    for line in done.stdout.splitlines():
        if not line.startswith(engines):
            assert ("unavailable" in line) is ("/cpp" in line), line
    assert "install a C++ compiler" in done.stdout


def test_without_a_compiler_the_python_tier_is_measured(pure: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        "total_blocks = 64\nmax_blocks_per_seq = 8\nconcurrency = 4\nblock_size = 4\n"
        'models = ["step"]\n'
    )
    done = run(
        pure,
        tmp_path,
        "run",
        "s.toml",
        "--quick",
        "--impl",
        "vector/py",
        "--impl",
        "flat-stack/cpp",
    )
    assert done.returncode == 0, done.stderr
    assert "vector/py" in done.stdout
    assert "unavailable" in done.stdout
    assert "compiler" in done.stdout


def test_no_compiler_is_an_error_where_the_core_is_required(tmp_path: Path) -> None:
    done = build(tmp_path, BLOCKMARK_REQUIRE_NATIVE="1", **NO_COMPILER)
    assert done.returncode != 0
    assert not list(tmp_path.glob("*.whl"))


def test_nothing_of_this_machine_or_a_registry_is_committed() -> None:
    listed = subprocess.run(
        ["git", "grep", "-lIE", r"pypi\.org|pythonhosted\.org|registry\.npmjs|index-url"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 128:
        pytest.skip("not a git checkout")
    found = set(listed.stdout.split()) - {"tests/test_packaging.py", "Makefile"}
    assert not found
